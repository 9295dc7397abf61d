"""What publishers tell of their epochs bounds what lies between two positions."""

from __future__ import annotations

from math import inf

from hypothesis import given
from hypothesis import strategies as st

from evenflow.model.ids import Position
from evenflow.model.messages import EpochClose
from evenflow.slices.consumer.epoch_items import EpochItems


@given(
    st.lists(st.integers(1, 9), min_size=2, max_size=20),
    st.sets(st.integers(1, 20)),
    st.data(),
)
def test_bounds_hold_whatever_was_heard(
    epochs: list[int], heard: set[int], data: st.DataObject
) -> None:
    items = EpochItems()
    for epoch in sorted(heard):
        if epoch <= len(epochs):
            close = EpochClose(7, "items", epoch, 4, (), (), False, 0, sum(epochs[:epoch]))
            items.on_close(close, 0.0)
    start = data.draw(st.integers(0, len(epochs)))
    end = data.draw(st.integers(start, len(epochs)))
    at, to = Position({7: start}), Position({7: end})
    assert items.at_most(at, to) >= sum(epochs[start:end])
    limit = data.draw(st.integers(1, 40))
    enough = items.enough(at, to, limit)[7]
    assert start <= enough <= end
    assert enough == end or sum(epochs[start:enough]) > limit


def test_what_was_heard_of_both_ends_is_exact() -> None:
    items = EpochItems()
    assert items.at_most(Position({7: 3}), Position({7: 5})) == inf
    for epoch, count in ((3, 30), (4, 35), (5, 90)):
        items.on_close(EpochClose(7, "items", epoch, 4, (), (), False, 0, count), 0.0)
    assert items.at_most(Position({7: 3}), Position({7: 5})) == 60
    assert items.at_most(Position({7: 5}), Position({7: 5})) == 0
    assert items.enough(Position({7: 3}), Position({7: 5}), 4) == {7: 4}


def test_an_epoch_waits_since_it_was_first_heard_of() -> None:
    items = EpochItems()
    for epoch, now in ((3, 1.0), (4, 2.0), (4, 3.0), (5, 4.0)):
        items.on_close(EpochClose(7, "items", epoch, 4, (), (), False, 3), now)
    assert items.waiting_since(Position({7: 3}), [7]) == 2.0
    assert items.waiting_since(Position(), [7]) == 2.0, "what was committed does not wait"
    assert items.waiting_since(Position({7: 4}), [7]) == 4.0
    assert items.waiting_since(Position({7: 5}), [7]) == inf
    items.settle(Position({7: 5}))
    assert items.waiting_since(Position(), [7]) == 4.0
