"""What arrives is counted however little of it is processed, and nothing else is."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evenflow.model.messages import SliceState
from evenflow.slices.node.arrivals import Arrivals
from evenflow.slices.node.cache import HeldSlice
from evenflow.testing.cluster import SimCluster


def held_slice(term: int = 1, **last: int) -> HeldSlice:
    """Slice 3 with known writers ``w1``, ``w2`` and so on."""
    held = HeldSlice(3, SliceState.AVAILABLE, term)
    for name, number in last.items():
        track = held.track(int(name[1:]))
        track.known, track.last = True, number
    return held


def test_growth_counts_and_what_was_there_before_does_not() -> None:
    arrivals = Arrivals()
    held = held_slice(w1=1_000)
    assert arrivals.look([held]) == [0]
    held.track(1).last = 1_050
    held.track(2).last = 70
    held.track(2).known = True
    assert arrivals.look([held]) == [50]
    held.track(2).last = 75
    assert arrivals.look([held]) == [55]


def test_a_position_that_is_not_known_yet_does_not_count() -> None:
    arrivals = Arrivals()
    held = held_slice(w1=10)
    held.track(1).known = False
    arrivals.look([held])
    held.track(1).last = 900
    assert arrivals.look([held]) == [0]
    held.track(1).known = True
    assert arrivals.look([held]) == [0]
    held.track(1).last = 901
    assert arrivals.look([held]) == [1]


def test_a_new_term_and_a_new_holding_begin_anew() -> None:
    arrivals = Arrivals()
    held = held_slice(w1=0)
    arrivals.look([held])
    held.track(1).last = 10
    assert arrivals.look([held]) == [10]
    assert arrivals.look([held_slice(2, w1=50)]) == [0]
    assert arrivals.look([]) == []
    assert arrivals.look([held_slice(2, w1=60)]) == [0]


@given(
    st.lists(
        st.tuples(st.integers(1, 3), st.integers(0, 20), st.integers(0, 20), st.booleans()),
        max_size=40,
    )
)
def test_it_is_what_is_processed_and_what_waits(
    steps: list[tuple[int, int, int, bool]],
) -> None:
    arrivals = Arrivals()
    held = held_slice(w1=0, w2=0, w3=0)
    arrivals.look([held])
    processed = 0
    for writer, come, done, look in steps:
        track = held.track(writer)
        track.last += come
        step = min(done, track.last - track.done)
        track.done += step
        processed += step
        if look:
            waiting = sum(t.last - t.done for t in held.tracks.values())
            assert arrivals.look([held]) == [processed + waiting]


def test_the_balancer_sees_what_arrives_at_a_node_that_processes_nothing() -> None:
    cluster = SimCluster(2, publishers=1)
    cluster.start_balancer()
    node = cluster.start_node()
    [writer] = cluster.publishers
    cluster.publish(writer, 0)
    cluster.settle()
    cluster.publish(writer, 0)
    assert cluster.run_until(lambda: cluster.begin(node, slow=True))
    processed = cluster.nodes[node].core.delivery.items
    balancer = cluster.balancer
    assert balancer is not None
    for _ in range(100):
        cluster.publish(writer, 1)
        cluster.run_until(lambda: not cluster.network.parcels)
        cluster.advance(0.1)
    assert cluster.nodes[node].core.delivery.items == processed
    assert balancer.loads.of(1) == pytest.approx(10.0, rel=0.2)
    assert balancer.loads.of(0) == 0.0
    cluster.settle()
