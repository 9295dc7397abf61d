"""Live brokers stand where the simulated ones do, and topics go to the same spots."""

from __future__ import annotations

import numpy as np

from evenflow.overlay.space.coordinate import closest_nodes
from evenflow_experiments.sedax.simulation import add_topics, draw_world
from evenflow_experiments.store.balance import coordinates_for, places_of, setting


def test_a_topics_coordinate_has_the_closest_brokers_of_its_simulated_spot() -> None:
    world = draw_world(setting(6, 5), 1)
    spots = [int(spot) for spot in add_topics(world).where]
    places = places_of(world)
    found = coordinates_for(world, spots, np.random.default_rng(1))
    assert len(found) == world.setting.topics
    table = world.spots
    for spot, coordinate in zip(spots, found, strict=True):
        simulated = (table.first[spot], table.second[spot], table.third[spot])
        expected = tuple(f"b{int(number):02}" for number in simulated)
        assert closest_nodes(coordinate, places, 3) == expected
