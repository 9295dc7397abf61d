"""Bounds and times of what every door does with items."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class EdgeSettings:
    """Bounds and times; a door adds those of its own."""

    linger_s: float = 0.01
    """How long items gather until they are a unit."""
    unit_bytes: int = 4 << 20
    """A unit with as much is not added to."""
    in_flight_bytes: int = 1 << 20
    """Items of one client that are not safe yet; beyond it the client is not read."""
    buffer_bytes: int = 64 << 20
    """The same, of all clients together."""
    settle_s: float = 1.0
    """How often another door is asked again."""
