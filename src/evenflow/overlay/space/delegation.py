"""Delegate lists: which coordinate is responsible for which time of a topic (section III).

A topic's messages are not all in one place. Those before the first delegation lie at the home
coordinate, those after it at the delegate, and so on; a list of coordinates with start times says
where. It begins with the home coordinate at time zero, so every time has exactly one responsible
coordinate, whatever happens:

- *delegate*: from a start time on, another coordinate is responsible;
- *retire*: the current delegate takes no new messages; the home coordinate resumes;
- *hand on*: a past delegate's newest messages now lie at the one after it;
- *forget*: a retired delegate has no data left; its time falls to the entry before it;
- *stand in*: a node was down for a while and its secondary kept what came meanwhile. A coordinate
  in the secondary's cell becomes the delegate for that while, so the node need not copy it back.

A list is a value: every change returns a new one, which home and delegate nodes exchange whole.
Times are whole numbers (nanoseconds in the store).
"""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING

from evenflow.errors import DelegationError
from evenflow.overlay.space.coordinate import Coordinate
from evenflow.overlay.values import Natural, Value

if TYPE_CHECKING:
    from collections.abc import Iterable


class Delegation(Value, frozen=True):
    """One entry of a delegate list."""

    start: Natural
    """Time of the first message the coordinate is responsible for."""
    coordinate: Coordinate
    """Where the messages lie."""
    birth: Natural = 0
    """Ticket of the move that made the shelf there; 0 at home. An older shelf there is void."""


@dataclass(frozen=True, slots=True)
class Tenure:
    """A time range and its responsible coordinate."""

    start: int
    """First time of the range."""
    end: int | None
    """First time after the range, None for the last one, which is open."""
    coordinate: Coordinate
    """Where the messages of the range lie."""


class DelegateList(Value, frozen=True):
    """The delegations of one topic, oldest first. Begin with `DelegateList.at_home`."""

    entries: tuple[Delegation, ...]
    """The first is the home coordinate from time zero; start times rise strictly."""

    def __post_init__(self) -> None:
        starts = [entry.start for entry in self.entries]
        if not starts or starts[0] != 0:
            raise DelegationError("a delegate list begins with the home coordinate at time 0")
        if any(late <= early for early, late in pairwise(starts)):
            raise DelegationError(f"start times must rise strictly, not {starts}")

    @classmethod
    def at_home(cls, home: Coordinate) -> DelegateList:
        """Return the list of a topic that was never delegated."""
        return cls((Delegation(0, home),))

    @property
    def home(self) -> Coordinate:
        """The topic's home coordinate."""
        return self.entries[0].coordinate

    @property
    def current(self) -> Coordinate:
        """The coordinate that new messages go to."""
        return self.entries[-1].coordinate

    def responsible(self, time: int) -> Coordinate:
        """Return the coordinate where the messages of a time lie."""
        if time < 0:
            raise DelegationError(f"time {time} is before time zero")
        found = bisect_right(self.entries, time, key=lambda entry: entry.start)
        return self.entries[found - 1].coordinate

    def tenures(self, start: int = 0, end: int | None = None) -> tuple[Tenure, ...]:
        """Return who is responsible when, clipped to a time range; ``end`` None leaves it open."""
        found = []
        following: Iterable[int | None] = (*(entry.start for entry in self.entries[1:]), None)
        for entry, until in zip(self.entries, following, strict=True):
            first = max(entry.start, start)
            last = until if end is None else end if until is None else min(until, end)
            if last is None or first < last:
                found.append(Tenure(first, last, entry.coordinate))
        return tuple(found)

    def birth(self, coordinate: Coordinate) -> int | None:
        """Return which move made the shelf at a coordinate; None when none lies there."""
        found = (entry.birth for entry in self.entries if entry.coordinate == coordinate)
        return next(found, None)

    def delegate(self, coordinate: Coordinate, start: int, birth: int = 0) -> DelegateList:
        """Make another coordinate responsible from ``start`` on.

        A start before the newest entry's is refused: what was stored since then lies elsewhere.
        """
        newest = self.entries[-1].start
        if start <= 0 or start < newest:
            raise DelegationError(
                f"a delegation from {start} would take messages that lie elsewhere:"
                f" start it after 0 and not before {newest}"
            )
        kept = [entry for entry in self.entries if entry.start < start]
        return _merged((*kept, Delegation(start, coordinate, birth)))

    def retire(self, coordinate: Coordinate, now: int) -> DelegateList:
        """Let the home coordinate resume when the current delegate retires."""
        if coordinate != self.current or coordinate == self.home:
            raise DelegationError(f"{coordinate} is not the current delegate: it cannot retire")
        return self.delegate(self.home, now)

    def forget(self, start: int) -> DelegateList:
        """Delete the past delegation that began at ``start`` and holds no data any more."""
        past = [entry.start for entry in self.entries[1:-1]]
        if start not in past:
            raise DelegationError(f"no past delegation began at {start}: those began at {past}")
        return _merged(entry for entry in self.entries if entry.start != start)

    def hand_on(self, end: int, start: int) -> DelegateList:
        """Give the newest part of a past delegate's time, from a start on, to the one after it.

        Args:
            end: When its time ends, and that of the next begins.
            start: From when on the next has the messages; its own start: it has nothing left.
        """
        starts = [entry.start for entry in self.entries]
        at = starts.index(end) if end in starts[2:] else 0
        if not at or not starts[at - 1] <= start < end:
            raise DelegationError(f"no past delegate has messages from {start} to {end}: {starts}")
        kept = self.entries[: at - (start == starts[at - 1])]
        after = self.entries[at]
        moved = Delegation(start, after.coordinate, after.birth)
        return _merged((*kept, moved, *self.entries[at + 1 :]))

    def stand_in(
        self, absent: Coordinate, secondary: Coordinate, since: int, until: int
    ) -> DelegateList:
        """Give what an absent coordinate's secondary kept between two times to the secondary."""
        if not 0 < since < until:
            raise DelegationError(f"an absence from {since} to {until} has no messages")
        pieces = []
        for part in (self.tenures(0, since), self.tenures(since, until), self.tenures(until)):
            for tenure in part:
                covered = tenure.coordinate == absent and since <= tenure.start < until
                pieces.append(Delegation(tenure.start, secondary if covered else tenure.coordinate))
        return _merged(pieces)


def _merged(entries: Iterable[Delegation]) -> DelegateList:
    """Drop entries that only say again what the one before them says."""
    kept: list[Delegation] = []
    for entry in entries:
        if not kept or entry.coordinate != kept[-1].coordinate:
            kept.append(entry)
    return DelegateList(tuple(kept))
