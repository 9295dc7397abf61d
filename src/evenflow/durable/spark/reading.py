"""What the tasks of ``spark.read.format("evenflow-store")`` do: read a range of time, as Arrow.

A table is cut into ranges of time; each is a partition. Messages of the store are rows as they are.
Items of a durable topic lie in bundles, and a bundle may have pieces in two ranges, or have been
written twice when an archiver died; so a task begins to read some time before its range and ends
some time after it: a bundle belongs to the range in which its last piece was stored, and an item
to the first bundle that has it.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Final

import pyarrow as pa

from evenflow.durable.frames import Assembly, archive_topic
from evenflow.durable.merging import Merging
from evenflow.errors import DecodeError, StoreTimeout, UnknownTopic
from evenflow.model.ids import WriterId
from evenflow.overlay.client.blocking import Client
from evenflow.slices.consumer.row_numbers import NUMBERED

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from evenflow.durable.spark.options import ReadOptions
    from evenflow.overlay.protocol.messages import Message

MESSAGE_COLUMNS: Final = (
    "time TIMESTAMP, time_ns BIGINT, publisher BIGINT, sequence BIGINT, payload BINARY"
)
ITEM_COLUMNS: Final = (
    "writer STRING, number BIGINT, slice INT, sender STRING, id BIGINT, time TIMESTAMP,"
    " payload BINARY"
)
AROUND_NS: Final = 60 * 10**9
"""How far around its range a task looks for pieces and repetitions; no writer waits for so long."""
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


@dataclass(frozen=True, slots=True)
class Part:
    """What one task reads: what was stored from a time up to another."""

    start: int
    end: int


def plan(options: ReadOptions) -> list[Part]:
    """Cut the time in which there is something into parts; none when there is nothing."""
    with Client(options.brokers, timeout_s=options.timeout_s) as client:
        now = now_in(client, options)
        end = now if options.end is None else options.end
        first = next(iter(client.read(options.topic, options.start, end)), None)
    if first is None:
        return []
    return cut(first.time, end, options.partitions)


def now_in(client: Client, options: ReadOptions) -> int:
    """Return the time up to which the topic is; `UnknownTopic` says what else might be meant."""
    try:
        return client.now(options.topic, level=0)
    except UnknownTopic:
        raise UnknownTopic(options.topic, _hint(client, options)) from None


def _hint(client: Client, options: ReadOptions) -> str:
    other = options.name if options.items else archive_topic(options.name)
    try:
        client.now(other, level=0)
    except (UnknownTopic, StoreTimeout):
        if not options.items:
            return "nothing was ever published to it"
        return (
            f"nothing of {options.name!r} was archived yet: is it durable = true, and does"
            " 'evenflow archive' run?"
        )
    if options.items:
        return f"{options.name!r} has messages, not items: leave the option rows away"
    return f'{options.name!r} is a durable topic: add .option("rows", "items")'


def cut(start: int, end: int, count: int) -> list[Part]:
    """Cut a time into equal parts, fewer when it is too short."""
    edges = sorted({start + (end - start) * number // count for number in range(count + 1)})
    return [Part(*pair) for pair in pairwise(edges)]


def read_part(options: ReadOptions, part: Part) -> Iterator[pa.RecordBatch]:
    """Yield the rows of a part."""
    around = AROUND_NS if options.items else 0
    with Client(options.brokers, timeout_s=options.timeout_s) as client:
        messages = client.read(options.topic, max(1, part.start - around), part.end + around)
        if options.items:
            yield from items_in(messages, part)
        else:
            yield from messages_in(messages)


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


def items_in(messages: Iterable[Message], part: Part) -> Iterator[pa.RecordBatch]:
    """Yield the items of the bundles that were completed in a part, each once."""
    assembly, merging = Assembly(), Merging()
    for message in messages:
        if message.time >= part.end and not assembly.waiting:
            return
        try:
            bundle = assembly.add(message.payload)
        except DecodeError:
            continue  # no piece: somebody else wrote to the archive's topic
        if bundle is None:
            continue
        fresh = merging.archived(bundle.rows, bundle.end)
        if part.start <= message.time < part.end:
            yield from _items(fresh)


def _items(rows: pa.Table) -> Iterator[pa.RecordBatch]:
    writers = rows.column("writer").combine_chunks().dictionary_encode()
    texts = [WriterId.text(writer) for writer in writers.dictionary.to_pylist()]
    names = pa.array(texts, pa.string())
    column = pa.DictionaryArray.from_arrays(writers.indices, names).cast(pa.string())
    table = pa.Table.from_arrays([column, *rows.columns[1:]], schema=_ITEM)
    yield from table.combine_chunks().to_batches(max_chunksize=1 << 16)
