"""A stream from the store: every row once, in whatever batches, after whatever restarts."""

from __future__ import annotations

import random
from dataclasses import replace
from typing import Any

import pytest
from tests.unit.durable.spark.test_reading import _Open, archived, items
from tests.unit.durable.stores import Store

from evenflow.durable.index import index_topic
from evenflow.durable.spark import reading, streaming
from evenflow.durable.spark.options import ReadOptions
from evenflow.durable.spark.reading import read_part
from evenflow.durable.spark.streaming import Offset, StoreStream
from evenflow.errors import ConfigError, DecodeError, ReadFailed

ITEMS = ReadOptions("index/fleet", (), "fleet", items=True, partitions=3)
MESSAGES = ReadOptions("meters", (), "meters", partitions=3)


@pytest.fixture
def store(monkeypatch: pytest.MonkeyPatch) -> Store:
    found = Store()
    for module in (reading, streaming):
        monkeypatch.setattr(module, "client_of", lambda _: _Open(found))
    monkeypatch.setattr(streaming, "IDLE_S", 0.0)
    return found


def rows(stream: StoreStream, start: Offset, end: Offset, options: ReadOptions) -> list[int]:
    column = "number" if options.items else "sequence"
    found: list[int] = []
    for part in stream.parts(start, end):
        for batch in read_part(options, part):
            found += batch.column(column).to_pylist()
    return found


@pytest.mark.parametrize("options", [ITEMS, MESSAGES])
@pytest.mark.parametrize("most", [None, 1, 7])
def test_every_row_comes_once_while_more_is_stored_and_queries_die(
    store: Store, options: ReadOptions, most: int | None
) -> None:
    rng = random.Random(most)
    written = 0

    def write() -> None:
        nonlocal written
        count = rng.randint(1, 9)
        if options.items:
            archived(store, items(written + 1, count))
        else:
            store.publish_all("meters", [b"x"] * count)
        written += count

    write()
    stream = StoreStream(options)
    offset, found = stream.begin(), []
    for _ in range(60):
        if rng.random() < 0.4 and written < 100:
            write()
        end = stream.end(offset, most)
        planned = rows(stream, offset, end, options)
        if rng.random() < 0.3:  # the driver dies; the batch is in its log, and is run again
            write()
            stream = StoreStream(options)
            offset, end = (Offset.from_json(one.to_json()) for one in (offset, end))
            assert rows(stream, offset, end, options) == planned
        if most is not None and not options.items:
            assert len(planned) <= most
        offset, found = end, found + planned
    while (end := stream.end(offset, most)) != offset:
        found += rows(stream, offset, end, options)
        offset = end
    assert found == list(range(1, written + 1))
    assert stream.end(offset, most) == offset  # an idle stream has one latest offset


def test_a_stream_may_begin_now_or_at_a_time_and_end_with_what_there_is(store: Store) -> None:
    archived(store, items(1, 5))
    middle = store.clock + 1
    archived(store, items(6, 5))
    latest = StoreStream(replace(ITEMS, latest=True))
    begin = latest.begin()
    assert latest.end(begin, None) == begin
    since = StoreStream(replace(ITEMS, start=middle))
    since.fix()
    archived(store, items(11, 5))
    begin = since.begin()
    end = since.end(begin, None)
    assert rows(since, begin, end, ITEMS) == list(range(6, 11))
    assert since.end(end, None) == end
    assert rows(latest, latest.begin(), latest.end(latest.begin(), None), ITEMS) == []


def test_what_has_expired_fails_a_stream_unless_told_otherwise(store: Store) -> None:
    archived(store, items(1, 5), items(6, 5), items(11, 5))
    stream = StoreStream(ITEMS)
    begin = stream.begin()
    end = stream.end(begin, None)
    store.stored["durable/fleet"].pop(0)
    with pytest.raises(ReadFailed, match="5 items have expired"):
        rows(stream, begin, end, ITEMS)
    lenient = replace(ITEMS, lossless=False)
    assert rows(StoreStream(lenient), begin, end, lenient) == list(range(6, 16))
    store.stored[index_topic("fleet")].pop(0)  # a new query begins with what there is
    begin = stream.begin()
    assert begin.bundle is None
    assert rows(stream, begin, stream.end(begin, None), ITEMS) == list(range(6, 16))


@pytest.mark.parametrize("found", [{}, {"time": -1}, {"time": "x"}, {"time": 1, "b": 2}, [], 5])
def test_what_is_no_offset_is_refused(found: Any) -> None:
    with pytest.raises(DecodeError):
        Offset.from_json(found)


def test_options_of_streams_and_tables_are_told_apart() -> None:
    given = {"topic": "meters", "brokers": "127.0.0.1:1"}
    asked = {"startingoffsets": "latest", "maxItemsPerTrigger": "5", "failOnDataLoss": "false"}
    stream = ReadOptions.of({**given, **asked}, stream=True)
    assert (stream.latest, stream.max_items, stream.lossless) == (True, 5, False)
    for wrong, stream_asked in (
        ({"end": "5"}, True),
        ({"maxItemsPerTrigger": "5"}, False),
        ({"startingOffsets": "5"}, True),
        ({"failOnDataLoss": "maybe"}, True),
    ):
        with pytest.raises(ConfigError, match=next(iter(wrong))):
            ReadOptions.of({**given, **wrong}, stream=stream_asked)
