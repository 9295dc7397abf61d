"""Serving: what a node keeps for consumers, and how they read it by Arrow Flight."""
