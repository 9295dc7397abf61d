"""What a task reads of each slice."""

from __future__ import annotations

from collections import Counter

import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from evenflow.slices.consumer.arrow_batches import SCHEMA
from evenflow.spark.metering import Meter, metered

ROWS = st.lists(st.tuples(st.integers(0, 300), st.binary(max_size=20)), max_size=30)


def record(rows: list[tuple[int, bytes]]) -> pa.RecordBatch:
    columns = [
        pa.array([slice_id for slice_id, _ in rows], pa.int32()),
        pa.array([""] * len(rows), pa.string()),
        pa.array([0] * len(rows), pa.int64()),
        pa.array([0] * len(rows), SCHEMA.field("time").type),
        pa.array([payload for _, payload in rows], pa.binary()),
    ]
    return pa.RecordBatch.from_arrays(columns, schema=SCHEMA)


@given(st.lists(ROWS, max_size=5))
def test_items_and_bytes_are_counted_by_slice(batches: list[list[tuple[int, bytes]]]) -> None:
    meter = Meter()
    items: Counter[int] = Counter()
    octets: Counter[int] = Counter()
    for rows in batches:
        meter.count(record(rows))
        for slice_id, payload in rows:
            items[slice_id] += 1
            octets[slice_id] += len(payload)
    assert meter.reads() == {slice_id: (items[slice_id], octets[slice_id]) for slice_id in items}


def test_outside_of_a_task_batches_pass_and_nothing_is_told() -> None:
    batches = [record([(1, b"a")]), record([(2, b"bc")])]
    told: list[object] = []
    assert list(metered(iter(batches), "items", "spark", lambda: 0, told.append)) == batches
    assert told == []
