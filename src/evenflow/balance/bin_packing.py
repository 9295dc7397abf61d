"""BinPacking: slices into the room that nodes at work have left.

Every slice goes to the fullest node that still has room for it (best fit), the largest slice
first: simple, deterministic, and never far from the fewest nodes possible. A node that took or
gave slices in this plan is not emptied by it, so that each slice moves once.
"""

from __future__ import annotations

from bisect import bisect_left, insort
from typing import TYPE_CHECKING

from evenflow.balance.base import barred_from, settled

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from evenflow.model.snapshot import LoadSnapshot, PlacedSlice


class Bins:
    """Nodes at work, ordered by the room they have left."""

    def __init__(self) -> None:
        self._room: dict[str, float] = {}
        self._order: list[tuple[float, str]] = []

    def __contains__(self, name: object) -> bool:
        return name in self._room

    def __len__(self) -> int:
        return len(self._order)

    def put(self, name: str, room: float) -> None:
        """Add a node."""
        self._room[name] = room
        insort(self._order, (room, name))

    def take(self, name: str) -> float:
        """Remove a node; returns its room."""
        room = self._room.pop(name)
        del self._order[bisect_left(self._order, (room, name))]
        return room

    def widen(self, name: str, load: float) -> None:
        """Give a node more room, or less."""
        self.put(name, self.take(name) + load)

    def fit(self, load: float, *but: str | None) -> str | None:
        """The fullest node that has room for the load, other than those in ``but``."""
        place = bisect_left(self._order, (load, ""))
        fitting = self._order[place : place + 1 + len(but)]
        return next((name for _, name in fitting if name not in but), None)


class BinPacking:
    """A plan while it is being packed."""

    def __init__(
        self, snapshot: LoadSnapshot, fill: float, settle_s: float, return_s: float
    ) -> None:
        self.moves: list[tuple[int, str, str]] = []
        self._now = snapshot.time
        self._settle_s = settle_s
        self._return_s = return_s
        self._held = snapshot.holdings()
        self._capacity = {node.name: node.capacity for node in snapshot.active}
        self._loads = snapshot.loads()
        self._shelf = Bins()
        self._idle: dict[str, float] = {}
        self._touched: set[str] = set()
        for name, capacity in self._capacity.items():
            room = fill * capacity - self._loads[name]
            if self._held[name]:
                self._shelf.put(name, room)
            else:
                self._idle[name] = room

    def clear(self, name: str) -> None:
        """Give away everything, if need be to a node that has no room for it."""
        for each in _largest_first(self._held[name]):
            taker = self._shelf.fit(each.load) or self._wake(each) or self._least_loaded()
            if taker is not None:
                self._move(each, name, taker)

    def relieve(self, name: str, limit: float) -> None:
        """Give away slices until the node is not above the limit, as far as others have room."""
        for each in _largest_first(filter(self._may_move, self._held[name])):
            if self._loads[name] <= limit or each.load <= 0:
                return
            taker = self._shelf.fit(each.load, name, self._barred(each)) or self._wake(each)
            if taker is not None:
                self._shelf.widen(name, each.load)
                self._move(each, name, taker)

    def release(self, pays: Callable[[float, float], bool], least: int) -> list[str]:
        """Empty nodes, the weakest and least loaded first; at least ``least`` stay at work."""
        released: list[str] = []
        at_work = [name for name in self._capacity if name in self._shelf]
        for name in sorted(at_work, key=lambda n: (self._capacity[n], self._loads[n], n)):
            if len(self._shelf) <= least:
                break
            movable = all(map(self._may_move, self._held[name])) and name not in self._touched
            if movable and pays(self._capacity[name], self._loads[name]) and self._empty(name):
                released.append(name)
        return released

    def _empty(self, name: str) -> bool:
        """Find room for all slices of a node, or leave it as it is."""
        room = self._shelf.take(name)
        found: list[tuple[PlacedSlice, str]] = []
        for each in _largest_first(self._held[name]):
            taker = self._shelf.fit(each.load, self._barred(each))
            if taker is None:
                break
            self._shelf.widen(taker, -each.load)
            found.append((each, taker))
        for each, taker in found:
            self._shelf.widen(taker, each.load)
        if len(found) < len(self._held[name]):
            self._shelf.put(name, room)
            return False
        for each, taker in found:
            self._move(each, name, taker)
        return True

    def _move(self, each: PlacedSlice, giver: str, taker: str) -> None:
        self.moves.append((each.id, giver, taker))
        self._touched.update((giver, taker))
        self._loads[giver] -= each.load
        self._loads[taker] += each.load
        self._shelf.widen(taker, -each.load)

    def _may_move(self, each: PlacedSlice) -> bool:
        return settled(each, self._now, self._settle_s)

    def _barred(self, each: PlacedSlice) -> str | None:
        return barred_from(each, self._now, self._return_s)

    def _wake(self, each: PlacedSlice) -> str | None:
        """Put the strongest idle node that can carry the slice to work."""
        barred = self._barred(each)
        able = [name for name, room in self._idle.items() if room >= each.load and name != barred]
        name = min(able, key=lambda n: (-self._capacity[n], n), default=None)
        if name is not None:
            self._shelf.put(name, self._idle.pop(name))
        return name

    def _least_loaded(self) -> str | None:
        """The node that would be the least busy; idle ones are put to work."""
        name = min(
            self._capacity, key=lambda n: (self._loads[n] / self._capacity[n], n), default=None
        )
        if name in self._idle:
            self._shelf.put(name, self._idle.pop(name))
        return name


def _largest_first(slices: Iterable[PlacedSlice]) -> list[PlacedSlice]:
    return sorted(slices, key=lambda each: (-each.load, each.id))
