"""What a reader wants of the items of a range: the same items as a look at each would find."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from evenflow.model.batch import Batch, Item
from evenflow.model.sample import Sample
from evenflow.model.selection import ALL, Selection
from evenflow.slices.consumer.arrow_batches import record_batches
from evenflow.slices.consumer.row_numbers import decode_spans, numbered, spans_of
from evenflow.slices.node.serving.choosing import chosen
from evenflow.testing.samples import encode_items

NAMES = st.sampled_from(["", "a", "b", "aa", "ab", "größe"])
TIMES = st.integers(0, 9)
ITEMS = st.lists(st.builds(Item, NAMES, st.just(1), TIMES, st.just(b"x"), st.just({})), min_size=1)
SAMPLES = st.lists(st.dictionaries(st.integers(0, 3), ITEMS, min_size=1), min_size=1, max_size=3)
WANTED = st.builds(
    Selection,
    st.none(),
    st.none() | st.frozensets(NAMES, max_size=3),
    st.none() | TIMES,
    st.none() | TIMES,
)
Name = tuple[int, int, Item]


def named(batches: list[Batch]) -> list[Name]:
    """The items with their slices and numbers."""
    return [(b.slice, b.first + row, item) for b in batches for row, item in enumerate(b)]


def fits(wanted: Selection, item: Item) -> bool:
    return (
        (wanted.senders is None or item.sender in wanted.senders)
        and (wanted.oldest is None or item.time >= wanted.oldest)
        and (wanted.newest is None or item.time <= wanted.newest)
    )


@given(SAMPLES, WANTED)
def test_exactly_the_items_that_are_wanted(
    samples: list[dict[int, list[Item]]], wanted: Selection
) -> None:
    batches = [
        batch
        for serial, runs in enumerate(samples)
        for batch in Sample(
            encode_items(7, serial, 1, {s: (1 + 100 * serial, run) for s, run in runs.items()})
        ).batches()
    ]
    left = chosen(batches, wanted)
    assert named(left) == [one for one in named(batches) if fits(wanted, one[2])]
    found = []
    for record, pieces in record_batches(left):
        spans = decode_spans(spans_of(pieces).encode(), record.num_rows)
        rows = numbered(record, spans)
        found += zip(rows["slice"].to_pylist(), rows["number"].to_pylist(), strict=True)
    assert found == [one[:2] for one in named(left)]


def test_all_is_everything_as_it_is() -> None:
    batches = Sample(encode_items(7, 1, 1, {0: (1, [Item("a", 1, 1, b"")])})).batches()
    assert chosen(batches, ALL) is batches
    assert chosen(batches, Selection(slices=frozenset({9}))) is batches  # asked for as slices
    assert chosen(batches, Selection(senders=frozenset())) == []
    assert batches[0].are_of([]).tolist() == np.zeros(1, np.bool_).tolist()
