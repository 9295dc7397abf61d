"""Clients for devices: one file of Python (also MicroPython), one of C; nothing of evenflow."""

from evenflow.device.evenflow_device import Device

__all__ = ["Device"]
