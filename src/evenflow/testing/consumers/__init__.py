"""Consumers that lapse: they expire, are forgotten, are declared no more, and come back."""
