"""Experiments on adaptive quality of service: the paper's figures, and what it only claims."""
