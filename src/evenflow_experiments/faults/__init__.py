"""Exactly once with real processes on hosts that fail: ``evenflow experiment faults``."""
