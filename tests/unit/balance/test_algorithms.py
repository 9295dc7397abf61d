"""What every algorithm owes: the one verifier over named and random clusters."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evenflow.balance import ALGORITHMS, algorithm_named
from evenflow.balance.verify import faults
from evenflow.errors import ConfigError, PlanError, UnknownName
from evenflow.testing.sample_clusters import NAMED, random_cluster

if TYPE_CHECKING:
    from evenflow.balance.base import Algorithm
    from evenflow.model.snapshot import LoadSnapshot

NAMES = tuple(ALGORITHMS)
SEEDS = st.integers(min_value=0, max_value=1_000_000)


def is_deterministic(algorithm: Algorithm, snapshot: LoadSnapshot) -> bool:
    """Whether the same cluster, told in another order, gives the same plan."""
    retold = replace(snapshot, nodes=snapshot.nodes[::-1], slices=snapshot.slices[::-1])
    return algorithm.analyze_load(snapshot) == algorithm.analyze_load(retold)


@pytest.mark.parametrize("cluster", NAMED.values(), ids=NAMED.keys())
@pytest.mark.parametrize("name", NAMES)
def test_named_clusters(name: str, cluster: LoadSnapshot) -> None:
    algorithm = algorithm_named(name)
    plan = algorithm.analyze_load(cluster)
    assert faults(algorithm, cluster, plan) == ()
    assert is_deterministic(algorithm, cluster)


@pytest.mark.parametrize("name", NAMES)
@given(seed=SEEDS)
def test_random_clusters(name: str, seed: int) -> None:
    algorithm = algorithm_named(name)
    snapshot = random_cluster(seed)
    plan = algorithm.analyze_load(snapshot)
    assert faults(algorithm, snapshot, plan) == ()
    assert is_deterministic(algorithm, snapshot)


@pytest.mark.parametrize("name", NAMES)
@given(seed=SEEDS)
def test_a_joining_node_is_planned_for_soundly(name: str, seed: int) -> None:
    algorithm = algorithm_named(name)
    snapshot = random_cluster(seed)
    joined = snapshot.nodes[seed % len(snapshot.nodes)].name
    plan = algorithm.on_new_processing_node(snapshot, joined)
    assert faults(algorithm, snapshot, plan, joined=joined) == ()


@pytest.mark.parametrize("name", NAMES)
@given(seed=SEEDS)
def test_leaving_nodes_end_with_nothing(name: str, seed: int) -> None:
    snapshot = random_cluster(seed)
    after = algorithm_named(name).analyze_load(snapshot).applied_to(snapshot)
    if snapshot.active:
        held = after.holdings()
        assert all(not held[node.name] for node in snapshot.nodes if node.leaving)


@pytest.mark.parametrize("name", NAMES)
@given(seed=SEEDS)
def test_what_is_done_stays_done(name: str, seed: int) -> None:
    """Once settled, a plan's own outcome moves no slice back to where it came from."""
    algorithm = algorithm_named(name)
    snapshot = random_cluster(seed)
    plan = algorithm.analyze_load(snapshot)
    came_from = {slice_id: move.giver for move in plan.moves for slice_id in move.slices}
    later = plan.applied_to(snapshot, at=snapshot.time + 10_000)
    again = algorithm.analyze_load(later).owners()
    assert all(came_from.get(slice_id) != taker for slice_id, taker in again.items())


@pytest.mark.parametrize("name", NAMES)
def test_an_unknown_node_is_refused(name: str) -> None:
    with pytest.raises(PlanError, match="not in the snapshot"):
        algorithm_named(name).on_new_processing_node(NAMED["one node"], "nobody")


def test_unknown_names_and_settings_are_refused() -> None:
    with pytest.raises(UnknownName, match="did you mean 'count'"):
        algorithm_named("coutn")
    with pytest.raises(ConfigError, match=r"balance\.count"):
        algorithm_named("count", nonsense=1.0)
