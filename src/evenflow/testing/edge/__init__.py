"""Doors and their clients in one process, under virtual time."""
