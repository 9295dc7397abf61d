"""Bridges, devices and a network that fails, in one process under virtual time."""
