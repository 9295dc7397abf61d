"""Which numbers of one writer and slice have come to who reads along.

Numbers have no holes at their publisher, so what did not come is known exactly. It may still come:
items take two ways (the stream and replay), and a slice that changes its owner changes the DDS
writer that carries it. Holes are therefore remembered, a bounded number of them; a hole that is
given up is never filled, so nothing is given twice.
"""

from __future__ import annotations

from typing import Final

MOST_HOLES: Final = 64
"""Holes remembered of each writer and slice; then the oldest is given up."""

Range = tuple[int, int]
"""A first and a last number."""


class NumbersSeen:
    """The numbers of one writer and slice, from the first that counts.

    Args:
        first: The first number that counts: those before it are from before somebody listened.
    """

    __slots__ = ("_first", "_holes", "_last", "_next", "given_up")

    def __init__(self, first: int) -> None:
        self._first = first
        self._next = first
        """Everything from here on has not come."""
        self._last = first - 1
        """The newest number that is known to exist."""
        self._holes: list[Range] = []
        self.given_up = 0
        """Numbers in holes that were given up."""

    def offer(self, first: int, last: int) -> list[Range]:
        """Numbers come; return those of them that have not come before."""
        new: list[Range] = []
        if first < self._next:
            new = self._fill(first, min(last, self._next - 1))
        if last >= self._next:
            if first > self._next:
                self._add_hole(self._next, first - 1)
            new.append((max(first, self._next), last))
            self._next = last + 1
        self.announce(last)
        return new

    def begin(self) -> None:
        """All numbers count, from 1."""
        if self._first > 1:
            self._holes.insert(0, (1, self._first - 1))
            self._first = 1
            self._bound()

    def announce(self, last: int) -> None:
        """The publisher's numbers go up to here."""
        self._last = max(self._last, last)

    def missing(self, end: int | None = None) -> int:
        """Numbers that exist and have not come, as far as anybody has said.

        Args:
            end: The last number that counts; None: all do.
        """
        last = self._last if end is None else min(end, self._last)
        ranges = [*self._holes, (self._next, last)]
        return sum(max(0, min(high, last) + 1 - low) for low, high in ranges)

    def _fill(self, first: int, last: int) -> list[Range]:
        """Fill what of these numbers lies in holes; return it."""
        filled: list[Range] = []
        left: list[Range] = []
        for start, end in self._holes:
            low, high = max(first, start), min(last, end)
            if low > high:
                left.append((start, end))
                continue
            filled.append((low, high))
            left += [one for one in ((start, low - 1), (high + 1, end)) if one[0] <= one[1]]
        self._holes = left
        self._bound()
        return filled

    def _add_hole(self, first: int, last: int) -> None:
        self._holes.append((first, last))
        self._bound()

    def _bound(self) -> None:
        while len(self._holes) > MOST_HOLES:
            first, last = self._holes.pop(0)
            self.given_up += last + 1 - first
