"""The data readers of a node: few, each over many slices, always at least those that are wanted.

DDS partitions of a reader cannot be changed, so a change of slices opens a reader. New slices get
one reader together (500 slices: about 11 ms), at once. Slices no longer wanted stay in their reader
for a while and are dropped on arrival. When nothing has changed for :data:`QUIET_S`, the readers
are folded: one reader over exactly the wanted slices is opened, and after :data:`OVERLAP_S` the
others are closed. What arrives twice meanwhile is recognised by its numbers; what slips through is
a gap, and is replayed.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from evenflow.domain.channels import data, slice_partition

if TYPE_CHECKING:
    from collections.abc import Iterator

    from evenflow.domain.cyclone import Participant, Reader, Waiter

QUIET_S = 1.0
"""How long nothing must have changed before readers are folded."""
OVERLAP_S = 0.5
"""How long old readers stay open beside the one they are folded into."""
MATCH_S = 0.3
"""How long a new reader waits for writers that it expects."""


@dataclass(slots=True)
class MatchingReader:
    """A reader that has not yet met all its writers."""

    reader: Reader
    term: int
    expected: int
    deadline: float


@dataclass(slots=True)
class OpenReader:
    """An open reader and its slices."""

    reader: Reader
    slices: frozenset[int]
    close_at: float | None = None


class SliceReaders:
    """Keeps a node's readers in line with the slices it wants."""

    def __init__(self, participant: Participant, waiter: Waiter, topic: str) -> None:
        self._participant = participant
        self._waiter = waiter
        self._channel = data(topic)
        self._open_readers: list[OpenReader] = []
        self._matching: list[MatchingReader] = []
        self._wanted: frozenset[int] = frozenset()
        self._changed_at = 0.0
        self.damaged = 0
        """Damaged samples counted by readers that are closed."""

    def subscribe(self, slices: frozenset[int], term: int, writers: int, now: float) -> None:
        """Read these slices; :meth:`matched` names the term when their writers are met."""
        self._wanted |= slices
        self._changed_at = now
        covered = frozenset[int]().union(
            *(reader.slices for reader in self._open_readers if reader.close_at is None)
        )
        missing = slices - covered
        opened = self._open(missing) if missing else self._open_readers[-1]
        expected = writers * len(missing)
        self._matching.append(MatchingReader(opened.reader, term, expected, now + MATCH_S))

    def unsubscribe(self, slices: frozenset[int], now: float) -> None:
        """These slices are no longer wanted; the next folding leaves them out."""
        self._wanted -= slices
        self._changed_at = now

    def matched(self, now: float) -> list[int]:
        """Terms whose readers have met their writers, or have waited long enough for them."""
        done = [
            matching
            for matching in self._matching
            if now >= matching.deadline or matching.reader.matched() >= matching.expected
        ]
        for matching in done:
            self._matching.remove(matching)
        return [matching.term for matching in done]

    @property
    def waiting(self) -> bool:
        """Whether a reader has not yet met its writers."""
        return bool(self._matching)

    def fold(self, now: float) -> None:
        """Close what is due; when all is quiet, replace the readers by one."""
        for opened in [opened for opened in self._open_readers if opened.close_at is not None]:
            if opened.close_at is not None and now >= opened.close_at:
                self._close(opened)
        current = [opened for opened in self._open_readers if opened.close_at is None]
        exact = [opened.slices for opened in current] == ([self._wanted] if self._wanted else [])
        if exact or self._matching or now - self._changed_at < QUIET_S:
            return
        if self._wanted:
            self._open(self._wanted)
        for opened in current:
            opened.close_at = now + OVERLAP_S

    def __iter__(self) -> Iterator[Reader]:
        return (opened.reader for opened in self._open_readers)

    def count_damaged(self) -> int:
        """Damaged samples seen by all readers so far."""
        return self.damaged + sum(opened.reader.damaged for opened in self._open_readers)

    def _open(self, slices: frozenset[int]) -> OpenReader:
        partitions = [slice_partition(slice_id) for slice_id in sorted(slices)]
        reader = self._participant.reader(self._channel, partitions)
        self._waiter.attach(reader)
        opened = OpenReader(reader, slices)
        self._open_readers.append(opened)
        return opened

    def _close(self, opened: OpenReader) -> None:
        self._open_readers.remove(opened)
        self.damaged += opened.reader.damaged
        opened.reader.close()
