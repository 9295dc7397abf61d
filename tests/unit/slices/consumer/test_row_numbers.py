from __future__ import annotations

import pyarrow as pa
import pytest

from evenflow.errors import DecodeError
from evenflow.slices.consumer.arrow_batches import SCHEMA
from evenflow.slices.consumer.row_numbers import (
    NUMBERED,
    Span,
    decode_spans,
    encode_spans,
    numbered,
    reached,
    spans_of,
)


class Part:
    """As much of a batch as spans are made of."""

    def __init__(self, slice_id: int, writer: int, first: int, last: int) -> None:
        self.slice, self.writer, self.first, self.last = slice_id, writer, first, last


def test_consecutive_batches_become_one_run_and_holes_part_them() -> None:
    parts = [Part(1, 7, 1, 3), Part(1, 7, 4, 4), Part(1, 7, 6, 9), Part(1, 8, 10, 10)]
    spans = spans_of(parts)  # type: ignore[arg-type]
    assert spans == [Span(1, 7, 1, 4), Span(1, 7, 6, 9), Span(1, 8, 10, 10)]
    assert [span.rows for span in spans] == [4, 4, 1]
    assert reached(spans) == {(1, 7): 9, (1, 8): 10}
    assert decode_spans(encode_spans(spans)) == spans


@pytest.mark.parametrize(
    "encoded",
    [b"", b"{}", b"[1]", b"[[1,2,3]]", b'[[1,"00","2",3]]', b'[[1,"0000000000000001",2,3]]',
     b'[[-1,"0000000000000001",3,2]]', b"[" * 100_000],
)  # fmt: skip
def test_what_are_no_runs_is_refused(encoded: bytes) -> None:
    with pytest.raises(DecodeError):
        decode_spans(encoded)


def test_rows_get_their_numbers() -> None:
    rows = pa.RecordBatch.from_pydict(
        {
            "slice": [3] * 5,
            "sender": ["s"] * 5,
            "id": range(5),
            "time": [0] * 5,
            "payload": [b""] * 5,
        },
        schema=SCHEMA,
    )
    found = numbered(rows, [Span(3, 7, 4, 6), Span(3, 2**64 - 1, 1, 2)])
    assert found.schema == NUMBERED
    assert found.column("number").to_pylist() == [4, 5, 6, 1, 2]
    assert found.column("writer").to_pylist() == [7] * 3 + [2**64 - 1] * 2
    with pytest.raises(DecodeError, match="5 rows with 4 numbers"):
        numbered(rows, [Span(3, 7, 1, 4)])
    assert numbered(rows.slice(0, 0), []).num_rows == 0
