"""What arrives is counted however little of it is processed, and nothing else is."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evenflow.model.messages import SliceState
from evenflow.slices.node.cache.held_slice import HeldSlice
from evenflow.testing.cluster import SimCluster


def held_slice(**last: int) -> HeldSlice:
    """Slice 3 with known writers ``w1``, ``w2`` and so on."""
    held = HeldSlice(3, SliceState.AVAILABLE, 1)
    for name, number in last.items():
        held.track(int(name[1:])).start(number)
    return held


def test_growth_counts_and_what_was_there_before_does_not() -> None:
    held = held_slice(w1=1_000, w2=70)
    assert held.arrived == 0
    held.announce(held.track(1), 1_050)
    held.announce(held.track(1), 1_040)
    assert held.arrived == 50
    held.announce(held.track(2), 75)
    assert held.arrived == 55


def test_a_position_that_is_not_known_yet_does_not_count() -> None:
    held = held_slice()
    held.announce(held.track(1), 900)
    held.track(1).start(500)
    assert held.arrived == 0
    held.announce(held.track(1), 901)
    assert held.arrived == 1


@given(st.lists(st.tuples(st.integers(1, 3), st.integers(0, 20), st.integers(0, 20)), max_size=40))
def test_it_is_what_is_processed_and_what_waits(
    steps: list[tuple[int, int, int]],
) -> None:
    held = held_slice(w1=0, w2=0, w3=0)
    processed = 0
    for writer, come, done in steps:
        track = held.track(writer)
        held.announce(track, track.last + come)
        step = min(done, track.last - track.done)
        track.done += step
        processed += step
        waiting = sum(t.last - t.done for t in held.tracks.values())
        assert held.arrived == processed + waiting


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
