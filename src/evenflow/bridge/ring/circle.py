"""The identifier circle: who owns which identifier (C-DDSB, section 3.1).

*Points* of bridges cut the circle into *arcs*: an arc is the identifiers after one point up to and
with the next, and is named by that one, its end. A device belongs to the first point at or after
its own identifier, its *successor*, and so to the bridge that holds the point.

**Equal identifiers.** Where several points are one, the bridge with the smaller GUID holds it (of
equal GUIDs the one with the smaller name), and the others hold nothing there until it is gone.
Everybody who knows the same bridges computes the same, whatever came first.

**Arcs that were given away** are points in their own right: where the table of arcs names an end, a
point is there and its taker holds it, whoever else has a point there. It lapses when the taker is
gone; then who has a point there holds it, or nobody does. So if a bridge goes, nothing changes
hands but what it held itself: neither do arcs that it gave away come back to its successors.

A lookup is a binary search; many at once are one call of numpy.
"""

from __future__ import annotations

from bisect import bisect_left
from typing import TYPE_CHECKING

import numpy as np

from evenflow.bridge.ring.identifiers import BITS, guid_of, identifier_of, identifiers_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from numpy.typing import NDArray

    from evenflow.bridge.ring.identifiers import Identifiers, Placing

NOBODY = ""


class Circle:
    """Bridges on a circle. It does not change.

    Args:
        places: The points of each bridge.
        given: Arcs that were given away: the end of each, and its taker.
        bits: The circle has 2 ** ``bits`` identifiers.
    """

    def __init__(
        self,
        places: Mapping[str, Identifiers],
        given: Mapping[int, str] | None = None,
        bits: int = BITS,
    ) -> None:
        self.bits = bits
        self.bridges = tuple(sorted(places, key=lambda name: (guid_of(name), name)))
        """Who is on it, in the order in which they hold equal points."""
        rank = {name: number for number, name in enumerate(self.bridges)}
        taken = {end: rank[taker] for end, taker in (given or {}).items() if taker in rank}
        own = [np.asarray(places[name], dtype=np.uint64) for name in self.bridges]
        ends = np.concatenate([np.fromiter(taken, np.uint64, len(taken)), *own])
        holders = np.concatenate(
            [
                np.fromiter(taken.values(), np.intp, len(taken)),
                np.repeat(np.arange(len(own)), [len(each) for each in own]),
            ]
        ).astype(np.intp)
        # What was given away stands first, then bridges by their rank: the first of equals holds.
        kept, first = np.unique(ends, return_index=True)
        self._ends, self._holders = kept, holders[first]
        self._bisected: list[int] = kept.tolist()

    @classmethod
    def of(
        cls,
        points: Mapping[str, int],
        placing: Placing,
        given: Mapping[int, str] | None = None,
        bits: int = BITS,
    ) -> Circle:
        """The circle of bridges with so many points each."""
        return cls({name: placing(name, many) for name, many in points.items()}, given, bits)

    def __len__(self) -> int:
        return len(self._bisected)

    # -- one ---------------------------------------------------------------------------------------

    def arc_of(self, identifier: int) -> int:
        """The end of the arc that an identifier is on: its successor among the points."""
        return self._bisected[self._at(identifier)]

    def holder_of(self, identifier: int) -> str:
        """The bridge that owns an identifier; `NOBODY` when there is none."""
        return self.bridges[self._holders[self._at(identifier)]] if self.bridges else NOBODY

    def owner(self, guid: bytes) -> str:
        """The bridge that owns a device; `NOBODY` when there is none."""
        return self.holder_of(identifier_of(guid, self.bits))

    def _at(self, identifier: int) -> int:
        at = bisect_left(self._bisected, identifier)
        return at if at < len(self._bisected) else 0  # past the last point the circle begins anew

    # -- many --------------------------------------------------------------------------------------

    def owners(self, guids: Iterable[bytes]) -> list[str]:
        """The owners of many devices."""
        found = identifiers_of(list(guids), self.bits)
        if not self.bridges:
            return [NOBODY] * len(found)
        return [self.bridges[holder] for holder in self.holders_of(found)]

    def holders_of(self, identifiers: Identifiers) -> NDArray[np.intp]:
        """For each identifier the place of its owner in `bridges`, of which there must be one."""
        return self._holders[self._many_at(identifiers)]

    def count(self, identifiers: Identifiers) -> dict[int, int]:
        """How many of the identifiers are on each arc; arcs with none are left out."""
        if not len(self):
            return {}
        counts = np.bincount(self._many_at(identifiers), minlength=len(self))
        full = np.flatnonzero(counts)
        return dict(zip(self._ends[full].tolist(), counts[full].tolist(), strict=True))

    def arcs(self) -> dict[int, str]:
        """The holder of each arc, by its end."""
        names = [self.bridges[holder] for holder in self._holders]
        return dict(zip(self._bisected, names, strict=True))

    def _many_at(self, identifiers: Identifiers) -> NDArray[np.intp]:
        return np.searchsorted(self._ends, identifiers) % len(self)
