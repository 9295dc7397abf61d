"""What the application could not process: how often it is given again, when, and how much at once.

An exception of the application says nothing of most items of a batch, so those of a batch that
failed are given *one by one* from then on, in their order: the others pass, and the one that cannot
be processed is found. Before it is given again its slice and writer *rest*, longer each time, while
the application works on others. An application that knows which item it was says so
(:class:`~evenflow.errors.ItemFailed`); then those before it are done and do not come again.

An item that failed ``retries`` times more than once is *exhausted*: somebody has to decide.
Nothing is decided here, and nothing is done that was not processed.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Mapping

    from evenflow.model.batch import Batch
    from evenflow.slices.node.cache.held_slice import HeldSlice

LONGEST_PAUSE_S: Final = 10.0
"""No pause before an item is given again is longer."""

Key = tuple[int, int]
"""A slice and a writer."""


@dataclass(slots=True)
class Failing:
    """Items of one slice and writer that are given one by one."""

    held: HeldSlice
    """The holding they failed in: another one begins anew."""
    number: int
    """The item that is tried."""
    last: int
    """The last one that is given alone."""
    tries: int
    """How often the application has failed on that item alone."""
    until: float
    """When it is given again."""


class Failures:
    """Everything that failed and is neither done nor given up.

    Args:
        retries: How often an item is given again.
        first_pause: Seconds before it is for the first time; each time twice as many.
    """

    def __init__(self, retries: int, first_pause: float) -> None:
        self.retried = 0
        """Times that the application failed."""
        self._retries = retries
        self._first_pause = first_pause
        self._failing: dict[Key, Failing] = {}

    def forget_past(self, holdings: Mapping[int, HeldSlice]) -> list[Key]:
        """Forget what failed in holdings that are not these; return what that was."""
        past = [
            key
            for key, one in self._failing.items()
            if holdings.get(key[0]) is not one.held or key[1] not in one.held.tracks
        ]
        for key in past:
            del self._failing[key]
        return past

    def rested(self, now: float) -> list[Key]:
        """What has rested long enough."""
        return [key for key, one in self._failing.items() if one.until <= now]

    def is_given_alone(self, batch: Batch, held: HeldSlice) -> bool:
        """Whether the first item of a batch comes alone."""
        failing = self._failing.get((batch.slice, batch.writer))
        return failing is not None and failing.held is held and batch.first <= failing.last

    def tries(self, batch: Batch) -> int:
        """How often the application has failed on an item that it was given alone."""
        failing = self._failing.get((batch.slice, batch.writer))
        return failing.tries if failing is not None and failing.number == batch.first else 0

    def pass_by(self, batch: Batch) -> None:
        """Items are done, or given up."""
        failing = self._failing.get((batch.slice, batch.writer))
        if failing is None:
            return
        if batch.last >= failing.last:
            del self._failing[batch.slice, batch.writer]
        elif batch.last >= failing.number:
            failing.number, failing.tries = batch.last + 1, 0

    def add(self, batch: Batch, held: HeldSlice, index: int | None, now: float) -> bool:
        """The application failed on a batch, at this item of it if that is known.

        Returns:
            Whether it is to be given again; else it is one item, and exhausted.
        """
        self.retried += 1
        alone = batch.count == 1
        failing = self._failing.get((batch.slice, batch.writer))
        if failing is not None and failing.held is not held:
            del self._failing[batch.slice, batch.writer]
            failing = None
        tries = self.tries(batch) + 1 if alone else int(index is not None)
        number = batch.first + (index or 0)
        last = batch.last if index is None else number
        if alone and failing is not None:
            last = max(last, failing.last)
        # Twice as long each time; a power is never made of more doublings than count.
        pause = min(self._first_pause * 2.0 ** min(max(0, tries - 1), 32), LONGEST_PAUSE_S)
        self._failing[batch.slice, batch.writer] = Failing(held, number, last, tries, now + pause)
        return not alone or tries <= self._retries
