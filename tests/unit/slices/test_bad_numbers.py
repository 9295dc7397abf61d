"""Extreme numbers of every message: dropped at the door, and nobody is poisoned by them."""

from __future__ import annotations

from dataclasses import fields, replace
from typing import Any, get_args, get_type_hints

import pytest

from evenflow.domain.codec import codec_of, encode
from evenflow.errors import DecodeError
from evenflow.model.bounds import CLOCK_FLOOR, newest_term
from evenflow.model.messages import Beat, EpochClose
from evenflow.slices.terms import Terms
from evenflow.testing.cluster import TOPIC, SimCluster
from evenflow.testing.network import Parcel

WALL = 1_800_000_000.0
BOUNDED = [
    (kind, field.name)
    for kind in (Beat, EpochClose)
    for field in fields(kind)
    if get_args(get_type_hints(kind, include_extras=True)[field.name])[1].most is not None
]
BEAT = Beat(TOPIC, 1, 5, ("a~1",), (1,), (5,))
CLOSE = EpochClose(7, TOPIC, 1, 6, (1,), (1,), False)


@pytest.mark.parametrize(
    ("kind", "name"), BOUNDED, ids=lambda each: getattr(each, "__name__", each)
)
def test_what_is_beyond_its_bound_is_dropped_where_it_comes_in(kind: type, name: str) -> None:
    message: Any = BEAT if kind is Beat else CLOSE
    value = getattr(message, name)
    width = 32 if name in ("slices", "slice_count") else 64
    worst = (2**width - 2,) if isinstance(value, tuple) else 2**width - 2
    bad = replace(message, **{name: worst})
    with pytest.raises(DecodeError, match=name):
        codec_of(kind).decode(encode(bad), newest_term(WALL))
    assert codec_of(kind).decode(encode(message), newest_term(WALL)) == message


@pytest.mark.parametrize("wall", [0.0, CLOCK_FLOOR, WALL, 2 * WALL])
def test_the_next_term_can_always_be_named(wall: float) -> None:
    worst = newest_term(wall)
    for terms in (Terms(wall), Terms(wall)):  # also after a restart
        terms.learn(worst)
        terms.renew(wall)
        later = max(wall, CLOCK_FLOOR) + 0.01
        assert worst < terms.new() <= newest_term(later)


def test_a_false_newest_number_is_corrected_by_its_publisher() -> None:
    cluster = SimCluster(publishers=1)
    cluster.start_balancer()
    node = cluster.start_node()
    cluster.publish(next(iter(cluster.publishers)), 1)
    cluster.settle()
    false = EpochClose(1, TOPIC, 1, 6, (1,), (1 << 52,), False)
    cluster.network.post(Parcel(node, false))
    cluster.run_until(lambda: False, 3.0)
    [track] = cluster.nodes[node].core.cache.held[1].tracks.values()
    assert not track.lacks
    before = cluster.network.posted
    cluster.run_until(lambda: False, 3.0)
    assert cluster.network.posted - before < 200
    cluster.publish(next(iter(cluster.publishers)), 1)
    cluster.settle()


def test_a_beat_from_the_far_future_costs_a_moment_and_no_more() -> None:
    cluster = SimCluster(publishers=1)
    name = cluster.start_balancer()
    nodes = [cluster.start_node() for _ in range(2)]
    cluster.run_until(lambda: False, 3.0)
    beat = Beat(TOPIC, 99, 1 << 60, (), (), ())
    for recipient in (name, *nodes):
        cluster.network.post(Parcel(recipient, beat))
    cluster.run_until(lambda: False, 1.0)
    cluster.publish(next(iter(cluster.publishers)), 1)
    cluster.start_node()
    cluster.settle()
    assert cluster.checker.repeated == 0
