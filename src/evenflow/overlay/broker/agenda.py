"""When a broker has to look at each of its shelves again: a heap of times.

A shelf says after each look when the next is due, if nothing happens before (`Shelf.due`); whatever
does happen to it makes it due with the next tick. So the shelves where nothing happens cost a
broker nothing, however many they are.
"""

from __future__ import annotations

import heapq
from itertools import count
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

    from evenflow.overlay.protocol.messages import ShelfId

NEVER = float("inf")
MOST_VOID = 64
"""Entries of the heap that may be void, besides as many as there are shelves."""


class Agenda:
    """The shelves of one broker, by when each is due."""

    def __init__(self) -> None:
        self._due: dict[ShelfId, float] = {}
        self._heap: list[tuple[float, int, ShelfId]] = []
        """Entries that do not say the same as ``_due`` are void."""
        self._ties = count()

    def __len__(self) -> int:
        return len(self._due)

    def set(self, shelf: ShelfId, due: float) -> None:
        """Note when a shelf is due next."""
        if self._due.get(shelf) == due:
            return
        self._due[shelf] = due
        if due < NEVER:
            heapq.heappush(self._heap, (due, next(self._ties), shelf))
            if len(self._heap) > 2 * len(self._due) + MOST_VOID:
                self._clear_void()

    def _clear_void(self) -> None:
        """A shelf that is hastened each tick leaves an entry of its next check each time."""
        times = self._due.items()
        self._heap = [(due, next(self._ties), shelf) for shelf, due in times if due < NEVER]
        heapq.heapify(self._heap)

    def hasten(self, shelf: ShelfId, due: float) -> None:
        """Note that a shelf is due at a time, or earlier if that was noted."""
        if due < self._due.get(shelf, NEVER):
            self.set(shelf, due)

    def add_all(self, shelves: Iterable[ShelfId], due: float) -> None:
        """Note those that are new; they are due at once."""
        for shelf in shelves:
            if shelf not in self._due:
                self.set(shelf, due)

    def drop(self, shelf: ShelfId) -> None:
        """Forget a shelf."""
        self._due.pop(shelf, None)

    def take_due(self, now: float) -> list[ShelfId]:
        """Return the shelves that are due; each is to be noted anew."""
        found = []
        while self._heap and self._heap[0][0] <= now:
            due, _, shelf = heapq.heappop(self._heap)
            if self._due.get(shelf) == due:
                self._due[shelf] = NEVER
                found.append(shelf)
        return found
