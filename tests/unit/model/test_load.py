"""What a slice asks of its node, from what arrives and what was done."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evenflow.model.load import LoadWeights, SliceLoad, offered

RATES = st.floats(min_value=0.001, max_value=1e6)
DONE = st.builds(SliceLoad, RATES, st.floats(0, 1e9), st.floats(0, 1.0))


@given(DONE)
def test_a_node_that_keeps_up_is_asked_what_it_does(done: SliceLoad) -> None:
    asked = offered(done, done.items)
    assert (asked.items, asked.octets, asked.busy) == pytest.approx(
        (done.items, done.octets, done.busy)
    )


@given(DONE, RATES)
def test_what_arrives_costs_as_much_as_what_was_done(done: SliceLoad, arrived: float) -> None:
    asked = offered(done, arrived)
    assert asked.items == arrived
    assert asked.octets * done.items == pytest.approx(done.octets * arrived)
    assert asked.busy * done.items == pytest.approx(done.busy * arrived)


@given(DONE, RATES, RATES)
def test_more_arriving_is_never_less_load(done: SliceLoad, one: float, other: float) -> None:
    weigh = LoadWeights(1.0, 0.001, 10.0).weigh
    low, high = sorted((one, other))
    assert weigh(offered(done, low)) <= weigh(offered(done, high))


@given(DONE, RATES)
def test_a_node_that_does_nothing_is_asked_what_the_slice_used_to_cost(
    usual: SliceLoad, arrived: float
) -> None:
    assert offered(SliceLoad(0.0), arrived, usual) == offered(usual, arrived)


def test_without_any_knowledge_items_are_all_there_is() -> None:
    assert offered(SliceLoad(0.0), 7.0) == SliceLoad(7.0)
    assert offered(SliceLoad(0.0), 7.0, SliceLoad(0.0)) == SliceLoad(7.0)
