"""What the owner of a node may set."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class NodeSettings:
    """Seconds, items, octets."""

    deliver_items: int = 256
    """Most items in one delivery, so that a handover never waits long for the application."""
    cache_octets: int = 256 * 1024 * 1024
    """Bound of the items held for all slices."""
    commit_every: float = 0.1
    report_every: float = 0.25
    loads_every: float = 2.0
    lease: float = 30.0
    """Without the balancer's word for so long the application gets nothing more."""
    stall: float = 1.0
    """A node that stood still for so long asks whether its slices are still its own."""
    ask_grace: float = 0.03
    """How long a missing number may still be on its way before it is asked for."""
    ask_retry: float = 0.3
    writer_grace: float = 10.0
    """How long a writer must be gone before its gaps are given up."""
    serving: bool = False
    """No application: items are kept for consumers, who read them and say when to forget them."""
