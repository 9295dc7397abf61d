"""One reader takes over from another: nothing that the new filter lets through is lost or repeated.

A separation cannot be changed at a live reader, so another reader with the new one is opened first.
The shell does five things, in this order:

1. takes all from the old reader: what comes of it is passed on (:meth:`Succession.passes`);
2. :meth:`Succession.begin`;
3. opens the new reader, which from now on is given every sample that the old one is given;
4. takes all from the old reader once more (:meth:`Succession.from_old`), and closes it;
5. reads from the new reader (:meth:`Succession.passes`).

A sample is known by its instance, its writer and its source time. Samples of one writer and
instance arrive in the order of their source times, as the filter itself assumes. So what comes
from the new reader is one of three:

* *history*: not newer than the newest of step 1. A new reader of a durable topic is given the
  history again; that part of it is dropped. Others are given no history, and nothing is remembered;
* *repeated*: passed on from the old reader in step 4;
* new: it is passed on, also when the old reader has already brought a later one. The two filters
  count from different samples, and what either lets through counts.

So at a change one sample of an instance may be closer to its predecessor than the separation: the
first of the new filter, which always passes.

Memory, of a durable topic: a time for each instance and writer, until the instance has no writer.
"""

from __future__ import annotations

from bisect import bisect_left
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Hashable


class Stamp(NamedTuple):
    """What a sample is known by."""

    instance: Hashable
    writer: int
    time: int


class Succession:
    """What was passed on, and what must not be passed on again."""

    def __init__(self, *, durable: bool) -> None:
        self.history = 0
        """Samples dropped because they are not newer than what was passed on."""
        self.repeated = 0
        """Samples dropped because an old reader had brought them."""
        self._durable = durable
        self._newest: dict[Hashable, dict[int, int]] = {}
        self._passed: dict[Hashable, dict[int, int]] = {}
        self._from_old: dict[Hashable, dict[int, list[int]]] = {}

    def passes(self, stamp: Stamp) -> bool:
        """Whether a sample of the present reader is passed on."""
        if self._is_history(stamp):
            self.history += 1
            return False
        if self._durable:
            _drop(self._passed, stamp)
            self._newest.setdefault(stamp.instance, {})[stamp.writer] = stamp.time
        if self._from_old and self._is_repeated(stamp):
            self.repeated += 1
            return False
        return True

    def begin(self) -> None:
        """A new reader is about to be opened."""
        self._passed = {instance: dict(times) for instance, times in self._newest.items()}

    def from_old(self, stamp: Stamp) -> bool:
        """Whether a sample that the old reader still brought, after the new one, is passed on."""
        if self._is_history(stamp):
            self.history += 1
            return False
        times = self._from_old.setdefault(stamp.instance, {}).setdefault(stamp.writer, [])
        place = bisect_left(times, stamp.time)
        if times[place : place + 1] == [stamp.time]:
            self.repeated += 1
            return False
        times.insert(place, stamp.time)
        return True

    def gone(self, instance: Hashable, *, at_last: bool) -> None:
        """An instance has no writer any more.

        Args:
            instance: The instance.
            at_last: Whether the present reader can bring nothing of it any more.
        """
        if at_last:
            self._passed.pop(instance, None)
            self._from_old.pop(instance, None)
        if instance not in self._passed:
            self._newest.pop(instance, None)

    def _is_history(self, stamp: Stamp) -> bool:
        passed = self._passed.get(stamp.instance)
        return passed is not None and stamp.time <= passed.get(stamp.writer, -1)

    def _is_repeated(self, stamp: Stamp) -> bool:
        times = self._from_old.get(stamp.instance, {}).get(stamp.writer)
        if times is None:
            return False
        place = bisect_left(times, stamp.time)
        found = times[place : place + 1] == [stamp.time]
        # The present reader is past these: they cannot come again.
        del times[: place + found]
        if not times:
            _drop(self._from_old, stamp)
        return found


def _drop(table: dict[Hashable, dict[int, Any]], stamp: Stamp) -> None:
    of_instance = table.get(stamp.instance)
    if of_instance is not None:
        of_instance.pop(stamp.writer, None)
        if not of_instance:
            del table[stamp.instance]
