from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from evenflow_experiments.sedax.kernel import empty_loads, place_all
from evenflow_experiments.sedax.planning import add_by_plan, plan

from .worlds import SOME, make_world

SEEDS = st.integers(0, 2**32 - 1)
LEVELS = st.sampled_from([1, 2, 3])


@SOME
@given(seed=SEEDS, level=LEVELS)
def test_the_plan_itself_reaches_its_bound(seed: int, level: int) -> None:
    """The quotas, placed as divisible topics, give the bound as their highest node load."""
    world = make_world(seed)
    target = plan(world.spots, level)
    loads = empty_loads(world.spots, level)
    place_all(loads, target.spots, target.shares * world.spots.nodes)
    assert target.shares.sum() == pytest.approx(1)
    assert loads.worst.max() == pytest.approx(target.bound, rel=1e-6)


@SOME
@given(seed=SEEDS, level=LEVELS)
def test_no_placement_is_below_the_bound(seed: int, level: int) -> None:
    world = make_world(seed)
    rng = np.random.default_rng(seed)
    bound = plan(world.spots, level, usable=len(world.spots.first)).bound
    for where in (world.homes, rng.integers(len(world.spots.first), size=len(world.sizes))):
        loads = empty_loads(world.spots, level)
        place_all(loads, where, world.sizes)
        mean = world.sizes.sum() / world.spots.nodes
        assert loads.worst.max() / mean >= bound * (1 - 1e-6)


def test_more_spots_never_raise_the_bound() -> None:
    spots = make_world(5).spots
    assert plan(spots, 3, usable=len(spots.first)).bound <= plan(spots, 3).bound * (1 + 1e-6)


def test_level_one_can_be_perfectly_even() -> None:
    assert plan(make_world(3).spots, 1).bound == pytest.approx(1)


@SOME
@given(seed=SEEDS, level=LEVELS, leave_gaps=st.booleans())
def test_steering_keeps_to_the_plan(seed: int, level: int, leave_gaps: bool) -> None:
    """Only planned spots are used, and none gets more than a topic beyond its quota."""
    world = make_world(seed)
    target = plan(world.spots, level)
    loads = empty_loads(world.spots, level)
    where, violations = add_by_plan(loads, world.sizes, target, leave_gaps=leave_gaps)
    assert violations == 0
    assert set(where) <= set(target.spots)
    for spot, share in zip(target.spots, target.shares, strict=True):
        placed = world.sizes[where == spot].sum()
        assert placed <= share * world.sizes.sum() + world.sizes.max() + 1e-9
    again = empty_loads(world.spots, level)
    place_all(again, where, world.sizes)
    assert loads.worst == pytest.approx(again.worst)
