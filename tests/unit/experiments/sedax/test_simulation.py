from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from evenflow.errors import OverlayError, UnknownName
from evenflow_experiments.sedax.simulation import (
    HOME,
    PLANNED,
    PLANNED_AHEAD,
    Setting,
    Sizes,
    Ties,
    draw_world,
    lower_bound,
    simulate,
)

SMALL = Setting(nodes=20, topics_per_node=20, candidates=50)
GROWING = Setting(nodes=10, topics_per_node=10, sizes=Sizes.HOMOGENEOUS)


def test_a_run_follows_from_its_setting_and_seed() -> None:
    first, again, other = (simulate(SMALL, seed).relative(3) for seed in (7, 7, 8))
    assert list(first) == list(again)
    assert list(first) != list(other)


def test_runs_with_the_same_seed_share_nodes_homes_and_sizes() -> None:
    one = draw_world(replace(SMALL, selection="local", queries=4), 3)
    two = draw_world(replace(SMALL, selection=HOME), 3)
    assert np.array_equal(one.plane.nodes, two.plane.nodes)
    assert np.array_equal(one.sizes, two.sizes)
    assert np.array_equal(one.spots.third[one.homes], two.spots.third[two.homes])


@pytest.mark.parametrize("level", [1, 2, 3])
@pytest.mark.parametrize(
    "selection", ["individual", "local", "regional", "global", PLANNED, PLANNED_AHEAD]
)
def test_every_selection_levels_what_it_balances(selection: str, level: int) -> None:
    setting = replace(SMALL, selection=selection, level=level, queries=5)
    unbalanced = np.mean(
        [simulate(replace(setting, selection=HOME), s).relative(level).max() for s in range(3)]
    )
    world = draw_world(setting, 0)
    runs = [simulate(setting, seed) for seed in range(3)]
    assert np.mean([run.relative(level).max() for run in runs]) < 0.9 * unbalanced
    assert sum(run.violations for run in runs) == 0
    assert runs[0].relative(level).max() >= lower_bound(world) * (1 - 1e-6)


@pytest.mark.parametrize("selection", ["local", PLANNED, PLANNED_AHEAD, HOME])
def test_all_load_is_placed_once_and_stored_twice(selection: str) -> None:
    run = simulate(replace(SMALL, selection=selection), 1)
    assert run.relative(1).sum() == pytest.approx(20)
    assert run.relative(2).sum() == pytest.approx(40)
    assert np.all(run.relative(3) >= run.relative(2))


def test_heterogeneous_sizes_are_exactly_four_fifths_small() -> None:
    sizes = draw_world(SMALL, 1).sizes
    assert {size: list(sizes).count(size) for size in (0.25, 4.0)} == {0.25: 320, 4.0: 80}
    assert sizes.sum() == 400


def test_orders_of_exponential_sizes() -> None:
    def sizes(kind: Sizes) -> list[float]:
        return list(draw_world(replace(GROWING, sizes=kind), 1).sizes)

    assert sizes(Sizes.ASCENDING) == sorted(sizes(Sizes.ASCENDING))
    assert sizes(Sizes.DESCENDING) == sizes(Sizes.ASCENDING)[::-1]
    assert sorted(sizes(Sizes.SHUFFLED)) == sizes(Sizes.ASCENDING) != sizes(Sizes.SHUFFLED)


def test_own_cell_can_be_counted_apart() -> None:
    counted, apart = (
        draw_world(replace(SMALL, selection="local", queries=3, own_counts=own), 1).queried.shape
        for own in (True, False)
    )
    assert (counted, apart) == ((400, 2), (400, 3))


def test_random_ties_give_another_run_and_the_same_again() -> None:
    first, random, again = (
        list(simulate(replace(SMALL, ties=ties), 1).where) for ties in (*Ties, Ties.RANDOM)
    )
    assert first != random == again


@pytest.mark.parametrize(
    "wrong",
    [{"nodes": 2}, {"level": 4}, {"queries": 0}, {"topics_per_node": 0}, {"hops": -1}],
)
def test_settings_that_make_no_sense_are_refused(wrong: dict[str, int]) -> None:
    with pytest.raises(OverlayError):
        replace(SMALL, **wrong)


def test_an_unknown_selection_is_refused() -> None:
    with pytest.raises(
        UnknownName, match="known: home, individual, local, regional, global, planned"
    ):
        simulate(replace(SMALL, selection="best"), 1)
