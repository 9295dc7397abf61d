"""State of an application moves with its slice: it is always what was made of consecutive items."""

from __future__ import annotations

import random
from collections.abc import Callable

import pytest
from hypothesis import settings

from evenflow.model.messages import Ack, CacheChunk, Step
from evenflow.slices.node.application.states import ForgetState, GiveState, States, TakeState
from evenflow.slices.node.giver_taker import CHUNK_BYTES, Giver, chunk_cache, pack_states, states_in
from evenflow.slices.node.settings import NodeSettings
from evenflow.testing.cluster import SimCluster
from evenflow.testing.schedules import PATIENCE, random_schedule

THOROUGH = settings().max_examples >= 80
SEEDS = range(300 if THOROUGH else 40)


@pytest.mark.parametrize("block", range(4))
def test_state_is_made_of_consecutive_items_whatever_happens(block: int) -> None:
    """Deaths, stops, duels of balancers, lost, late and repeated messages; `Folding` raises."""
    emptied = 0
    for seed in SEEDS[block::4]:
        cluster = random_schedule(seed, stateful=True)
        for sim in cluster.nodes.values():
            sim.tend_state()
            assert sim.core.states is not None
            emptied += sim.app.emptied
            owned = {held.slice for held in sim.core.cache.available()}
            assert owned == sim.app.states.keys()
    assert emptied > 4, "takeovers begin with nothing"


def disturb(cluster: SimCluster, rng: random.Random, choice: float) -> None:
    """Lose a part of a cache, repeat something, or deliver some parcels in any order."""
    parcels = cluster.network.parcels
    caches = [n for n, one in enumerate(parcels) if isinstance(one.what, CacheChunk)]
    if choice < 0.75 and caches:
        cluster.network.lose(rng.choice(caches))
    elif choice < 0.8 and parcels:
        cluster.network.repeat(rng.randrange(len(parcels)))
    else:
        for _ in range(min(len(parcels), rng.choice([1, 5, 20]))):
            if cluster.network.parcels:
                cluster.network.deliver(rng.randrange(len(cluster.network.parcels)))


def moves_without_deaths(seed: int) -> SimCluster:
    """Slices move again and again, over a network that loses, repeats and delays."""
    rng = random.Random(seed)
    cluster = SimCluster(
        4,
        node_settings=NodeSettings(deliver_items=2, stateful=True, lease=1_000.0, stall=1_000.0),
        balancer_settings=PATIENCE,
    )
    cluster.start_balancer()
    nodes = [cluster.start_node() for _ in range(3)]
    cluster.run_until(lambda: False, 1.0)
    for _ in range(200):
        choice = rng.random()
        if choice < 0.3:
            cluster.publish(rng.choice(list(cluster.publishers)), rng.randrange(4))
        elif choice < 0.4:
            cluster.advance(rng.choice([0.01, 0.05]))
        elif choice < 0.5:
            cluster.move(*rng.sample(nodes, 2), rng.randint(1, 3))
        elif choice < 0.6:
            cluster.begin(rng.choice(nodes), slow=rng.random() < 0.3)
        elif choice < 0.7:
            cluster.finish(rng.choice(nodes), ok=rng.random() < 0.9)
        else:
            disturb(cluster, rng, choice)
    cluster.settle(120.0)
    return cluster


@pytest.mark.parametrize("seed", range(100 if THOROUGH else 12))
def test_without_deaths_the_state_of_a_slice_is_all_its_items(seed: int) -> None:
    cluster = moves_without_deaths(seed)
    states = [state for sim in cluster.nodes.values() for state in sim.app.states.values()]
    spans = [span for state in states for span in state.spans.values()]
    assert all(first == 1 for first, _ in spans)
    folded = sum(last for _, last in spans)
    assert folded == cluster.checker.published
    assert sum(sim.core.states.lost for sim in cluster.nodes.values()) == 0  # type: ignore[union-attr]


def test_a_giver_whose_taker_merged_committed_and_died_begins_anew() -> None:
    cluster = SimCluster(
        2, 1, node_settings=NodeSettings(stateful=True), balancer_settings=PATIENCE
    )
    cluster.start_balancer()
    giver = cluster.nodes[cluster.start_node()]
    cluster.run_until(lambda: False, 1.0)
    (writer,) = cluster.publishers

    def publish() -> None:
        for slice_id in (0, 1, 0, 1):
            cluster.publish(writer, slice_id)

    def run(reached: Callable[[], object]) -> None:
        """Nobody hears that the taker has merged."""
        for _ in range(20_000):
            if reached():
                return
            cluster.network.parcels[:] = [
                one
                for one in cluster.network.parcels
                if not (isinstance(one.what, Ack) and one.what.step == Step.MERGED)
            ]
            if cluster.network.parcels:
                cluster.network.deliver(0)
            else:
                cluster.work()
                cluster.advance(0.04)
        pytest.fail("it never happens")

    publish()
    run(lambda: cluster.checker.lacking == 0)
    name = cluster.start_node()
    taker = cluster.nodes[name]
    run(lambda: any(taker.core.cache.available()))
    publish()
    run(lambda: cluster.checker.lacking == 0)
    cluster.kill_node(name)
    publish()
    cluster.settle()
    assert giver.core.states is not None
    assert giver.core.states.lost == 1


# -- the rules one by one --------------------------------------------------------------------------


def tasks(states: States) -> list[object]:
    found = []
    while (task := states.next()) is not None:
        states.finish()
        found.append(task)
    return found


def test_a_slice_begins_with_nothing_when_it_is_taken_and_with_its_state_when_it_moves() -> None:
    states = States(100)
    states.own(1, 10)
    states.adopt(2, 10, b"two")
    states.adopt(3, 10, None)
    assert tasks(states) == [TakeState(1, None), TakeState(2, b"two"), TakeState(3, None)]
    states.own(1, 11)
    states.ask(12, frozenset({1, 2, 9}))
    states.drop([1, 9])
    assert tasks(states) == [GiveState(12, (1, 2)), ForgetState(1)]


def test_a_floor_beyond_a_state_that_came_from_before_empties_it() -> None:
    states = States(100)
    states.own(1, 10)
    states.on_floor(1, 10, known=False)
    assert tasks(states) == [TakeState(1, None)], "it began without what lies before the floors"
    states.own(1, 11)
    states.on_floor(1, 11, known=False)
    assert states.lost == 1
    states.adopt(2, 11, b"two")
    states.on_floor(2, 11, known=False)
    assert states.lost == 2
    states.on_floor(7, 11, known=True)
    assert tasks(states) == [TakeState(1, None), TakeState(2, b"two"), TakeState(2, None)]


def test_tasks_come_one_after_the_other() -> None:
    states = States(100)
    states.own(1, 10)
    states.own(2, 10)
    assert states.next() == TakeState(1, None)
    assert states.next() is None
    assert states.pending
    states.finish()
    assert states.next() == TakeState(2, None)
    states.finish()
    assert not states.pending


def test_a_state_that_is_too_large_is_told_in_words() -> None:
    assert "slice 3 has 101 bytes, more than node.state_bytes = 100" in States(100).fault_of(
        {2: bytes(100), 3: bytes(101)}
    )
    assert States(100).fault_of({2: bytes(100)}) == ""


def test_states_travel_in_chunks_of_bounded_size() -> None:
    session = Giver(5, frozenset(range(6)), "taker")
    session.states = {0: b"", 1: bytes(CHUNK_BYTES), 2: b"x", 3: bytes(CHUNK_BYTES + 1), 4: b"y"}
    assert [[one for one, _ in part] for part in pack_states(session.states)] == [
        [0, 1], [2], [3], [4],
    ]  # fmt: skip
    chunks = chunk_cache("t", session, "giver", [], ())
    assert [chunk.index for chunk in chunks] == list(range(5))
    assert {chunk.total for chunk in chunks} == {5}
    assert states_in(chunks) == session.states


def test_a_giver_that_cannot_give_refuses_and_gets_its_slices_back() -> None:
    cluster = SimCluster(
        2,
        node_settings=NodeSettings(stateful=True, state_bytes=1),
        balancer_settings=PATIENCE,
    )
    cluster.start_balancer()
    giver = cluster.start_node()
    cluster.run_until(lambda: False, 1.0)
    writer = next(iter(cluster.publishers))
    for _ in range(4):
        cluster.publish(writer, 0)
        cluster.publish(writer, 1)
    cluster.run_until(lambda: cluster.checker.lacking == 0)
    taker = cluster.start_node()
    cluster.run_until(lambda: False, 5.0)
    assert cluster.nodes[giver].app.states.keys() == {0, 1}
    assert cluster.nodes[taker].app.states == {}
    cluster.publish(writer, 0)
    cluster.settle()
    assert cluster.nodes[giver].core.states.lost == 0  # type: ignore[union-attr]
