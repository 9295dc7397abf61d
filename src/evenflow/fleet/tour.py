"""What vehicles do as mobile nodes, and the books of it."""

from __future__ import annotations

from array import array
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from evenflow.mobile.link.connection import Trust


@dataclass(frozen=True, slots=True)
class Tour:
    """Orders for the vehicles of one process."""

    gateways: tuple[str, ...]
    """Addresses, best first."""
    token: str
    """For all of them: its subject is a pattern, as ``vehicle-*``."""
    trust: Trust
    first: int = 1
    """Number of the first vehicle."""
    count: int = 100
    rate_hz: float = 0.1
    """Reports of each vehicle a second."""
    topic: str | None = None
    connecting: int = 32
    """Vehicles that connect at the same time."""
    positions_s: float = 10.0
    """How often a vehicle says where it is, in seconds."""
    dead_spots_per_min: float = 0.0
    """Dead spots of each vehicle a minute."""
    dead_spot_s: float = 5.0
    """Seconds in a dead spot."""
    address_changes_per_min: float = 0.0
    """Changes of each vehicle's address a minute."""
    idle_s: float = 20.0
    """Seconds of silence after which a vehicle takes a connection for lost."""
    seed: int = 1


@dataclass(frozen=True, slots=True)
class MoveReceipt:
    """A handover, as the vehicle saw it."""

    vehicle: str
    origin: str
    target: str
    ok: bool
    reason: str
    ended: float
    """Seconds since 1970."""
    milliseconds: float
    gap_ms: float
    in_flight: int


@dataclass(slots=True)
class TourBooks:
    """What the vehicles of one process, or of several, did so far."""

    vehicles: int = 0
    attached: int = 0
    gateways: dict[str, int] = field(default_factory=dict)
    """Vehicles at each gateway."""
    published: int = 0
    safe: int = 0
    kept: int = 0
    held_up: int = 0
    """Vehicles that wait for a former gateway."""
    messages: int = 0
    """Messages that came, each counted once."""
    repeated: int = 0
    """Messages that the application was given twice."""
    disordered: int = 0
    """Messages that the application was given after a later one."""
    connections: int = 0
    lost: int = 0
    """Connections lost."""
    dead_spots: int = 0
    address_changes: int = 0
    refused: int = 0
    """Vehicles that every gateway refuses."""
    delays_ms: array[float] = field(default_factory=lambda: array("f"))
    """From publishing to being safe, since the last books."""
    gaps_ms: array[float] = field(default_factory=lambda: array("f"))
    """Times without a usable connection, since the last books."""
    moves: list[MoveReceipt] = field(default_factory=list)
    """Handovers since the last books."""
    cpu_s: float = 0.0
    """CPU of the process."""

    def add(self, other: TourBooks) -> None:
        """Add the books of another process."""
        for name in COUNTS:
            setattr(self, name, getattr(self, name) + getattr(other, name))
        for gateway, count in other.gateways.items():
            self.gateways[gateway] = self.gateways.get(gateway, 0) + count
        self.delays_ms += other.delays_ms
        self.gaps_ms += other.gaps_ms
        self.moves += other.moves


COUNTS = (
    "vehicles", "attached", "published", "safe", "kept", "held_up", "messages", "repeated",
    "disordered", "connections", "lost", "dead_spots", "address_changes", "refused", "cpu_s",
)  # fmt: skip
