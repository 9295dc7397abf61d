"""Bridges: devices that do not speak DDS join the domain, each on exactly one of them."""
