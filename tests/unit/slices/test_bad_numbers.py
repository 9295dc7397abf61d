"""Extreme numbers of every message: dropped at the door, and nobody is poisoned by them."""

from __future__ import annotations

from dataclasses import fields, replace
from typing import Any, get_args, get_type_hints

import pytest

from evenflow.domain.codec import codec_of, encode
from evenflow.errors import DecodeError
from evenflow.model.bounds import CLOCK_FLOOR, newest_term
from evenflow.model.ids import WriterId
from evenflow.model.messages import (
    Beat,
    Commit,
    EpochClose,
    Ledger,
    ReplayRequest,
    WriterCut,
)
from evenflow.slices.node.settings import NodeSettings
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


FAR = 1 << 60
"""Years ahead of the simulated clock, and within the bounds."""
EVERY = tuple(range(6))


@pytest.mark.parametrize(
    "message",
    [
        Commit(TOPIC, 1, "stranger~1", "", EVERY, (FAR,) * 6, (0,) * 6),
        ReplayRequest(TOPIC, 1, "stranger~1", 1, EVERY, (FAR,) * 6, (0,) * 6),
    ],
    ids=lambda each: type(each).__name__,
)
def test_a_term_that_no_balancer_gave_out_shuts_no_owner_out(
    message: Commit | ReplayRequest,
) -> None:
    cluster = SimCluster(publishers=1)
    cluster.start_balancer()
    for _ in range(2):
        cluster.start_node()
    cluster.run_until(lambda: False, 3.0)
    [publisher] = cluster.publishers.values()
    publish_everywhere(cluster)
    cluster.network.post(Parcel(WriterId.text(publisher.writer), message))
    publish_everywhere(cluster)
    cluster.settle()
    assert (publisher.counts.unheard, publisher.counts.stale_commits) == (6, 0)
    assert cluster.checker.repeated == 0
    assert cluster.leaders[0].core.leadership.turn == 1


@pytest.mark.parametrize(
    "message",
    [
        Ledger(TOPIC, FAR, (), (), (), (), ()),
        WriterCut(TOPIC, 1, FAR, 0, (0,), (0,), (FAR,), 0),
    ],
    ids=lambda each: type(each).__name__,
)
def test_a_false_word_about_the_end_of_writers_does_not_stay(message: Ledger | WriterCut) -> None:
    """Who leads claims above it: a silent writer is cut all the same, and goes on when it is back.

    That it is not yet silent when the false word comes is on purpose: nobody may freeze it.
    """
    node_settings = NodeSettings(deliver_items=2, writer_silence=2.5)
    cluster = SimCluster(publishers=1, node_settings=node_settings)
    cluster.start_balancer()
    nodes = [cluster.start_node() for _ in range(2)]
    cluster.run_until(lambda: False, 3.0)
    [name] = cluster.publishers
    publish_everywhere(cluster)
    for recipient in (*nodes, name):
        cluster.network.post(Parcel(recipient, message))
    publish_everywhere(cluster)
    cluster.network.stop(name)
    cluster.run_until(lambda: False, 20.0)
    assert cluster.balancer is not None
    assert list(cluster.balancer.books.cutting.ended) == [1]
    cluster.network.go_on(name)
    publish_everywhere(cluster)
    cluster.settle()
    assert cluster.checker.repeated == 0
    assert cluster.publishers[name].writer == 2


def publish_everywhere(cluster: SimCluster) -> None:
    for publisher in cluster.publishers:
        for slice_id in EVERY:
            cluster.publish(publisher, slice_id)
    cluster.run_until(lambda: False, 0.3)
