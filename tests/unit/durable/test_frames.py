"""Bundles survive their way through the store, and nothing else is taken for one."""

from __future__ import annotations

import random

import pyarrow as pa
import pytest

from evenflow.durable.frames import Assembly, decode_piece, encode_bundle
from evenflow.errors import DecodeError
from evenflow.model.ids import Position
from evenflow.slices.consumer.arrow_batches import SCHEMA
from evenflow.slices.consumer.row_numbers import NUMBERED, Span, join_spans, numbered


def rows(count: int, payload: bytes = b"x") -> pa.RecordBatch:
    """Rows of slice 3 as a node gives them."""
    return pa.RecordBatch.from_pydict(
        {
            "slice": [3] * count,
            "sender": [f"s{number}" for number in range(count)],
            "id": list(range(count)),
            "time": [1_000_000 + number for number in range(count)],
            "payload": [payload] * count,
        },
        schema=SCHEMA,
    )


def bundle(count: int, first: int = 1, payload: bytes = b"x") -> pa.RecordBatch:
    return numbered(rows(count, payload), join_spans([Span(3, 7, first, first + count - 1)]))


@pytest.mark.parametrize("piece", [50, 1 << 20])
def test_a_bundle_comes_back_in_one_piece_or_many(piece: int) -> None:
    messages = encode_bundle([bundle(10), bundle(5, 11)], Position({7: 9}), "a", piece)
    assert (len(messages) > 1) is (piece == 50)
    assembly = Assembly()
    *others, found = [assembly.add(message) for message in messages]
    assert others == [None] * len(others)
    assert found is not None
    assert found.end == {7: 9}
    assert found.rows.schema == NUMBERED
    assert found.rows.column("number").to_pylist() == list(range(1, 16))


def test_a_bundle_without_rows_still_tells_its_end() -> None:
    (message,) = encode_bundle([], Position({7: 3}), "a")
    found = Assembly().add(message)
    assert found is not None
    assert (found.rows.num_rows, found.end) == (0, {7: 3})


def test_a_bundle_that_was_broken_off_counts_for_nothing() -> None:
    broken = encode_bundle([bundle(100)], Position({7: 1}), "a", 200)[:-1]
    whole = encode_bundle([bundle(100)], Position({7: 1}), "b", 200)
    assembly = Assembly()
    found = [assembly.add(message) for message in [*broken, *whole]]
    assert next(one for one in found if one is not None).rows.num_rows == 100
    assert sum(one is not None for one in found) == 1
    late = Assembly()
    assert all(late.add(message) is None for message in whole[1:])


def test_what_is_no_piece_is_refused_without_harm() -> None:
    (good,) = encode_bundle([bundle(3)], Position({7: 1}), "a")
    rng, refused = random.Random(1), 0
    for _ in range(3000):
        bad = bytearray(good)
        for _ in range(rng.randint(1, 4)):
            bad[rng.randrange(len(bad))] = rng.randrange(256)
        del bad[rng.randrange(1, len(bad)) :]
        try:
            Assembly().add(bytes(bad))
        except DecodeError:
            refused += 1
    assert refused > 2000
    for message in (b"", b"EVA1", b"EVA1\xff\xff\xff\xff{}", good[:3] + b"2" + good[4:]):
        with pytest.raises(DecodeError):
            decode_piece(message)
