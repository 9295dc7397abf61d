"""How much arrives for each slice of a node, whether or not the node keeps up with it.

An overloaded node processes less than comes in, so what it processes says too little of its slices.
But it knows how far its publishers' numbers go: by the batches it got, by those it had no room for,
and by what publishers announce when they close an epoch. What those numbers grow by is what
arrives: the items processed and the growth of what waits, wherever that waits.

Only growth counts. What was there when a slice was taken over, or when a writer was met, is no
arrival; so a slice that changes hands does not look busier than it is.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

    from evenflow.slices.node.cache import HeldSlice


@dataclass(slots=True)
class _Course:
    term: int
    items: int = 0
    newest: dict[int, int] = field(default_factory=dict)
    """The newest number of each writer at the last look."""


class Arrivals:
    """Counts the items that arrive for the slices of one node."""

    def __init__(self) -> None:
        self._courses: dict[int, _Course] = {}

    def look(self, slices: Iterable[HeldSlice]) -> list[int]:
        """Items that have arrived for each of these slices since it is held under its term.

        Slices that are not among them are forgotten.
        """
        before, self._courses = self._courses, {}
        counts = []
        for held in slices:
            course = before.get(held.slice)
            if course is None or course.term != held.term:
                course = _Course(held.term)
            self._courses[held.slice] = course
            counts.append(_follow(course, held))
        return counts


def _follow(course: _Course, held: HeldSlice) -> int:
    newest = {writer: track.last for writer, track in held.tracks.items() if track.known}
    for writer, last in newest.items():
        course.items += max(0, last - course.newest.get(writer, last))
    course.newest = newest
    return course.items
