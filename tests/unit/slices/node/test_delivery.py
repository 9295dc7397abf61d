"""What the application has in hand, and what its work says of a slice."""

from __future__ import annotations

import pytest

from evenflow.model.messages import SliceState
from evenflow.slices.node.cache.slice_cache import SliceCache
from evenflow.slices.node.delivery import Delivery

from .alone import WRITER, sample_of


def hold(cache: SliceCache, slice_id: int, term: int, *numbers: int) -> None:
    """Hold a slice with these items."""
    held = cache.hold(slice_id, SliceState.AVAILABLE, term)
    cache.start(held, WRITER, numbers[0] - 1)
    for number in numbers:
        cache.offer(sample_of({slice_id: (number, 1)}, payload=b"12345"))


@pytest.fixture
def cache() -> SliceCache:
    found = SliceCache(1 << 20)
    hold(found, 0, 1, 1, 2)
    return found


def test_one_batch_at_a_time(cache: SliceCache) -> None:
    delivery = Delivery(cache, 1)
    first = delivery.begin(0.0)
    assert first is not None
    assert first.first == 1
    assert delivery.begin(0.0) is None
    delivery.finish(0.5, ok=True)
    second = delivery.begin(0.0)
    assert second is not None
    assert second.first == 2


def test_counts_what_was_done_and_what_failed(cache: SliceCache) -> None:
    delivery = Delivery(cache, 1)
    for ok in (True, False):
        delivery.begin(0.0)
        delivery.finish(0.25, ok=ok)
    assert (delivery.items, delivery.failed, delivery.payload_bytes) == (2, 1, 10)
    assert delivery.busy == pytest.approx(0.5)
    held = cache.held[0]
    assert (held.items, held.payload_bytes, held.busy) == (2, 10, pytest.approx(0.5))
    assert held.track(WRITER).done == 2


def test_is_busy_with_what_it_has_in_hand(cache: SliceCache) -> None:
    delivery = Delivery(cache, 1)
    assert not delivery.is_busy_with(frozenset({0}))
    delivery.begin(0.0)
    assert delivery.is_busy_with(frozenset({0, 3}))
    assert not delivery.is_busy_with(frozenset({3}))
    delivery.finish(0.1, ok=True)
    assert not delivery.is_busy_with(frozenset({0}))


def test_old_work_says_nothing_of_a_slice_that_was_taken_anew(cache: SliceCache) -> None:
    delivery = Delivery(cache, 1)
    delivery.begin(0.0)
    cache.drop([0])
    hold(cache, 0, 2, 1, 2)
    assert not delivery.is_busy_with(frozenset({0}))
    assert delivery.finish(0.1, ok=True) is None
    assert (cache.held[0].track(WRITER).done, delivery.items) == (0, 1)


def test_what_is_put_back_was_not_done(cache: SliceCache) -> None:
    delivery = Delivery(cache, 2)
    delivery.begin(0.0)
    delivery.put_back()
    assert delivery.finish(0.1, ok=True) is None
    assert (delivery.items, cache.held[0].track(WRITER).done) == (0, 0)
