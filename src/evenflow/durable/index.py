"""The index of an archive: one entry for each bundle, which makes it a part of the archive.

The bundles themselves lie in the store's topic ``durable/NAME`` (`frames`), their entries in
``index/NAME``. An entry says where a bundle goes on from, which position is reached with it,
between which times of the store its pieces lie, and what is in it: how many items, their times,
slices and senders. So who looks for some items reads the index, which is small, and of the bundles
only those that may have them.

**The chain.** A bundle *counts* when its entry says that it follows the last one that counts, by
name, in the order in which the store keeps the entries. All others count for nothing.
That order is the same for everybody, so everybody agrees on what the archive has: each item once,
and up to which position. An archiver that was taken for dead may still write: its entry is either
the first to follow another, then it counts, or it is not, then whoever wrote it sees so before
it commits anything (`archive`).

Who begins to read in the middle knows of none that counts. But an archiver writes an entry only
when it has seen that the one it follows counts. So an entry that a later one follows does count;
from there on the rule tells of all others.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any, Final, NamedTuple

import msgspec
import pyarrow as pa
import pyarrow.compute as pc

from evenflow.model.checked_json import CheckedJson, Whole, WriterText, encode_json
from evenflow.model.ids import NOWHERE, Position

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

Name = Annotated[str, msgspec.Meta(max_length=64)]
MOST_LISTED: Final = 256
"""Slices, or senders, that an entry lists; of more it says nothing, and may have any."""


def index_topic(name: str) -> str:
    """Return the store's topic that keeps the index of a topic's archive."""
    return f"index/{name}"


class Tip(NamedTuple):
    """The end of an archive."""

    bundle: str
    """The last bundle that counts; empty: there is none."""
    position: Position
    """The position that is reached with it."""


NOTHING: Final = Tip("", NOWHERE)
"""The end of an archive that has nothing yet."""


class Entry(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What the index says of a bundle, as JSON."""

    bundle: Name
    """The bundle's name, which no other has."""
    follows: Name
    """The name of the bundle that it goes on from; empty: it is the first."""
    end: dict[WriterText, Whole]
    """The position that is reached with it."""
    since: Whole
    """None of its pieces was stored before this time of the store, nanoseconds since 1970."""
    until: Whole
    """None of its pieces was stored at this time or later."""
    items: Whole
    oldest: int
    """The least time of its items, microseconds since 1970."""
    newest: int
    """The greatest time of its items."""
    slices: tuple[int, ...] | None = None
    """The slices that it has items of; None: any."""
    senders: tuple[str, ...] | None = None
    """The senders that it has items of; None: any."""

    @property
    def tip(self) -> Tip:
        """The end of an archive of which this is the last entry that counts."""
        return Tip(self.bundle, Position.of_texts(self.end))


_ENTRY: Final = CheckedJson("entry of an archive's index", Entry)


def encode_entry(entry: Entry) -> bytes:
    """Write an entry."""
    return encode_json(entry)


def decode_entry(message: bytes) -> Entry:
    """Read an entry; `DecodeError` when it is none."""
    return _ENTRY.decode(message)


def entry_of(rows: Iterable[pa.RecordBatch], bundle: str, follows: str, end: Position) -> Entry:
    """Say what is in a bundle; where it lies is to be added (`placed`)."""
    table = pa.Table.from_batches(list(rows))
    times = table.column("time").cast(pa.int64())
    found = pc.min_max(times).as_py()
    return Entry(
        bundle,
        follows,
        end.to_json(),
        since=0,
        until=0,
        items=table.num_rows,
        oldest=found["min"] or 0,
        newest=found["max"] or 0,
        slices=_listed(table.column("slice")),
        senders=_listed(table.column("sender")),
    )


def placed(entry: Entry, since: int, until: int) -> Entry:
    """Return an entry that says between which times its pieces lie."""
    return msgspec.structs.replace(entry, since=since, until=until)


def _listed(column: pa.ChunkedArray) -> tuple[Any, ...] | None:
    values = column.unique()
    return None if len(values) > MOST_LISTED else tuple(sorted(values.to_pylist()))


class Chain:
    """Tells entries that count from those that do not, in the order of the store.

    Args:
        tip: The end so far; None: nobody knows, and the first that comes counts.
    """

    def __init__(self, tip: Tip | None) -> None:
        self.tip = tip
        """The end now; None: not known yet."""

    def add(self, entry: Entry) -> bool:
        """Take the next entry; return whether it counts."""
        if self.tip is not None and entry.follows != self.tip.bundle:
            return False
        self.tip = entry.tip
        return True


def counting(entries: Sequence[Entry], tip: Tip | None) -> Iterator[int]:
    """Yield which entries count.

    Args:
        entries: In the order of the store.
        tip: The end before the first; None: nobody knows. Then those before the first of which it
            can be told are left out, unless it can be told of none.
    """
    begin = 0 if tip is not None else next(iter(_followed(entries)), 0)
    chain = Chain(tip)
    for number in range(begin, len(entries)):
        if chain.add(entries[number]):
            yield number


def beginning(entries: Sequence[Entry]) -> Tip | None:
    """Return the end before the first entries of all; None: those before have expired."""
    return NOTHING if not entries or not entries[0].follows else None


def reached(entries: Sequence[Entry], *, whole: bool) -> Tip | None:
    """Return the end after entries that may begin anywhere; None: it cannot be told.

    Args:
        entries: In the order of the store.
        whole: Whether nothing lies before them.
    """
    if not whole and not _followed(entries):
        return None
    counted = list(counting(entries, beginning(entries) if whole else None))
    return entries[counted[-1]].tip if counted else NOTHING


def _followed(entries: Sequence[Entry]) -> list[int]:
    """Return which entries a later one follows."""
    later: set[str] = set()
    found = []
    for number in reversed(range(len(entries))):
        if entries[number].bundle in later:
            found.append(number)
        later.add(entries[number].follows)
    return found[::-1]
