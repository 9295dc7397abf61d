"""What must be known of a writer besides its samples, and how an outbox writes it down.

A segment begins with the whole state, so the segments before it can be deleted once everything in
them is committed: no number is forgotten with them. What changes later is noted: floors and terms
of slices, how much is committed, how many items were left out. Numbers, serial numbers and epochs
follow from the samples.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from struct import Struct
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Iterable

    import numpy.typing as npt

    from evenflow.model.batch import Int64s

NO_UNIT: Final = -1
"""Before the first unit."""
_HEAD: Final = Struct("<I")
_NOTE: Final = Struct("<QQI4x")
_UNIT: Final = Struct("<q")
_COUNTS: Final = ("writer", "serial", "epoch", "unit", "fresh",
                   "committed_items", "committed_epoch")  # fmt: skip
_THINNED: Final = Struct("<Q")
"""Behind a note; outboxes of before have none."""


class Identity(NamedTuple):
    """Whose outbox a folder is."""

    topic: str
    slice_count: int
    domain: int


@dataclass(slots=True)
class State:
    """One writer at one moment."""

    identity: Identity
    writer: int
    """0: the last writer has ended, and whoever opens the outbox is a new one."""
    serial: int = 0
    """Number of the newest sample."""
    epoch: int = 0
    """The newest epoch that may have been announced: that of the newest sample, or of the writer
    before."""
    unit: int = NO_UNIT
    """The newest unit."""
    fresh: bool = False
    """Nothing in earlier segments counts any more."""
    committed_items: int = 0
    committed_epoch: int = 0
    """Of a served topic: the newest epoch that every consumer has committed."""
    thinned: int = 0
    """Items that were left out before they were numbered."""
    newest: Int64s = field(default_factory=lambda: np.zeros(0, np.int64))
    """The newest number of each slice."""
    floors: Int64s = field(default_factory=lambda: np.zeros(0, np.int64))
    """Of each slice everything up to this number is committed."""
    terms: npt.NDArray[np.uint64] = field(default_factory=lambda: np.zeros(0, np.uint64))
    """The newest term of ownership of each slice."""

    def __post_init__(self) -> None:
        count = self.identity.slice_count
        if len(self.newest) != count:
            self.newest, self.floors = np.zeros(count, np.int64), np.zeros(count, np.int64)
            self.terms = np.zeros(count, np.uint64)

    def ended(self) -> State:
        """What is left when the writer has ended: whose outbox it is, and the newest unit."""
        return self.begun(0)

    def begun(self, writer: int) -> State:
        """The state of a new writer that takes the place of this one, before its first sample."""
        return State(self.identity, writer, unit=self.unit, fresh=True)

    def add(self, serial: int, epoch: int, slices: Int64s, lasts: Int64s) -> None:
        """A sample was written down."""
        self.serial, self.epoch = serial, max(self.epoch, epoch)
        self.newest[slices] = lasts

    # -- as bytes ---------------------------------------------------------------------------------

    def encode(self) -> bytes:
        """The body of a state record."""
        used = np.flatnonzero(self.newest | self.terms.astype(np.int64))
        head = {name: getattr(self, name) for name in (*_COUNTS, "thinned")}
        text = json.dumps({**self.identity._asdict(), **head, "slices": len(used)}).encode()
        columns = (used, self.newest[used], self.floors[used], self.terms[used])
        return b"".join((_HEAD.pack(len(text)), text, *(column.tobytes() for column in columns)))

    @classmethod
    def decode(cls, body: memoryview) -> State:
        """Read a state record."""
        (length,) = _HEAD.unpack_from(body)
        head: dict[str, Any] = json.loads(bytes(body[_HEAD.size : _HEAD.size + length]))
        identity = Identity(*(head[name] for name in Identity._fields))
        counts = {name: head[name] for name in _COUNTS}
        state = cls(identity, **counts, thinned=head.get("thinned", 0))
        slices, newest, floors, terms = _columns(body, _HEAD.size + length, head["slices"], 4)
        state.newest[slices], state.floors[slices] = newest, floors
        state.terms[slices] = terms.astype(np.uint64)
        return state

    def apply(self, note: memoryview) -> None:
        """Take in a note."""
        self.committed_items, self.committed_epoch, count = _NOTE.unpack_from(note)
        slices, floors, terms = _columns(note, _NOTE.size, count, 3)
        self.floors[slices], self.terms[slices] = floors, terms.astype(np.uint64)
        if len(note) >= (end := _NOTE.size + 3 * 8 * count) + _THINNED.size:
            (self.thinned,) = _THINNED.unpack_from(note, end)


class Progress(NamedTuple):
    """How far a writer is, to be noted."""

    committed_items: int
    committed_epoch: int
    floors: Int64s
    terms: npt.NDArray[np.uint64]
    thinned: int
    oldest: int
    """Serial number of the oldest sample that is kept; all before are committed."""
    kept_bytes: int
    """Bytes of all samples that are kept, in memory or on disk."""


def encode_note(before: State, now: Progress) -> bytes | None:
    """What has changed since the state that is written down; None when that is nothing."""
    slices = np.flatnonzero((now.floors != before.floors) | (now.terms != before.terms))
    same = (now.committed_items, now.committed_epoch, now.thinned) == (
        before.committed_items,
        before.committed_epoch,
        before.thinned,
    )
    if same and not len(slices):
        return None
    head = _NOTE.pack(now.committed_items, now.committed_epoch, len(slices))
    columns: Iterable[npt.NDArray[Any]] = (slices, now.floors[slices], now.terms[slices])
    rows = (column.tobytes() for column in columns)
    return b"".join((head, *rows, _THINNED.pack(now.thinned)))


def encode_unit(number: int) -> bytes:
    """The body of a unit's end."""
    return _UNIT.pack(number)


def decode_unit(body: memoryview) -> int:
    """The number of a unit."""
    number: int = _UNIT.unpack_from(body)[0]
    return number


def _columns(body: memoryview, at: int, count: int, columns: int) -> npt.NDArray[np.int64]:
    found = np.frombuffer(bytes(body[at:]), np.int64, columns * count)
    return found.reshape(columns, count)
