"""States of a durable topic survive the death of nodes: each item is in them exactly once."""

from __future__ import annotations

import pytest
from hypothesis import settings

from evenflow.testing.schedules import random_durable_schedule

THOROUGH = settings().max_examples >= 200
SEEDS = range(2_000 if THOROUGH else 120)


@pytest.mark.parametrize("block", range(4))
def test_each_item_is_in_the_states_once_whatever_happens(block: int) -> None:
    """Deaths, stops, duels of balancers, and a store that is asked late, twice or not at all."""
    fetched = 0
    for seed in SEEDS[block::4]:
        cluster = random_durable_schedule(seed)
        fetched += len(cluster.store.records)
    assert fetched > 100
