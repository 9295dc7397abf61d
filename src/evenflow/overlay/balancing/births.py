"""Births: which topics are new, so that they can be given a good place before they grow (VI-A).

A topic is new while it lies at home, was never moved, and has less than is expected of a topic.
Each is tried a few times in the life of a process: a taker that knows of other loads than we do,
because news were on their way, may refuse one. Then continuous balancing goes on from there.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from evenflow.overlay.protocol.messages import ShelfId
    from evenflow.overlay.replica.copy import Copy


MOST_TRIES = 3


class Births:
    """The new topics of one broker, and how often each was tried."""

    def __init__(self) -> None:
        self._tries: dict[ShelfId, int] = {}

    def next_of(
        self, led: Sequence[Copy], expected: int, known: Callable[[Copy], bool]
    ) -> Copy | None:
        """Return a topic to be placed now, or None; those least tried come first.

        Args:
            led: The copies by which this broker leads topics.
            expected: Bytes that a topic is expected to take.
            known: Whether the loads of the brokers that keep a topic are known; else it waits.
        """
        here = {copy.shelf for copy in led}
        self._tries = {shelf: tries for shelf, tries in self._tries.items() if shelf in here}
        new = [copy for copy in led if self._is_new(copy, expected) and known(copy)]
        chosen = min(new, key=lambda copy: self._tries.get(copy.shelf, 0), default=None)
        if chosen is not None:
            self._tries[chosen.shelf] = self._tries.get(chosen.shelf, 0) + 1
        return chosen

    def _is_new(self, copy: Copy, expected: int) -> bool:
        untouched = copy.shelf.at_home and not copy.label.version
        tried = self._tries.get(copy.shelf, 0)
        return untouched and tried < MOST_TRIES and copy.topic_load() < expected

    def is_home(self, shelf: ShelfId) -> None:
        """A topic lies best where it is: do not try it again."""
        self._tries[shelf] = MOST_TRIES
