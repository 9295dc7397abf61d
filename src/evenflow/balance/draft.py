"""The draft of a plan, while its moves are being chosen.

It knows the load every node would have after the moves so far and which slices may still
move, answers which slice of a node fits a gap best, and can take moves back. A slice that has
been moved is not touched again: a plan moves each slice once.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right, insort
from dataclasses import dataclass, field
from heapq import heapify, heappop, heappush
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping

    from evenflow.balance.shares import Band, Shares, Weight


@dataclass(slots=True)
class Draft:
    """Loads, free slices and moves so far."""

    bands: Mapping[str, Band]
    """Bands of the nodes that stay; a node without a band is leaving."""
    loads: dict[str, float]
    free: dict[str, list[tuple[float, int]]]
    """``(load, slice)`` of what each node may give, ordered by load."""
    barred: dict[int, str]
    """For some slices a node they may not go to."""
    only: dict[int, str] = field(default_factory=dict)
    """For some slices the only node they may go to."""
    moves: list[tuple[int, str, str]] = field(default_factory=list)
    """``(slice, giver, taker)`` in the order chosen."""
    outside: float = 0.0
    """Sum of what lies outside the bands."""
    moved: float = 0.0
    """Sum of the loads of the moved slices."""
    _weights: dict[int, float] = field(default_factory=dict)
    _wants: list[tuple[float, str]] = field(default_factory=list)
    _surpluses: list[tuple[float, str]] = field(default_factory=list)

    @classmethod
    def of(cls, shares: Shares, names: Iterable[str], weights: Collection[Weight]) -> Draft:
        """The draft without a move. A giant on its host stays there."""
        bands = shares.bands
        loads = dict.fromkeys(names, 0.0)
        free: dict[str, list[tuple[float, int]]] = {name: [] for name in loads}
        for weight in weights:
            loads[weight.owner] += weight.load
            if weight.free and shares.hosts.get(weight.id) != weight.owner:
                free[weight.owner].append((weight.load, weight.id))
        for slices in free.values():
            slices.sort()
        barred = {each.id: each.barred for each in weights if each.barred is not None}
        only = {each.id: each.only for each in weights if each.only is not None}
        draft = cls(bands, loads, free, barred, only)
        draft.outside = sum(band.outside(loads[name]) for name, band in bands.items())
        draft._wants = [(loads[name] - band.share, name) for name, band in bands.items()]
        draft._surpluses = [(band.share - loads[name], name) for name, band in bands.items()]
        heapify(draft._wants)
        heapify(draft._surpluses)
        return draft

    def excess(self, name: str) -> float:
        """How far the node is above its band."""
        return max(0.0, self.loads[name] - self.bands[name].high)

    def deficit(self, name: str) -> float:
        """How far the node is below its band."""
        return max(0.0, self.bands[name].low - self.loads[name])

    def room(self, name: str) -> float:
        """How much the node may take."""
        return self.bands[name].brim - self.loads[name]

    def neediest(self, but: str) -> str | None:
        """The node that is the furthest below its share, other than ``but``."""
        return self._first(self._wants, 1.0, but)

    def fullest(self, but: str) -> str | None:
        """The node that is the furthest above its share, other than ``but``."""
        return self._first(self._surpluses, -1.0, but)

    def largest_up_to(self, giver: str, limit: float, taker: str) -> tuple[float, int] | None:
        """The giver's largest slice not above the limit that may go to the taker."""
        slices = self.free[giver]
        below = range(bisect_right(slices, (limit, 1 << 62)) - 1, -1, -1)
        return next((slices[at] for at in below if self.may_go(slices[at][1], taker)), None)

    def smallest_above(
        self, giver: str, limit: float, taker: str | None = None
    ) -> tuple[float, int] | None:
        """The giver's smallest slice above the limit, that may go to the taker if one is named."""
        slices = self.free[giver]
        above = range(bisect_right(slices, (limit, 1 << 62)), len(slices))
        return next((slices[at] for at in above if self.may_go(slices[at][1], taker)), None)

    def may_go(self, slice_id: int, taker: str | None) -> bool:
        """Whether the slice may move to the taker; to nobody in particular it always may."""
        return taker is None or (
            self.barred.get(slice_id) != taker and self.only.get(slice_id, taker) == taker
        )

    def may_give(self, name: str, load: float, slice_id: int) -> bool:
        """Whether the slice is the node's and may still move."""
        place = bisect_left(self.free[name], (load, slice_id))
        return self.free[name][place : place + 1] == [(load, slice_id)]

    def change(self, load: float, giver: str, taker: str) -> float:
        """By how much moving a slice of this load would lessen what lies outside the bands."""
        return self._outside_of(giver, taker) - self._outside_of(giver, taker, -load, load)

    def move(self, load: float, slice_id: int, giver: str, taker: str) -> None:
        """Draw a move."""
        del self.free[giver][bisect_left(self.free[giver], (load, slice_id))]
        self._weights[slice_id] = load
        self.moves.append((slice_id, giver, taker))
        self.moved += load
        self._shift(load, giver, taker)

    def take_back(self, mark: int) -> None:
        """Take back all moves but the first ``mark``."""
        while len(self.moves) > mark:
            slice_id, giver, taker = self.moves.pop()
            load = self._weights.pop(slice_id)
            insort(self.free[giver], (load, slice_id))
            self.moved -= load
            self._shift(load, taker, giver)

    def _shift(self, load: float, source: str, target: str) -> None:
        self.outside -= self.change(load, source, target)
        self.loads[source] -= load
        self.loads[target] += load
        for name in (source, target):
            if name in self.bands:
                above = self.loads[name] - self.bands[name].share
                heappush(self._wants, (above, name))
                heappush(self._surpluses, (-above, name))

    def _outside_of(self, first: str, second: str, add: float = 0.0, plus: float = 0.0) -> float:
        return sum(
            self.bands[name].outside(self.loads[name] + more)
            for name, more in ((first, add), (second, plus))
            if name in self.bands
        )

    def _first(self, heap: list[tuple[float, str]], sign: float, but: str) -> str | None:
        """The first name of a heap whose entries may be out of date."""
        kept = None
        found = None
        while heap:
            key, name = heap[0]
            if key != sign * (self.loads[name] - self.bands[name].share):
                heappop(heap)  # an older load of this node; the newer entry is in the heap too
            elif name == but:
                kept = heappop(heap)
            else:
                found = name
                break
        if kept is not None:
            heappush(heap, kept)
        return found
