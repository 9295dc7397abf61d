"""What is planned and what tasks read: every item once, and no bundle that cannot have it."""

from __future__ import annotations

import random
from datetime import UTC, datetime
from itertools import pairwise
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyspark.sql.datasource import (
    EqualTo,
    Filter,
    GreaterThan,
    GreaterThanOrEqual,
    In,
    IsNotNull,
    LessThan,
    LessThanOrEqual,
    Not,
)
from tests.unit.durable.stores import Store

from evenflow.durable.archive import Archive
from evenflow.durable.frames import archive_topic
from evenflow.durable.spark import reading
from evenflow.durable.spark.options import ReadOptions
from evenflow.durable.spark.reading import Bundles, Part, cut, messages_in, plan, read_part, shares
from evenflow.errors import ReadFailed, UnknownTopic
from evenflow.model.ids import Position
from evenflow.model.selection import ALL, Selection
from evenflow.overlay.protocol.messages import Message
from evenflow.slices.consumer.row_numbers import NUMBERED
from evenflow.spark.source import selection_of

ITEMS = ReadOptions("index/fleet", ("127.0.0.1:1",), name="fleet", items=True)
PIECES = archive_topic("fleet")


@pytest.fixture
def store(monkeypatch: pytest.MonkeyPatch) -> Store:
    found = Store()
    monkeypatch.setattr(reading, "client_of", lambda _: _Open(found))
    return found


class _Open:
    def __init__(self, store: Store) -> None:
        self._store = store

    def __enter__(self) -> Store:
        return self._store

    def __exit__(self, *_: object) -> None:
        """It stays open."""


def items(first: int, count: int, slice_id: int = 0, time: int = 0, sender: str = "s") -> Any:
    numbers = list(range(first, first + count))
    columns = {
        "writer": [5] * count,
        "number": numbers,
        "slice": [slice_id] * count,
        "sender": [sender] * count,
        "id": numbers,
        "time": [time + number for number in range(count)],
        "payload": [b"x"] * count,
    }
    return pa.RecordBatch.from_pydict(columns, schema=NUMBERED)


def archived(store: Any, *bundles: Any) -> None:
    archive = Archive(store, "fleet", 2)
    archive.open()
    for number, one in enumerate(bundles):
        archive.add([one], Position({5: number + 1}))


def read(options: ReadOptions, wanted: Selection = ALL) -> list[int]:
    found: list[int] = []
    for part in plan(options, wanted):
        for batch in read_part(options, part):
            assert set(batch.column("writer").to_pylist()) == {f"{5:016x}"}
            found += batch.column("number").to_pylist()
    return found


@given(st.integers(1, 1000), st.integers(1, 1000), st.integers(1, 9))
def test_parts_cover_the_time_without_overlap(start: int, length: int, count: int) -> None:
    parts = cut(start, start + length, count)
    assert parts[0].start == start
    assert parts[-1].end == start + length
    assert all(before.end == after.start for before, after in pairwise(parts))
    assert len(parts) == min(count, length)


def test_messages_are_rows_with_their_time() -> None:
    (found,) = messages_in([Message(1_500, 7, 1, b"a"), Message(2_500, 7, 2, b"")])
    assert found.column("time_ns").to_pylist() == [1_500, 2_500]
    assert found.column("time").cast(pa.int64()).to_pylist() == [1, 2]
    assert found.column("payload").to_pylist() == [b"a", b""]
    assert list(messages_in([])) == []


@pytest.mark.parametrize("partitions", [1, 2, 3, 50])
def test_every_item_is_in_one_part(store: Store, partitions: int) -> None:
    rng = random.Random(partitions)
    sizes = [rng.randint(1, 30) for _ in range(12)]
    firsts = [1 + sum(sizes[:number]) for number in range(12)]
    archived(store, *(items(first, size) for first, size in zip(firsts, sizes, strict=True)))
    options = ReadOptions(ITEMS.topic, ITEMS.brokers, "fleet", items=True, partitions=partitions)
    assert read(options) == list(range(1, sum(sizes) + 1))
    assert len(plan(options)) <= min(partitions, 12)


def test_groups_of_bundles_have_about_as_many_items() -> None:
    store: Any = Store()
    archived(store, *(items(1 + 10 * number, 10) for number in range(8)))
    entries = [one.entry for one in Archive(store, "fleet", 0).entries(1, store.clock + 1)]
    assert [sum(e.items for e in group) for group in shares(entries, 4)] == [20, 20, 20, 20]
    assert shares([], 4) == []


def test_a_range_of_time_is_when_bundles_came_into_the_archive(store: Store) -> None:
    archived(store, items(1, 5), items(6, 5))
    middle = store.clock + 1
    archived(store, items(11, 5))
    since = ReadOptions(ITEMS.topic, ITEMS.brokers, "fleet", items=True, start=middle)
    until = ReadOptions(ITEMS.topic, ITEMS.brokers, "fleet", items=True, end=middle)
    assert read(since) == list(range(11, 16))
    assert read(until) == list(range(1, 11))


@pytest.mark.parametrize(
    ("wanted", "found", "bundles"),
    [
        (ALL, 40, 4),
        (Selection(slices=frozenset({2})), 10, 1),
        (Selection(slices=frozenset({2, 3})), 20, 2),
        (Selection(senders=frozenset({"s1"})), 10, 1),
        (Selection(oldest=1_005, newest=2_004), 10, 2),
        (Selection(oldest=3_000), 10, 1),
        (Selection(slices=frozenset({1}), oldest=3_000), 0, 0),
        (Selection(newest=-1), 0, 0),
    ],
)
def test_only_bundles_that_may_have_what_is_wanted_are_read(
    store: Store, wanted: Selection, found: int, bundles: int
) -> None:
    made = [items(1 + 10 * n, 10, n, time=1_000 * n, sender=f"s{n}") for n in range(4)]
    archived(store, *made)
    store.reads.clear()
    assert len(read(ITEMS, wanted)) == found
    assert store.reads[PIECES] == bundles


def test_messages_of_other_times_are_not_read(store: Store) -> None:
    store.publish_all("meters", [b"%d" % number for number in range(100)])
    options = ReadOptions("meters", ITEMS.brokers, "meters", partitions=1)
    middle = store.stored["meters"][50].time // 1_000
    store.reads.clear()
    for wanted, count in ((Selection(oldest=middle), 50), (Selection(newest=middle), 51)):
        (part,) = plan(options, wanted)
        store.reads.clear()
        assert sum(batch.num_rows for batch in read_part(options, part)) == count
        assert store.reads["meters"] == count
    assert plan(options, Selection(newest=1)) == []
    assert all(isinstance(part, Part) for part in plan(options))


def test_what_has_expired_is_left_out_of_a_table_and_fails_a_stream(store: Store) -> None:
    archived(store, items(1, 5), items(6, 5))
    parts = plan(ITEMS)
    store.stored[PIECES].pop(0)
    assert read(ITEMS) == list(range(6, 11))
    (both,) = [
        Bundles(sum((part.entries for part in parts if isinstance(part, Bundles)), ()), ALL, True)
    ]
    with pytest.raises(ReadFailed, match="5 items have expired"):
        list(read_part(ITEMS, both))


@pytest.mark.parametrize(
    ("made", "options", "said"),
    [
        ("", ITEMS, "does 'evenflow archive' run"),
        ("fleet", ITEMS, "has messages, not items"),
        ("", ReadOptions("fleet", (), "fleet"), "nothing was ever published"),
        (PIECES, ReadOptions("fleet", (), "fleet"), r'add .option\("rows", "items"\)'),
    ],
)
def test_an_unknown_topic_is_an_error_that_says_what_there_is(
    store: Store, made: str, options: ReadOptions, said: str
) -> None:
    if made:
        store.ensure(made)
    with pytest.raises(UnknownTopic, match=said):
        plan(options)


NOON = datetime(2026, 1, 31, 12, tzinfo=UTC)
AT = 1_769_860_800_000_000


@pytest.mark.parametrize(
    ("filters", "expected"),
    [
        ([], ALL),
        ([EqualTo(("slice",), 3)], Selection(slices=frozenset({3}))),
        ([In(("slice",), (1, 2)), EqualTo(("slice",), 2)], Selection(slices=frozenset({2}))),
        ([EqualTo(("sender",), "a")], Selection(senders=frozenset({"a"}))),
        ([In(("sender",), ("a", "b"))], Selection(senders=frozenset({"a", "b"}))),
        ([GreaterThan(("time",), NOON)], Selection(oldest=AT)),
        ([GreaterThanOrEqual(("time",), NOON)], Selection(oldest=AT)),
        ([LessThan(("time",), NOON)], Selection(newest=AT)),
        ([LessThanOrEqual(("time",), NOON)], Selection(newest=AT)),
        ([EqualTo(("time",), NOON)], Selection(oldest=AT, newest=AT)),
        # What cannot be used leaves everything.
        ([Not(EqualTo(("slice",), 3)), IsNotNull(("sender",))], ALL),
        ([GreaterThan(("slice",), 3), EqualTo(("id",), 3), EqualTo(("a", "slice"), 3)], ALL),
        ([EqualTo(("sender",), None), EqualTo(("time",), 5), In(("slice",), (1, None))], ALL),
    ],
)
def test_filters_are_a_selection(filters: list[Filter], expected: Selection) -> None:
    assert selection_of(filters) == expected
