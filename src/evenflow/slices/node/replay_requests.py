"""Replay requests: which publishers a node has to ask, for which slices, and when.

A node asks a publisher for two reasons: it does not know where the numbers of a slice start (it
took the slice over, or meets the publisher for the first time), or numbers are missing. The first
is asked at once; for the second it waits ``grace`` seconds, because what seems missing is mostly
still on its way. A request is repeated until it is no longer needed, so a lost request or answer
does no harm: after ``retry`` seconds, and then after twice as long each time that it brought
nothing, up to :data:`LONGEST`. So neither a publisher that is silent nor a cache that is full and
refuses what it asks for makes a storm. All slices that are due at one publisher go into one
request.

As long as a publisher's replay is coming in, it is not asked again: a long replay takes longer than
``retry``, and what is asked for twice is sent twice. Where numbers start is asked at once all the
same.

There may be ten thousand slices of ten publishers, and the node looks often: what is pending is
gone through only when something is due, or something was resolved.
"""

from __future__ import annotations

from collections.abc import Collection
from math import inf
from typing import Final

_NOTHING: Final[dict[int, float]] = {}
_NONE_TRIED: Final[dict[int, int]] = {}
LONGEST: Final = 5.0
"""Seconds after which a request is repeated, at most."""


class ReplayRequests:
    """The pending requests of one node."""

    def __init__(self, grace: float, retry: float) -> None:
        self.resolved = 0
        """Requests that were resolved or forgotten since the start."""
        self._grace = grace
        self._retry = retry
        self._due: dict[int, dict[int, float]] = {}
        self._tries: dict[int, dict[int, int]] = {}
        """How often was asked in vain."""
        self._earliest = inf
        """Nothing is due before."""
        self._rests: dict[int, float] = {}
        """Until when a publisher whose replay comes in is left alone."""
        self._urgent: set[int] = set()
        """Publishers that are asked all the same."""

    def at_once(self, writer: int, slices: Collection[int], now: float) -> None:
        """Ask where the numbers start, or for all that is newer, with the next poll."""
        if slices:
            self._due.setdefault(writer, {}).update(dict.fromkeys(slices, now))
            tries = self._tries.get(writer, _NONE_TRIED)
            for slice_id in tries.keys() & set(slices):
                del tries[slice_id]
            self._urgent.add(writer)
            self._earliest = min(self._earliest, now)

    def soon(self, writer: int, slice_id: int, now: float) -> None:
        """Ask for missing numbers, unless they arrive within the grace time."""
        due = self._due.setdefault(writer, {}).setdefault(slice_id, now + self._grace)
        self._earliest = min(self._earliest, due)

    def on_replay(self, writer: int, slices: Collection[int], now: float) -> None:
        """Something came again that a writer was asked for: more of it may be on its way."""
        self._rests[writer] = now + self._retry
        tries = self._tries.get(writer, _NONE_TRIED)
        for slice_id in tries.keys() & slices:
            del tries[slice_id]

    def on_return(self, writer: int, now: float) -> None:
        """A writer is heard again: what it could not answer is asked at once."""
        self._tries.pop(writer, None)
        due = self._due.get(writer)
        if due:
            due.update(dict.fromkeys(due, now))
            self._earliest = min(self._earliest, now)

    def hurry(self, writer: int, now: float) -> None:
        """Ask for what is missing of a writer with the next poll, whatever is coming in."""
        if self._due.get(writer):
            self._due[writer] = dict.fromkeys(self._due[writer], now)
            self._rests.pop(writer, None)
            self._tries.pop(writer, None)
            self._earliest = min(self._earliest, now)

    def not_asked(self, writer: int) -> None:
        """What was due was not asked for, because there is no room: that was no try."""
        self._tries.pop(writer, None)

    def resolve(self, writer: int, slice_id: int) -> None:
        """Nothing is missing any more."""
        due = self._due.get(writer)
        if due is not None and due.pop(slice_id, None) is not None:
            self.resolved += 1
            self._tries.get(writer, _NONE_TRIED).pop(slice_id, None)
            if not due:
                del self._due[writer]

    def forget_writer(self, writer: int) -> None:
        """A writer cannot answer any more."""
        self.resolved += len(self._due.pop(writer, _NOTHING))
        self._rests.pop(writer, None)
        self._tries.pop(writer, None)
        self._urgent.discard(writer)

    def forget_slices(self, slices: Collection[int]) -> None:
        """These slices are not ours any more, or not for now."""
        for writer in list(self._due):
            for slice_id in self._due[writer].keys() & slices:
                self.resolve(writer, slice_id)

    def poll(self, now: float) -> list[tuple[int, list[int]]]:
        """What to ask now: slices by writer. Each is due again later and later."""
        if now < self._earliest:
            return []
        requests = []
        self._earliest = inf
        for writer, due in self._due.items():
            rest = self._rests.get(writer, now)
            if rest > now and writer not in self._urgent:
                self._earliest = min(self._earliest, rest)
                continue
            slices = [slice_id for slice_id, at in due.items() if at <= now]
            tries = self._tries.setdefault(writer, {}) if slices else _NONE_TRIED
            for slice_id in slices:
                tried = tries[slice_id] = tries.get(slice_id, -1) + 1
                due[slice_id] = now + min(self._retry * 2 ** min(tried, 10), LONGEST)
            if slices:
                requests.append((writer, slices))
            self._earliest = min(self._earliest, *due.values())
        self._urgent.clear()
        return requests

    def pending_of(self, writer: int) -> Collection[int]:
        """The slices that a writer has to be asked for."""
        return self._due.get(writer, _NOTHING)

    def is_pending(self, slices: frozenset[int]) -> bool:
        """Whether a request for one of these slices is pending."""
        return any(not slices.isdisjoint(due) for due in self._due.values())
