"""States of a durable topic survive the death of nodes: each item is in them exactly once."""

from __future__ import annotations

import pytest
from hypothesis import settings

from evenflow.testing.durable_cluster import random_durable_schedule

THOROUGH = settings().max_examples >= 200
SEEDS = range(2_000 if THOROUGH else 40)


@pytest.mark.parametrize("block", range(4))
def test_each_item_is_in_the_states_once_whatever_happens(block: int) -> None:
    """Deaths, two owners, and a store that is asked late, twice or not at all."""
    begun = sum(random_durable_schedule(seed).store.fetched for seed in SEEDS[block::4])
    assert begun > 5, "slices are begun from snapshots"
