"""A simulated query that looks, before it registers, whether everything was kept for it.

As a Spark query with a checkpoint does: it listens, asks its core what is missing behind the
position in its log, and fails when something is; it fails later, too, when it is told that it has
expired, or that its name is another's.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from evenflow.slices.consumer.core import ConsumerCore
from evenflow.slices.consumer.splits import BEGIN
from evenflow.testing.consumer import SimConsumer
from evenflow.testing.invariants import Violation
from evenflow.testing.publishers import TOPIC

if TYPE_CHECKING:
    from collections.abc import Callable

    from evenflow.testing.node import SimNode

LOOK_S: Final = 0.5
"""How long it listens at least."""


class ReturningConsumer(SimConsumer):
    """One query, which may be released and come back.

    Args:
        name: Its name.
        clock: The time, in seconds; that of day in nanoseconds is where numbers begin.
        wall: What the time of day is ahead of it.
    """

    def __init__(self, name: str, clock: Callable[[], float], wall: float) -> None:
        super().__init__(name)
        self._clock, self.wall = clock, wall
        self.enters_at: float | None = None
        """While it listens and has not registered: when it may."""
        self.failed = ""
        """Why it has ended, in words; empty while it has not."""
        self.given_up = False
        """Nobody will start it again."""
        self.released = False
        """Whether it was released at least once, as it may have been in its log's time."""

    def start(self) -> None:
        """Come to life and listen."""
        if self.given_up:
            return
        if self.released and not self.offsets[self.committed].position:
            self.is_newcomer = True  # it has read nothing: to everybody it is new
        self._lives += 1
        number = int((self._clock() + self.wall) * 1e9) + self._lives
        self.core = ConsumerCore(TOPIC, self.name, number)
        self.core.note_planned(self.offsets[-1].planned)
        self.told, self.failed = None, ""
        self._pending, self._read, self._runs = {}, [], []
        self.enters_at = self._clock() + LOOK_S

    def look(self) -> None:
        """Register when that is due; fail when something is missing, or the name is lost."""
        core = self.core
        if core is None:
            return
        position = self.offsets[self.committed].position
        if self.enters_at is not None:
            if self._clock() >= self.enters_at and core.ledger.version and not core.lacking():
                self.enters_at = None
                self.fail(core.missing(position))
                if not self.failed:
                    self._commit()
        elif core.superseded:
            self.fail("superseded")
        elif core.expired is not None:
            self.fail(core.missing(position))

    def fail(self, words: str) -> None:
        """End with these words, if there are any; only one that was released may."""
        if words:
            if not self.released:
                raise Violation(f"{self.name} was never released, and fails: {words}")
            self.failed = words
            self.die()

    def die(self) -> None:
        """``kill -9``."""
        super().die()
        self.enters_at = None

    def begin_anew(self) -> None:
        """Its checkpoint is deleted, and what it has written."""
        self.offsets, self.committed, self.sizes = [BEGIN], 0, {}
        self.sink, self._sunk = {}, {}
        self.is_newcomer = True

    @property
    def has_everything(self) -> bool:
        """Whether it has all, or has ended for good."""
        return self.given_up or (self.enters_at is None and super().has_everything)

    @property
    def in_hand(self) -> bool:
        """Whether a batch is being read."""
        return self.core is not None and super().in_hand

    def plan(self, slice_count: int) -> None:
        """Begin the next batch, when it is registered."""
        if self.enters_at is None:
            super().plan(slice_count)

    def read(self, node: SimNode, slices: list[int], most: int) -> None:
        """Ask a node; one that was released may be told that something is forgotten, and ends."""
        try:
            super().read(node, slices, most)
        except Violation as refused:
            self.fail(str(refused))
