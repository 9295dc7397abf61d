"""How an outbox lies on disk: records in segment files, each with its length and a checksum.

A record is a head and a body, padded to eight bytes::

    magic  kind  length  crc  group | body ... padding

Records are written in *groups*: all of a group by one write, and the next group only when the one
before is synced. ``group`` is the byte at which the record's group begins in its file. That is what
tells a torn tail from damage. A record that cannot be read, with nothing behind it but records of
its own group, was being written when the machine stopped: nobody has relied on it. A sound record
of a *later* group behind it proves that it was once synced, so somebody may have: that is damage,
and nothing is cut off.

A segment is reserved on disk before it is used, so there may be zeros behind the last record.
"""

from __future__ import annotations

import zlib
from enum import Enum, IntEnum
from struct import Struct
from typing import TYPE_CHECKING, Final, NamedTuple

if TYPE_CHECKING:
    from evenflow.model.batch import Encoded

MAGIC: Final = b"EfO1"
"""Another format gets another one: its segments cannot be read here, and that is said."""
ALIGNMENT: Final = 8
_HEAD: Final = Struct("<4sIIIQ")
_SUMMED: Final = Struct("<IIQ")


class Kind(IntEnum):
    """What a record says."""

    STATE = 1
    """All that must be known besides the samples behind it; the first of every segment."""
    NOTE = 2
    """What has been committed since, and under which terms."""
    SAMPLE = 3
    """A sample, as it is sent."""
    PART = 4
    """A sample of a unit; it counts when the unit's end is there."""
    UNIT = 5
    """The end of a unit, with its number."""


_KINDS: Final = frozenset(map(int, Kind))


class Tail(Enum):
    """What lies behind the last sound record."""

    CLEAN = "nothing"
    TORN = "a record that was being written"
    DAMAGED = "a record that was once complete"


class Record(NamedTuple):
    """A sound record, and where it lies."""

    kind: Kind
    body: memoryview
    group: int
    start: int
    end: int


class Scan(NamedTuple):
    """What was found in a segment."""

    records: list[Record]
    end: int
    """The byte behind the last sound record."""
    tail: Tail


def record_bytes(length: int) -> int:
    """Bytes of a record whose body has this length."""
    return _HEAD.size + length + -length % ALIGNMENT


def encode_record(kind: Kind, body: Encoded, group: int) -> tuple[bytes, Encoded, bytes]:
    """A record, as pieces to be written one after the other."""
    length = len(body)
    crc = _checksum(kind, length, group, body)
    return _HEAD.pack(MAGIC, kind, length, crc, group), body, bytes(-length % ALIGNMENT)


def scan(data: memoryview) -> Scan:
    """Read a segment up to its end, or to the first record that is not sound."""
    records = []
    at = 0
    while (record := _record_at(data, at)) is not None:
        records.append(record)
        at = record.end
    rest = bytes(data[at:])
    if rest.count(0) == len(rest):
        return Scan(records, at, Tail.CLEAN)
    return Scan(records, at, Tail.DAMAGED if _has_later_group(data, rest, at) else Tail.TORN)


def _has_later_group(data: memoryview, rest: bytes, bad: int) -> bool:
    """Whether a record behind the bad one belongs to a group that was begun after it was synced."""
    found = rest.find(MAGIC, 1)
    while found >= 0:
        record = _record_at(data, bad + found)
        if record is not None and record.group > bad:
            return True
        found = rest.find(MAGIC, found + 1)
    return False


def _record_at(data: memoryview, at: int) -> Record | None:
    if len(data) - at < _HEAD.size:
        return None
    magic, kind, length, crc, group = _HEAD.unpack_from(data, at)
    start, end = at + _HEAD.size, at + record_bytes(length)
    if magic != MAGIC or end > len(data) or kind not in _KINDS:
        return None
    body = data[start : start + length]
    if crc != _checksum(kind, length, group, body):
        return None
    return Record(Kind(kind), body, group, at, end)


def _checksum(kind: int, length: int, group: int, body: Encoded) -> int:
    return zlib.crc32(body, zlib.crc32(_SUMMED.pack(kind, length, group)))
