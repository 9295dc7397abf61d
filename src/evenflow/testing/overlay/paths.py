"""Paths between the processes of a simulated overlay cluster, each of which may be cut.

A path leads from one process to another; the way back is another path. Over one that is cut nothing
comes. What was sent is lost, or waits in a connection that nobody has closed, and comes when the
path is whole again: both happen. A connection is made only when both directions are whole.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable


class Paths:
    """Which paths are cut."""

    def __init__(self) -> None:
        self._cut: set[tuple[str, str]] = set()

    def cut(self, start: str, end: str, *, both: bool = True) -> None:
        """Cut the path from one process to another, or both between them."""
        self._cut.add((start, end))
        if both:
            self._cut.add((end, start))

    def part(self, ones: Iterable[str], others: Iterable[str]) -> None:
        """Cut all paths between some processes and others."""
        there = list(others)
        for one in ones:
            for other in there:
                self.cut(one, other)

    def heal(self) -> None:
        """Make all paths whole."""
        self._cut.clear()

    def mend(self, start: str, end: str) -> None:
        """Make both paths between two processes whole."""
        self._cut -= {(start, end), (end, start)}

    def blocked(self, start: str, end: str) -> bool:
        """Say whether nothing comes from one process to another."""
        return (start, end) in self._cut

    def open_between(self, one: str, other: str) -> bool:
        """Say whether a connection can be made."""
        return not self._cut or not (self.blocked(one, other) or self.blocked(other, one))
