"""Live addition beside the simulation: what counts as the same."""

from __future__ import annotations

import numpy as np

from evenflow_experiments.store.addition import is_off, names_of, simulate, summary
from evenflow_experiments.store.tables import show_addition


def test_the_simulation_places_the_very_same_topics() -> None:
    places = np.random.default_rng(4).uniform(0.05, 0.95, (6, 2))
    names = names_of(60)
    placed, at_home = (simulate(places, names, each) for each in ("global", "home"))
    assert placed.max() < at_home.max()
    assert list(placed) == list(simulate(places, names, "global"))


def test_two_percent_or_one_topic_is_no_difference() -> None:
    even, home = np.full(10, 2.5), np.full(10, 4.0)
    assert not is_off(summary(even * 1.02, even, home, 1_000))
    assert is_off(summary(even * 1.03, even, home, 1_000))
    assert not is_off(summary(even * 1.03, even, home, 100))  # of 100 topics one is 10 %
    assert not is_off(summary(even * 0.9, even, home, 1_000))  # better is no fault
    show_addition(summary(even, even, home, 100))
