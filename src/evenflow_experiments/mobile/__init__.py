"""Experiments on the mobile edge: handovers between gateways, and how many nodes one carries."""
