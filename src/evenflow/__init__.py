"""Evenflow: a self-managing data distribution layer for mobile and embedded devices."""

from __future__ import annotations

from evenflow.config import Config
from evenflow.errors import EvenflowError

__all__ = ["Config", "EvenflowError", "__version__"]

__version__ = "0.1.0"
