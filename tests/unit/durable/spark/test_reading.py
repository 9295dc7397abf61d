"""Tasks that read parts of an archive get every item once, together."""

from __future__ import annotations

import random
from itertools import pairwise

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.unit.durable.test_merging import rows

from evenflow.durable.frames import encode_bundle
from evenflow.durable.spark.reading import AROUND_NS, Part, cut, items_in, messages_in
from evenflow.model.ids import Position
from evenflow.overlay.protocol.messages import Message


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


@given(seed=st.integers(0, 2**32 - 1), parts=st.integers(1, 5))
def test_every_item_of_an_archive_is_in_one_part(seed: int, parts: int) -> None:
    """Bundles of many pieces, some broken off, some repeated, cut anywhere."""
    rng = random.Random(seed)
    time, number, messages = 5 * AROUND_NS, 1, []
    begin = time
    for epoch in range(1, rng.randint(2, 8)):
        count = rng.randint(1, 40)
        items = [(0, 5, n) for n in range(number, number + count)]
        number += count
        table, end = [rows(items)], Position({5: epoch})
        pieces = encode_bundle(table, end, f"{epoch} broken", rng.choice([100, 1 << 20]))
        broken = pieces[: rng.randrange(len(pieces))] if rng.random() < 0.3 else []
        again = encode_bundle(table, end, f"{epoch} again", 100) if rng.random() < 0.3 else []
        for piece in [*broken, *encode_bundle(table, end, f"{epoch} whole", 150), *again]:
            time += rng.randint(1, 10**9)
            messages.append(Message(time, 1, len(messages) + 1, piece))
    found = []
    for part in cut(begin, time + 1, parts):
        near = [m for m in messages if part.start - AROUND_NS <= m.time < part.end + AROUND_NS]
        for batch in items_in(near, part):
            assert set(batch.column("writer").to_pylist()) == {f"{5:016x}"}
            found += batch.column("number").to_pylist()
    assert found == list(range(1, number))


def test_what_others_write_into_an_archive_is_left_out() -> None:
    (piece,) = encode_bundle([rows([(0, 5, 1)])], Position({5: 1}), "a")
    messages = [Message(10, 1, 1, b"hello"), Message(11, 1, 2, piece)]
    (found,) = items_in(messages, Part(1, 20))
    assert found.num_rows == 1
    assert list(items_in(messages, Part(1, 11))) == []
    with pytest.raises(StopIteration):
        next(items_in([], Part(1, 2)))
