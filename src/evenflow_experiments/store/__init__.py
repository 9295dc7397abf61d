"""Experiments on the live overlay store."""
