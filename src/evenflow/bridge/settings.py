"""What a bridge's core is told about bounds and times."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class BridgeSettings:
    """Bounds and times of a bridge."""

    most_devices: int = 10_000
    """Devices that are served, or offered to, at a time."""
    most_records: int = 100_000
    """Records of other bridges' devices that are kept."""
    most_entities: int = 8
    """Entities of a device."""
    most_items: int = 64
    """Items of one entity that are taken and not safe."""
    most_buffered: int = 32
    """Samples that wait for a device that is offered to; no more than a device remembers, so that
    it drops those that it had from its former bridge."""
    keyed_only: bool = False
    """Whether devices without a key are refused."""
    silent_periods: int = 6
    """A device that is not heard for so many of its heartbeat periods is let go."""
    isolated_tries: int = 3
    """An isolated bridge answers a CONNECT from this try on."""
    offer_s: float = 0.2
    """How often an offer is repeated."""
    most_offers: int = 10
    """How often at most."""
    offer_again_s: float = 1.0
    """When a device that another serves, or that is silent, is offered to again; then doubled."""
    offer_again_most_s: float = 60.0
    full_wait_s: float = 2.0
    """When a device comes again that found no room."""
    sweep_s: float = 0.1
    """How often silent devices are looked for."""
