"""Who is in the overlay: what a broker knows of the others, and how that spreads.

Every broker knows every other: name, coordinate, address, incarnation, alive or dead. A piece of
news replaces an older one when its incarnation is higher, or when it says at the same incarnation
that the broker died. (One that lost its disk may return under an incarnation that it had: then the
higher number of the disk counts, and all see the same.) A broker that hears of its own death and
lives, or of another disk of its name, takes a higher incarnation and says so, and treats its own
copies as a returning broker does. News is passed on to all neighbours when it is new, so it floods
the overlay; heartbeats carry a digest of the whole table, and a broker that sees another digest
sends its table, so news that was lost arrives a heartbeat later.

From the living members each broker computes the same Delaunay triangulation (section I-A), and
keeps links to its own neighbours there and to nobody else.
"""

from __future__ import annotations

import zlib
from typing import TYPE_CHECKING

import numpy as np

from evenflow.overlay.space.coordinate import Coordinate, closest_nodes
from evenflow.overlay.space.plane import Plane

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from evenflow.overlay.protocol.messages import Member

MOST_MEMBERS = 10_000
"""Brokers, dead ones included, that a broker remembers; news of more is refused."""
MOST_PLACES = 200_000
"""Coordinates whose closest brokers are remembered, until brokers come or go."""


def newer(news: Member, known: Member | None) -> bool:
    """Say whether news replaces what is known of a broker."""
    if known is None:
        return True
    life, known_life = (news.incarnation, news.disk), (known.incarnation, known.disk)
    return life > known_life or (life == known_life and known.alive and not news.alive)


class MemberTable:
    """The table of one broker."""

    def __init__(self, me: Member) -> None:
        self.me = me
        self._table: dict[str, Member] = {me.name: me}
        self._living: dict[str, Coordinate] | None = None
        self._links: dict[str, frozenset[str]] | None = None
        self._closest: dict[tuple[Coordinate, int], tuple[str, ...]] = {}

    def __getitem__(self, name: str) -> Member:
        return self._table[name]

    def get(self, name: str) -> Member | None:
        """Return what is known of a broker, None when nothing."""
        return self._table.get(name)

    def everyone(self) -> tuple[Member, ...]:
        """Return all that is known."""
        return tuple(self._table.values())

    def alive(self, name: str) -> bool:
        """Say whether a broker is known and not dead."""
        member = self._table.get(name)
        return member is not None and member.alive

    def disk(self, name: str) -> int:
        """Return the disk of a broker, 0 when nothing is known of it."""
        member = self._table.get(name)
        return member.disk if member is not None else 0

    @property
    def living(self) -> Mapping[str, Coordinate]:
        """Coordinates of the brokers alive, this one included."""
        if self._living is None:
            self._living = {
                name: self._table[name].coordinate
                for name in sorted(self._table)
                if self._table[name].alive
            }
        return self._living

    def closest(self, coordinate: Coordinate, count: int) -> tuple[str, ...]:
        """Return the living brokers closest to a coordinate, closest first."""
        key = (coordinate, count)
        if key not in self._closest:
            if len(self._closest) >= MOST_PLACES:
                self._closest.clear()
            self._closest[key] = closest_nodes(coordinate, self.living, count)
        return self._closest[key]

    def closest_known(self, coordinate: Coordinate, count: int) -> tuple[str, ...]:
        """Return the brokers closest to a coordinate, dead ones included."""
        key = (coordinate, -count)
        if key not in self._closest:
            places = {name: member.coordinate for name, member in self._table.items()}
            self._closest[key] = closest_nodes(coordinate, places, count)
        return self._closest[key]

    def neighbours(self) -> frozenset[str]:
        """Return the Delaunay neighbours of this broker among the living."""
        return self.neighbours_of(self.me.name)

    def neighbours_of(self, broker: str) -> frozenset[str]:
        """Return the Delaunay neighbours of a broker among the living."""
        if self._links is None:
            self._links = self._triangulate()
        return self._links.get(broker, frozenset())

    def around(self, hops: int) -> frozenset[str]:
        """Return the living brokers within some links of this one, without itself."""
        found = {self.me.name}
        for _ in range(hops):
            found |= {near for name in found for near in self.neighbours_of(name)}
        return frozenset(found - {self.me.name})

    def _triangulate(self) -> dict[str, frozenset[str]]:
        places: dict[Coordinate, str] = {}
        for name, coordinate in self.living.items():
            # Two brokers at one place cannot be triangulated: the second stays without links.
            places.setdefault(coordinate, name)
        names = list(places.values())
        if not names:
            return {}
        plane = Plane(np.array(list(places), dtype=np.float64))
        return {
            name: frozenset(names[int(number)] for number in found)
            for name, found in zip(names, plane.neighbours(), strict=True)
        }

    def digest(self) -> int:
        """Return a number that is the same for all who know the same."""
        text = ";".join(
            f"{member.name},{member.incarnation},{int(member.alive)},{member.disk}"
            for _, member in sorted(self._table.items())
        )
        return zlib.crc32(text.encode())

    def merge(self, news: Iterable[Member]) -> list[Member]:
        """Take news; return what was new, for passing on. News of our own death is new too."""
        fresh = []
        for member in news:
            known = self._table.get(member.name)
            if not newer(member, known) or (known is None and len(self._table) >= MOST_MEMBERS):
                continue
            if not (0 < member.coordinate.x < 1 and 0 < member.coordinate.y < 1):
                continue
            fresh.append(member)
            self._put(member)
        return fresh

    def revive(self, member: Member) -> None:
        """Put this broker itself, with a higher incarnation."""
        self.me = member
        self._put(member)

    def _put(self, member: Member) -> None:
        self._table[member.name] = member
        self._living = self._links = None
        self._closest.clear()
