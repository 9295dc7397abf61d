from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evenflow.model.batch import Batch, Item
from evenflow.model.encoding import ITEM_BYTES
from evenflow.model.sample import Sample
from evenflow.slices.consumer.arrow_batches import (
    ALONE_OCTETS,
    FEW,
    HEADED,
    LONG,
    MOST_OCTETS,
    SCHEMA,
    record_batch,
    record_batches,
)
from evenflow.slices.consumer.header_column import header_maps
from evenflow.slices.consumer.pieces import pieces_of
from evenflow.testing.samples import encode_items

ITEMS = st.builds(
    Item,
    st.text(max_size=5),
    st.integers(-(1 << 63), (1 << 63) - 1),
    st.integers(-(1 << 55), 1 << 55),
    st.binary(max_size=9),
    st.just({}) | st.dictionaries(st.text(min_size=1, max_size=3), st.binary(max_size=3)),
)
RUNS = st.dictionaries(
    st.integers(0, 99), st.tuples(st.integers(1, 1 << 40), st.lists(ITEMS, min_size=1, max_size=5))
)
WANTED = st.sampled_from(["all", "none", "half", "part"])


def batch(slice_id: int, items: list[Item], first: int = 1, serial: int = 1) -> Batch:
    [found] = Sample(encode_items(7, serial, 1, {slice_id: (first, items)})).batches()
    return found


def rows(batches: list[Batch]) -> list[tuple[int, Item]]:
    return [(one.slice, item) for one in batches for item in one]


def check(batches: list[Batch]) -> None:
    """Every item is a row, in the order of the batches."""
    record = record_batch(batches, headed=True)
    record.validate(full=True)
    assert record.schema == HEADED
    assert record_batch(batches).equals(record.select(SCHEMA.names))
    time = record.column("time").cast("int64").to_pylist()
    columns = [record.column(name).to_pylist() for name in ("slice", "sender", "id", "payload")]
    slices, senders, ids, payloads = columns
    headers = header_maps(record)
    assert headers is not None
    found = [
        (slice_id, Item(*item))
        for slice_id, *item in zip(slices, senders, ids, time, payloads, headers, strict=True)
    ]
    assert found == rows(batches)


@given(st.lists(RUNS.filter(bool), min_size=1, max_size=4), st.data())
def test_every_item_is_a_row_whatever_is_wanted_of_its_sample(
    samples: list[dict[int, tuple[int, list[Item]]]], data: st.DataObject
) -> None:
    wanted = []
    for serial, runs in enumerate(samples):
        for one in Sample(encode_items(7, serial, 1, runs)).batches():
            match data.draw(WANTED):
                case "all":
                    wanted.append(one)
                case "part":
                    first = data.draw(st.integers(one.first, one.last))
                    wanted.append(one.between(first, data.draw(st.integers(first, one.last))))
                case "half" if one.count > 1:  # two parts of one run
                    wanted.append(one.between(one.first, one.first))
                    wanted.append(one.between(one.first + 1, one.last))
    if wanted:
        check(wanted)


@pytest.mark.parametrize("per_run", [1, FEW - 1, FEW, LONG - 1, LONG, LONG + 1])
@pytest.mark.parametrize("step", [1, 2, 3])
def test_stretches_of_any_length_are_taken(per_run: int, step: int) -> None:
    items = [Item(f"s{i}", i, -i, b"p" * (i % 7)) for i in range(per_run)]
    samples = [
        Sample(encode_items(7, n, 1, dict.fromkeys(range(30), (1 + per_run * n, items))))
        for n in range(3)
    ]
    check([one for sample in samples for one in sample.batches()[::step]])


@given(st.lists(st.integers(1, 40), min_size=1, max_size=6))
def test_small_and_large_samples_go_together(counts: list[int]) -> None:
    check([
        batch(count, [Item(f"s{i}", i, -i, b"p" * i) for i in range(count)]) for count in counts
    ])  # fmt: skip


def test_a_part_of_a_batch_gives_its_rows_alone() -> None:
    whole = batch(3, [Item(f"s{i}", i, i, bytes([i])) for i in range(1, 6)])
    record = record_batch([whole.between(2, 4)])
    assert record.column("id").to_pylist() == [2, 3, 4]
    assert record.column("sender").to_pylist() == ["s2", "s3", "s4"]
    assert record.column("payload").to_pylist() == [b"\2", b"\3", b"\4"]


def test_a_whole_sample_is_not_copied() -> None:
    items = [Item("s", i, i, b"x" * 10) for i in range(100)]
    sample = Sample(encode_items(7, 1, 1, dict.fromkeys(range(20), (1, items))))
    [(record, [piece])] = record_batches(sample.batches())
    assert piece.is_whole
    ours = sample.rows.payload_buffer.__array_interface__["data"][0]
    assert record.column("payload").buffers()[2].address == ours


def test_small_batches_are_joined_up_to_a_bound() -> None:
    batches = [batch(i, [Item("s", i, 0, b"x")] * 3, serial=i) for i in range(5)]
    joined = list(record_batches(batches, rows=7))
    assert [record.num_rows for record, _ in joined] == [6, 6, 3]
    assert [[run.slice for part in parts for run in part.runs] for _, parts in joined] == [
        [0, 1], [2, 3], [4],
    ]  # fmt: skip
    assert list(record_batches([])) == []


def test_the_bytes_that_are_wanted_count_not_those_of_their_samples() -> None:
    part = ALONE_OCTETS // 2
    fit = MOST_OCTETS // part
    runs = {n: (1, [Item("s", n, 0, bytes(part - 100))]) for n in range(3)}
    samples = [Sample(encode_items(7, serial, 1, runs)) for serial in range(fit + 2)]
    [piece] = pieces_of(samples[0].batches()[1:2])
    assert piece.octets == part - 100 + len("s") + ITEM_BYTES
    wanted = [sample.batches()[1] for sample in samples]
    assert [record.num_rows for record, _ in record_batches(wanted)] == [fit, 2]
    everything = [one for sample in samples for one in sample.batches()]
    assert [record.num_rows for record, _ in record_batches(everything)] == [3] * (fit + 2)


def test_a_large_sample_is_not_joined_with_its_neighbours() -> None:
    sizes = [10, 10, ALONE_OCTETS, 10, 10]
    batches = [batch(0, [Item("s", n, 0, bytes(size))]) for n, size in enumerate(sizes)]
    joined = [record for record, _ in record_batches(batches)]
    assert [record.column("id").to_pylist() for record in joined] == [[0, 1], [2], [3, 4]]
