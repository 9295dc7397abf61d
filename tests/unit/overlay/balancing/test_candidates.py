"""Coordinates to choose from: one for every spot, the same for every broker of a seed."""

from __future__ import annotations

import random

from evenflow.overlay.balancing.candidates import Candidates
from evenflow.overlay.space.coordinate import Coordinate, closest_nodes

RNG = random.Random(4)
PLACES = {
    f"b{number}": Coordinate(RNG.uniform(0.01, 0.99), RNG.uniform(0.01, 0.99))
    for number in range(7)
}


def test_every_spot_has_a_coordinate_whose_closest_brokers_it_is() -> None:
    candidates = Candidates(PLACES, seed=1)
    for level in (1, 2, 3):
        spots = list(candidates.spots(level, PLACES))
        assert len(spots) == len(set(spots))
        assert {spot[0] for spot in spots} == set(PLACES)
        for spot in spots:
            assert len(spot) == level
            place = candidates.coordinate(spot, PLACES)
            assert closest_nodes(place, PLACES, level) == spot


def test_spots_on_brokers_that_told_nothing_are_left_out() -> None:
    candidates = Candidates(PLACES, seed=1)
    known = set(PLACES) - {"b3"}
    for spot in candidates.spots(2, known):
        place = candidates.coordinate(spot, known)
        assert "b3" not in closest_nodes(place, PLACES, 3)


def test_the_choice_follows_from_places_and_seed() -> None:
    one, same, other = (Candidates(PLACES, seed) for seed in (1, 1, 2))
    spot = next(one.spots(3, PLACES))
    assert one.coordinate(spot, PLACES) == same.coordinate(spot, PLACES)
    assert one.coordinate(spot, PLACES) != other.coordinate(spot, PLACES)


def test_two_brokers_at_one_place_count_as_one_and_few_are_enough() -> None:
    twins = Candidates({"b0": Coordinate(0.5, 0.5), "b1": Coordinate(0.5, 0.5)}, seed=1)
    assert list(twins.spots(3, {"b0", "b1"})) == [("b0",)]
