from __future__ import annotations

import struct
from itertools import groupby

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from evenflow.errors import DecodeError
from evenflow.model.batch import Item
from evenflow.model.sample import Sample
from evenflow.slices.consumer.arrow_batches import SCHEMA
from evenflow.slices.consumer.pieces import pieces_of
from evenflow.slices.consumer.row_numbers import (
    NUMBERED,
    Reached,
    Span,
    decode_spans,
    join_spans,
    numbered,
    spans_of,
)
from evenflow.testing.samples import encode_items

SPANS = st.lists(
    st.builds(
        lambda slice_id, writer, first, rows: Span(slice_id, writer, first, first + rows - 1),
        st.integers(0, (1 << 32) - 1),
        st.integers(0, (1 << 64) - 1),
        st.integers(1, 1 << 62),
        st.integers(1, 100),
    ),
    max_size=20,
)


def rows_of(spans: list[Span]) -> int:
    return sum(span.last - span.first + 1 for span in spans)


def rows(count: int) -> pa.RecordBatch:
    columns = {"slice": [3], "sender": ["s"], "id": [0], "time": [0], "payload": [b""]}
    return pa.RecordBatch.from_pydict({k: v * count for k, v in columns.items()}, schema=SCHEMA)


@given(SPANS)
def test_they_come_back_as_they_were(spans: list[Span]) -> None:
    joined = join_spans(spans)
    assert joined.single() == spans
    assert decode_spans(joined.encode(), rows_of(spans)).single() == spans


@given(
    st.lists(
        st.tuples(st.integers(1, 2), st.dictionaries(st.integers(0, 12), st.integers(1, 3))),
        max_size=12,
    )
)
def test_consecutive_runs_become_one_span(samples: list[tuple[int, dict[int, int]]]) -> None:
    numbers: dict[tuple[int, int], int] = {}
    batches = []
    for serial, (writer, counts) in enumerate(samples):
        runs = {}
        for slice_id, count in counts.items():
            first = numbers.get((writer, slice_id), 0) + 1
            numbers[writer, slice_id] = first + count - 1
            runs[slice_id] = first, [Item("s", n, 0, b"") for n in range(count)]
        if runs:
            batches += Sample(encode_items(writer, serial, 1, runs)).batches()
    expected: list[Span] = []
    for one in batches:
        before = expected[-1] if expected else None
        if before and before[:2] == (one.slice, one.writer) and before.last + 1 == one.first:
            expected[-1] = before._replace(last=one.last)
        else:
            expected.append(Span(one.slice, one.writer, one.first, one.last))
    if not batches:
        return
    spans = spans_of(list(pieces_of(batches)))
    assert spans.single() == expected
    assert spans.writers.tolist() == [writer for writer, _ in groupby(s.writer for s in expected)]
    assert decode_spans(spans.encode(), rows_of(expected)).single() == expected
    reached = Reached(range(13), (1, 2))
    reached.add(spans)
    assert reached.after(range(13)) == {(s, w): last for (w, s), last in numbers.items()}


def test_another_writer_begins_another_span_though_its_numbers_go_on() -> None:
    batches = []
    for serial, (writer, first) in enumerate([(7, 1), (7, 3), (8, 5), (8, 7), (7, 9)]):
        runs = {1: (first, [Item("s", n, 0, b"") for n in range(2)])}
        batches += Sample(encode_items(writer, serial, 1, runs)).batches()
    spans = spans_of(list(pieces_of(batches)))
    assert spans.single() == [Span(1, 7, 1, 4), Span(1, 8, 5, 8), Span(1, 7, 9, 10)]


def encoded(
    writers: tuple[int, ...] = (7,),
    firsts: tuple[int, ...] = (1, 5),
    lengths: tuple[int, ...] = (2,),
    slices: tuple[int, ...] = (3, 4),
    counts: tuple[int, ...] = (2, 3),
    head: tuple[bytes, int, int, int] = (b"EFS1", 1, 2, 0),
) -> bytes:
    columns = struct.pack(f"<{len(writers) + len(firsts)}Q", *writers, *firsts)
    rest = (*lengths, *slices, *counts)
    return struct.pack("<4sIII", *head) + columns + struct.pack(f"<{len(rest)}I", *rest)


def test_the_example_is_sound() -> None:
    assert decode_spans(encoded(), 5).single() == [Span(3, 7, 1, 2), Span(4, 7, 5, 7)]


@pytest.mark.parametrize(
    "damaged",
    [
        b"",
        b"[]",
        encoded()[:-1],
        encoded() + b"\0",
        encoded(head=(b"EFS2", 1, 2, 0)),
        encoded(head=(b"EFS1", 1, 2, 1)),
        encoded(head=(b"EFS1", 1, (1 << 32) - 1, 0)),
        encoded(head=(b"EFS1", (1 << 32) - 1, 2, 0)),
        encoded(counts=(2, 4)),
        encoded(counts=(5, 0)),
        encoded(counts=((1 << 32) - 1, 6)),
        encoded(lengths=(1,)),
        encoded(lengths=(3,)),
        encoded(writers=(7, 8), lengths=(2, 0), head=(b"EFS1", 2, 2, 0)),
        encoded(firsts=(0, 5)),
        encoded(firsts=(1, (1 << 63) - 5)),
        encoded(firsts=(1, (1 << 64) - 1)),
    ],
)
def test_what_are_no_spans_of_five_rows_is_refused(damaged: bytes) -> None:
    with pytest.raises(DecodeError):
        decode_spans(damaged, 5)


@given(st.binary(max_size=80), st.integers(0, 5))
def test_any_bytes_are_refused_in_words(encoded: bytes, count: int) -> None:
    with pytest.raises(DecodeError):
        decode_spans(encoded, count)


def test_rows_get_their_numbers() -> None:
    found = numbered(rows(5), join_spans([Span(3, 7, 4, 6), Span(3, 2**64 - 1, 1, 2)]))
    assert found.schema == NUMBERED
    assert found.column("number").to_pylist() == [4, 5, 6, 1, 2]
    assert found.column("writer").to_pylist() == [7] * 3 + [2**64 - 1] * 2
    with pytest.raises(DecodeError, match="5 rows with 4 numbers"):
        numbered(rows(5), join_spans([Span(3, 7, 1, 4)]))
    assert numbered(rows(0), join_spans([])).num_rows == 0


@given(SPANS)
def test_every_row_has_its_number(spans: list[Span]) -> None:
    found = numbered(rows(rows_of(spans)), join_spans(spans))
    expected = [n for span in spans for n in range(span.first, span.last + 1)]
    assert found.column("number").to_pylist() == expected


class TestReached:
    def test_is_the_newest_number_of_each_slice_and_writer(self) -> None:
        reached = Reached((5, 2, 9), (7, 8))
        assert reached.after((2, 5, 9)) == {}
        reached.add(join_spans([Span(2, 7, 1, 4), Span(5, 7, 1, 1), Span(2, 7, 6, 9)]))
        reached.add(join_spans([Span(2, 8, 10, 10), Span(5, 7, 2, 3)]))
        reached.add(join_spans([]))
        assert reached.after((2, 5, 9)) == {(2, 7): 9, (2, 8): 10, (5, 7): 3}
        assert reached.after((5,)) == {(5, 7): 3}

    @pytest.mark.parametrize("span", [Span(3, 7, 1, 1), Span(10, 7, 1, 1), Span(2, 9, 1, 1)])
    def test_what_was_not_asked_for_is_refused(self, span: Span) -> None:
        with pytest.raises(DecodeError, match="not asked for"):
            Reached((5, 2, 9), (7, 8)).add(join_spans([span]))

    def test_who_asks_for_nothing_gets_nothing(self) -> None:
        reached = Reached((), ())
        reached.add(join_spans([]))
        with pytest.raises(DecodeError):
            reached.add(join_spans([Span(2, 7, 1, 4)]))
        assert reached.after(()) == {}
