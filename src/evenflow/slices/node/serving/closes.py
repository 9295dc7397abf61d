"""Which closed epochs of a writer are whole at a node, without looking twice at what is here.

A close names a number for each of many slices, and a node is asked every 20 ms how far it is. While
a node holds a slice, the numbers that are here of it only grow: what one look has found stays
found. So each close is gone through once, in steps: a look goes on where the one before met a slice
that lacks something, and usually that one still does. Only when the node owns other slices than
before, each close is gone through anew.
"""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from evenflow.model.messages import EpochClose
    from evenflow.slices.node.cache.held_slice import HeldSlice
    from evenflow.slices.node.cache.track import Track

MOST_CLOSES: Final = 64
"""Closes of one writer that are remembered; cumulative, so some can be spared."""


class _Standin:
    """Stands for a track where there is none."""

    __slots__ = ("next",)

    def __init__(self, following: int) -> None:
        self.next = following


_ELSEWHERE: Final = _Standin(1 << 64)
"""Of a slice that somebody else owns nothing is lacking here."""
_ABSENT: Final = _Standin(0)
"""Of an own slice of which the writer has sent nothing yet, everything is."""


class _Tracks(dict[int, "Track | _Standin"]):
    """One writer's track of every slice, looked up once each."""

    def __init__(self, writer: int, owned: Mapping[int, HeldSlice]) -> None:
        super().__init__()
        self._writer = writer
        self._owned = owned

    def __missing__(self, slice_id: int) -> Track | _Standin:
        held = self._owned.get(slice_id)
        track = _ELSEWHERE if held is None else held.tracks.get(self._writer)
        if track is None:
            return _ABSENT
        self[slice_id] = track
        return track


class _Check:
    """A close, and how far it has been gone through."""

    __slots__ = ("_lacking", "_rest", "_tracks", "close", "is_met")

    def __init__(self, close: EpochClose, tracks: _Tracks) -> None:
        self.close = close
        self.is_met = False
        self._tracks = tracks
        self._lacking: tuple[int, int] | None = None
        """A slice that lacked something when it was last looked at, and its number."""
        found = map(tracks.__getitem__, close.slices)
        self._rest = zip(found, close.slices, close.last, strict=True)

    def look(self) -> bool:
        """Whether nothing is lacking any more."""
        if self.is_met:
            return True
        if self._lacking is not None:
            slice_id, last = self._lacking
            if self._tracks[slice_id].next <= last:
                return False
        for track, slice_id, last in self._rest:
            if track.next <= last:
                self._lacking = slice_id, last
                return False
        self.is_met = True
        return True


class Closes:
    """The newest closes of one writer, in the order of their epochs.

    Args:
        writer: The writer.
        owned: The slices that the node owns.
    """

    def __init__(self, writer: int, owned: Mapping[int, HeldSlice]) -> None:
        self._writer = writer
        self._checks: deque[_Check] = deque()
        self._tracks = _Tracks(writer, owned)

    def __len__(self) -> int:
        return len(self._checks)

    def __iter__(self) -> Iterator[EpochClose]:
        return (check.close for check in self._checks)

    def __reversed__(self) -> Iterator[EpochClose]:
        return (check.close for check in reversed(self._checks))

    @property
    def newest(self) -> int:
        """The newest epoch that the writer has closed."""
        return self._checks[-1].close.epoch

    def add(self, close: EpochClose) -> None:
        """Remember a close that is not older than the newest one."""
        newest = self._checks[-1].close if self._checks else None
        if newest is not None and newest.epoch > close.epoch:
            return
        if newest is not None and newest.epoch == close.epoch:
            # A repetition names fewer slices when more is committed.
            if (newest.slices, newest.last) != (close.slices, close.last):
                self._checks[-1] = _Check(close, self._tracks)
            return
        self._checks.append(_Check(close, self._tracks))
        if len(self._checks) > MOST_CLOSES:
            self._spare_one()

    def _spare_one(self) -> None:
        """Forget the close that leaves the smallest step, in items, between those around it.

        The first may be the one that is whole, and from each the next is taken in as a whole: so
        the steps of a writer that runs far ahead are to be even.
        """
        items = [check.close.items for check in self._checks]
        steps = [after - before for before, after in zip(items, items[2:], strict=False)]
        del self._checks[1 + steps.index(min(steps))]

    def forget(self, epoch: int) -> None:
        """Everything up to the end of an epoch is committed."""
        while len(self._checks) > 1 and self._checks[0].close.epoch <= epoch:
            self._checks.popleft()

    def restart(self, owned: Mapping[int, HeldSlice]) -> None:
        """The node owns other slices than before."""
        self._tracks = _Tracks(self._writer, owned)
        self._checks = deque(_Check(close, self._tracks) for close in self)

    def whole_and_next(self, floor: int) -> tuple[int, int]:
        """The newest epoch that is whole in the owned slices, and the one that is the next to be.

        Args:
            floor: What is whole when none of the closes is.
        """
        following = self.newest
        for check in reversed(self._checks):
            if check.look():
                return check.close.epoch, following
            following = check.close.epoch
        return floor, following

    def provable(self, epoch: int) -> int:
        """The first epoch, from one on, whose close is remembered; the newest when there is none.

        Only of such an epoch can be seen that it is whole.
        """
        known = (check.close.epoch for check in self._checks if check.close.epoch >= epoch)
        return next(known, self.newest)


def is_satisfied(close: EpochClose, slices: frozenset[int], held: Mapping[int, HeldSlice]) -> bool:
    """Whether nothing that a close names is lacking, of some slices that are all held."""
    for slice_id, last in zip(close.slices, close.last, strict=True):
        if slice_id in slices:
            track = held[slice_id].tracks.get(close.writer)
            if track is None or track.next <= last:
                return False
    return True
