"""Everything at any time: each item is accepted once and in order, each message is had once."""

from __future__ import annotations

import pytest
from hypothesis import settings
from tests.unit.mobile.client.schedule import Schedule

THOROUGH = settings().max_examples >= 80
STEPS = 1_500


def run(seed: int, *, drop_oldest: bool = False) -> Schedule:
    schedule = Schedule(seed, drop_oldest=drop_oldest, items=20 if drop_oldest else 200)
    for _ in range(STEPS):
        schedule.step()
    schedule.heal()
    return schedule


@pytest.mark.parametrize("seed", range(1_000 if THOROUGH else 30))
def test_items_and_messages_come_once_and_in_order(seed: int) -> None:
    schedule = run(seed)
    for topic, published in schedule.published.items():
        assert [payload for _, payload in schedule.taken[topic]] == published
    assert schedule.handled == schedule.sent, "messages: lost, twice, or out of order"


@pytest.mark.parametrize("seed", range(1_000 if THOROUGH else 30))
def test_what_is_dropped_is_counted_and_the_rest_is_accepted_once(seed: int) -> None:
    schedule = run(seed, drop_oldest=True)
    for topic, published in schedule.published.items():
        taken = [payload for _, payload in schedule.taken[topic]]
        rest = iter(published)
        assert all(payload in rest for payload in taken), "twice, or out of order"
