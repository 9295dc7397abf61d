"""Balancing of brokers: their loads, and which topic goes where."""
