"""Bounded loads: how even bridges are in the end, and how little moves."""

from __future__ import annotations

from collections import Counter
from math import ceil
from random import Random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from evenflow.bridge.balancing.bounded import bound_of, gifts
from evenflow.bridge.ring.circle import Circle
from evenflow.bridge.ring.identifiers import GUID_BYTES, POINTS, hashed, identifiers_of

Arcs = dict[str, dict[int, float]]


def loads_of(arcs: Arcs) -> dict[str, float]:
    return {name: sum(own.values()) for name, own in arcs.items()}


def given_away(arcs: Arcs, factor: float, unit: float = 1.0) -> tuple[Arcs, float]:
    """The arcs after the gifts, and how much has moved; checks that gifts make sense."""
    after = {name: dict(own) for name, own in arcs.items()}
    moved = 0.0
    for gift in gifts(arcs, factor, unit):
        assert gift.giver != gift.taker
        assert after[gift.giver].pop(gift.arc) == gift.load > 0
        after[gift.taker][gift.arc] = gift.load
        moved += gift.load
    return after, moved


def ring(bridges: int, devices: int, points: int, seed: int) -> Arcs:
    """Arcs of a real ring, with how many devices are on each."""
    random = Random(seed)
    names = {f"{seed}-{number}": points for number in range(bridges)}
    circle = Circle.of(names, hashed())
    guids = [random.randbytes(GUID_BYTES) for _ in range(devices)]
    counts = circle.count(identifiers_of(guids))
    arcs: Arcs = {name: {} for name in names}
    for end, holder in circle.arcs().items():
        arcs[holder][end] = float(counts.get(end, 0))
    return arcs


@pytest.mark.parametrize("seed", range(10))
def test_20_bridges_and_10_000_devices_are_within_the_bound_and_few_move(seed: int) -> None:
    arcs = ring(20, 10_000, POINTS, seed)
    before = loads_of(arcs)
    after, moved = given_away(arcs, 1.1)
    assert max(loads_of(after).values()) <= 1.1 * 500
    above = sum(max(0.0, load - 550) for load in before.values())
    assert above <= moved <= 1.05 * above + 5, "hardly more than what was above the bound"
    assert moved <= 0.05 * 10_000


@pytest.mark.parametrize("factor", [1.0, 1.01, 1.05, 1.25, 2.0])
def test_any_factor_is_kept_where_arcs_are_light(factor: float) -> None:
    after, moved = given_away(ring(20, 10_000, POINTS, 3), factor)
    assert max(loads_of(after).values()) <= max(factor * 500, 500)
    assert (moved > 0) == (factor < 1.2)


@pytest.mark.parametrize("devices", [0, 1, 2, 7, 19, 20, 21, 50, 500])
def test_with_few_devices_the_bound_is_the_mean_rounded_up(devices: int) -> None:
    after, _ = given_away(ring(20, devices, POINTS, 4), 1.1)
    heaviest = max((load for own in after.values() for load in own.values()), default=0)
    bound = max(int(1.1 * devices / 20), ceil(devices / 20))
    assert max(loads_of(after).values()) <= max(bound, heaviest)


def test_an_arc_that_is_too_heavy_for_everybody_stays_where_it_is() -> None:
    assert gifts({"a": {1: 100.0}, "b": {2: 1.0}, "c": {}}, 1.1, 1.0) == []
    after, moved = given_away({"a": {1: 100.0, 3: 9.0, 4: 9.0}, "b": {2: 1.0}, "c": {}}, 1.1)
    assert after == {"a": {1: 100.0}, "b": {2: 1.0, 3: 9.0}, "c": {4: 9.0}}
    assert moved == 18


def test_a_plain_ring_gets_as_even_as_its_arcs_allow() -> None:
    arcs = ring(20, 10_000, 1, 5)
    after, _ = given_away(arcs, 1.1)
    assert max(loads_of(after).values()) <= max(loads_of(arcs).values())


def test_empty_bridges_take_and_who_is_alone_gives_nothing() -> None:
    after, moved = given_away({"a": dict.fromkeys(range(100), 1.0), "b": {}}, 1.1)
    assert loads_of(after) == {"a": 55.0, "b": 45.0}
    assert moved == 45
    assert gifts({"a": {1: 5.0, 2: 5.0}}, 1.0, 1.0) == []
    assert gifts({}, 1.1) == []
    assert gifts({"a": {}, "b": {1: 0.0}}, 1.1) == []


def test_measured_loads_are_evened_likewise() -> None:
    random = Random(6)
    arcs = {
        name: {random.getrandbits(64): random.expovariate(1) for _ in range(100)} for name in "abcd"
    }
    arcs["a"] = {end: 3 * load for end, load in arcs["a"].items()}
    after, _ = given_away(arcs, 1.1, 0.0)
    loads = loads_of(after)
    assert max(loads.values()) <= bound_of(loads, 1.1) * (1 + 1e-6)


LOADS = st.integers(0, 6).map(float) | st.floats(0, 50)


@given(
    st.lists(st.lists(LOADS, max_size=8), min_size=1, max_size=6),
    st.floats(1.0, 1.5),
    st.booleans(),
)
def test_what_holds_in_the_end_whatever_the_loads_are(
    loads: list[list[float]], factor: float, whole: bool
) -> None:
    number = iter(range(1_000))
    arcs = {
        f"b{at}": {next(number): float(int(load)) if whole else load for load in own}
        for at, own in enumerate(loads)
    }
    unit = 1.0 if whole else 0.0
    before, (after, _) = loads_of(arcs), given_away(arcs, factor, unit)
    mean = sum(before.values()) / len(before)
    bound = bound_of(before, factor, unit)
    for name, load in loads_of(after).items():
        lightest = min((one for one in after[name].values() if one), default=0.0)
        assert load <= max(bound, mean + lightest) * (1 + 1e-6)
        if before[name] <= bound < load:
            assert load < max(before.values()) * (1 + 1e-6), "who takes too much helps somebody"
    assert max(loads_of(after).values()) <= max(before.values()) * (1 + 1e-6)
    assert Counter(end for own in after.values() for end in own) == Counter(
        end for own in arcs.values() for end in own
    )
    again = {name: dict(own) for name, own in after.items()}
    if max(loads_of(after).values()) <= bound:
        assert gifts(again, factor, unit) == [], "and then nothing moves any more"


def test_identifiers_beyond_63_bits_are_no_trouble() -> None:
    top = int(np.iinfo(np.uint64).max)
    after, _ = given_away({"a": {top: 2.0, top - 1: 2.0}, "b": {}}, 1.0)
    assert loads_of(after) == {"a": 2.0, "b": 2.0}
