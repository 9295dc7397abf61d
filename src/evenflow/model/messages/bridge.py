"""What bridges tell one another, and the balancer, about the ring and their devices."""

from __future__ import annotations

from dataclasses import dataclass

from evenflow.model.wire import (
    F64,
    Bool,
    KeyText,
    Number,
    Numbers,
    PointCount,
    Term,
    Text,
    Texts,
    U32s,
    U64s,
)


@dataclass(frozen=True, slots=True)
class BridgeReport:
    """A bridge is there. Told when its place on the ring changes, and as a heartbeat.

    It names as neighbours only those that it hears itself: so a bridge that is gone is named by
    nobody as soon as nobody hears it.
    """

    bridge: KeyText
    addresses: Texts
    """Where devices reach it: ``udp://host:port``."""
    points: PointCount
    """How many points it has on the circle; none while it takes no devices."""
    successor: Text
    """The bridge after it on the circle; empty when it hears none."""
    successor_points: PointCount
    predecessor: Text
    """The bridge before it on the circle; empty when it hears none."""
    predecessor_points: PointCount
    devices: Number
    """Devices that it serves."""
    arcs: U64s
    """The arcs on which they are, by their ends."""
    arc_devices: Numbers
    """For each arc: how many of them."""
    table_term: Term
    """The table of arcs that it goes by; 0: it knows of none."""
    table_number: Number
    leaving: Bool = False
    """Whether this is its last word: it has ended, and is not cut off."""
    host: Text = ""
    """The machine it runs on."""
    pid: Number = 0
    """Its process there."""
    since: F64 = 0.0
    """When that was started: seconds since 1970, by the clock of that machine."""


@dataclass(frozen=True, slots=True)
class ArcTable:
    """The arcs that were given away. Of two tables the newer counts; each is whole.

    Every bridge tells the one that it goes by, so whoever comes later has it from any of them.
    """

    bridge: KeyText
    """Who tells it."""
    term: Term
    """Of the balancer that led when it was planned..."""
    number: Number
    """... and the how many-th it is under this term."""
    arcs: U64s
    """Arcs by their ends, in order."""
    takers: U32s
    """For each arc: whose it is, as a place in `bridges`."""
    bridges: Texts
