"""Slices: publish into them, process them, hand them over without losing or repeating an item."""
