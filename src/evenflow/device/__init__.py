"""Clients for devices: one file of Python (also MicroPython), one of C; nothing of evenflow."""
