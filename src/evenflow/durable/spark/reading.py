"""What ``format("evenflow-store")`` plans at the driver, and what its tasks read, as Arrow.

*Messages* of the store are rows as they are; a table of them is cut into ranges of time, each a
partition. *Items* of a durable topic lie in bundles, of which the archive's index says which count
and what is in them. So a table of items is cut into groups of bundles with about as many items
each, and bundles that cannot have what is asked for (`selection`) are not read at all. Of those
that are read, only the rows that are asked for go on to Spark.
"""

from __future__ import annotations

import logging
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Final

import pyarrow as pa

from evenflow.durable.archive import Archive
from evenflow.durable.frames import archive_topic
from evenflow.durable.selection import may_be_in, selected
from evenflow.errors import ReadFailed, StoreTimeout, UnknownTopic
from evenflow.errors.words import counted, have
from evenflow.model.ids import WriterId
from evenflow.model.selection import ALL, Selection
from evenflow.overlay.client.blocking import Client
from evenflow.slices.consumer.header_column import HEADERS, with_headers
from evenflow.slices.consumer.row_numbers import NUMBERED

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from evenflow.durable.index import Entry
    from evenflow.durable.spark.options import ReadOptions
    from evenflow.overlay.protocol.messages import Message

MESSAGE_COLUMNS: Final = (
    "time TIMESTAMP, time_ns BIGINT, publisher BIGINT, sequence BIGINT, payload BINARY"
)
ITEM_COLUMNS: Final = (
    "writer STRING, number BIGINT, slice INT, sender STRING, id BIGINT, time TIMESTAMP,"
    " payload BINARY"
)
HEADER_COLUMN: Final = "headers MAP<STRING, BINARY>"
"""Behind those of an item, for who wants it."""
MOST_ROWS: Final = 10_000
MOST_OCTETS: Final = 16 << 20

_TIME: Final = pa.timestamp("us", tz="UTC")
_MESSAGE: Final = pa.schema(
    [
        ("time", _TIME),
        ("time_ns", pa.int64()),
        ("publisher", pa.int64()),
        ("sequence", pa.int64()),
        ("payload", pa.binary()),
    ]
)
_ITEM: Final = pa.schema([("writer", pa.string()), *[(f.name, f.type) for f in list(NUMBERED)[1:]]])
_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Part:
    """Messages that one task reads: those stored from a time up to another."""

    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Bundles:
    """Items that one task reads: those wanted of some bundles."""

    entries: tuple[Entry, ...]
    wanted: Selection = ALL
    lossless: bool = False
    """Whether a bundle that has expired is an error; else it is left out, and logged."""


def client_of(options: ReadOptions) -> Client:
    """Return a client of the store that a query reads."""
    return Client(options.brokers, timeout_s=options.timeout_s)


def archive_of(client: Client, options: ReadOptions) -> Archive:
    """Return the archive that a query reads."""
    return Archive(client, options.name, level=0)


# -- at the driver -----------------------------------------------------------------------------


def plan(options: ReadOptions, wanted: Selection = ALL) -> list[Part] | list[Bundles]:
    """Cut what is asked for into parts; none when there is nothing."""
    with client_of(options) as client:
        now = now_in(client, options)
        end = now if options.end is None else options.end
        if options.items:
            archive = archive_of(client, options)
            found = archive.counted(options.start, end, archive.tip_from(options.start, end))
            entries = [one.entry for one in found if may_be_in(wanted, one.entry)]
            return [Bundles(some, wanted) for some in shares(entries, options.partitions)]
        start, end = within(options.start, end, wanted)
        first = next(iter(client.read(options.topic, start, end)), None) if start < end else None
    return [] if first is None else cut(first.time, end, options.partitions)


def within(start: int, end: int, wanted: Selection) -> tuple[int, int]:
    """Return the part of a range of time in which messages are wanted."""
    if wanted.oldest is not None:
        start = max(start, wanted.oldest * 1_000)
    if wanted.newest is not None:
        end = min(end, (wanted.newest + 1) * 1_000)
    return start, end


def now_in(client: Client, options: ReadOptions) -> int:
    """Return the time up to which the topic is; `UnknownTopic` says what else might be meant."""
    try:
        return client.now(options.topic, level=0)
    except UnknownTopic:
        raise UnknownTopic(options.name, _hint(client, options)) from None


def _hint(client: Client, options: ReadOptions) -> str:
    other = options.name if options.items else archive_topic(options.name)
    try:
        client.now(other, level=0)
    except (UnknownTopic, StoreTimeout):
        if not options.items:
            return "nothing was ever published to it"
        return "nothing of it was archived: is it durable = true, and does 'evenflow archive' run?"
    if options.items:
        return "it has messages, not items: leave the option rows away"
    return 'it is a durable topic: add .option("rows", "items")'


def cut(start: int, end: int, count: int) -> list[Part]:
    """Cut a time into equal parts, fewer when it is too short."""
    edges = sorted({start + (end - start) * number // count for number in range(count + 1)})
    return [Part(*pair) for pair in pairwise(edges)]


def shares(entries: Sequence[Entry], count: int) -> list[tuple[Entry, ...]]:
    """Cut entries, in their order, into at most so many groups with about as many items each."""
    total = max(1, sum(entry.items for entry in entries))
    groups: dict[int, list[Entry]] = {}
    before = 0
    for entry in entries:
        groups.setdefault(min(count - 1, before * count // total), []).append(entry)
        before += entry.items
    return [tuple(group) for group in groups.values()]


# -- in tasks ----------------------------------------------------------------------------------


def read_part(options: ReadOptions, part: Part | Bundles) -> Iterator[pa.RecordBatch]:
    """Yield the rows of a part."""
    with client_of(options) as client:
        if isinstance(part, Bundles):
            yield from items_in(archive_of(client, options), part, headed=options.headers)
        else:
            yield from messages_in(client.read(options.topic, part.start, part.end))


def messages_in(messages: Iterable[Message]) -> Iterator[pa.RecordBatch]:
    """Yield messages as rows."""
    group: list[Message] = []
    octets = 0
    for message in messages:
        group.append(message)
        octets += len(message.payload)
        if len(group) >= MOST_ROWS or octets >= MOST_OCTETS:
            yield _rows(group)
            group, octets = [], 0
    if group:
        yield _rows(group)


def _rows(group: list[Message]) -> pa.RecordBatch:
    columns = [
        pa.array([message.time // 1_000 for message in group], pa.int64()).cast(_TIME),
        pa.array([message.time for message in group], pa.int64()),
        pa.array([message.publisher for message in group], pa.int64()),
        pa.array([message.sequence for message in group], pa.int64()),
        pa.array([message.payload for message in group], pa.binary()),
    ]
    return pa.RecordBatch.from_arrays(columns, schema=_MESSAGE)


def items_in(archive: Archive, part: Bundles, *, headed: bool = False) -> Iterator[pa.RecordBatch]:
    """Yield the items that are wanted of some bundles."""
    for entry in part.entries:
        rows = archive.rows(entry)
        expired = f"{counted(entry.items, 'item')} {have(entry.items)} expired"
        if rows is not None:
            yield from _items(selected(part.wanted, rows), headed=headed)
        elif part.lossless:
            raise ReadFailed(archive.topic, (), f"{expired} in the store")
        else:
            _log.warning("topic %s: %s in the store", archive.topic, expired)


def _items(rows: pa.Table, *, headed: bool) -> Iterator[pa.RecordBatch]:
    if not rows.num_rows:
        return
    if headed:
        rows, schema = with_headers(rows), _ITEM.append(pa.field(HEADERS.name, HEADERS.type))
    else:
        rows, schema = rows.select(NUMBERED.names), _ITEM
    writers = rows.column("writer").combine_chunks().dictionary_encode()
    texts = [WriterId.text(writer) for writer in writers.dictionary.to_pylist()]
    names = pa.array(texts, pa.string())
    column = pa.DictionaryArray.from_arrays(writers.indices, names).cast(pa.string())
    table = pa.Table.from_arrays([column, *rows.columns[1:]], schema=schema)
    yield from table.combine_chunks().to_batches(max_chunksize=1 << 16)
