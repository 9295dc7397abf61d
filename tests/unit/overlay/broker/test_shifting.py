"""A past delegate hands its data on, little by little, until it has nothing left."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING

import pytest

from evenflow.overlay.protocol.messages import ShelfId
from evenflow.overlay.protocol.settings import Settings
from evenflow.overlay.space.coordinate import Coordinate, geographic_hash
from evenflow.testing.overlay.cluster import OverlayCluster

if TYPE_CHECKING:
    from evenflow.overlay.space.delegation import DelegateList

TOPIC = "meters"
HOME = geographic_hash(TOPIC)
PLACES = [Coordinate(0.9, 0.1), Coordinate(0.1, 0.9), Coordinate(0.8, 0.8)]


class Moved:
    """A topic that is written, and moved from one delegate to the next."""

    def __init__(self, seed: int, places: list[Coordinate], **settings: int) -> None:
        self.cluster = OverlayCluster(seed, brokers=6, settings=Settings(**settings))
        self.publisher = self.cluster.publisher(TOPIC)
        self.publish(30)
        for place in places:
            moved = self.cluster.move(TOPIC, place)
            self.cluster.run_until(lambda moved=moved: moved.done, 10, "moving")
            self.publish(30)

    def publish(self, count: int) -> None:
        for _ in range(count):
            self.publisher.add(b"x")
        publisher = self.publisher
        self.cluster.run_until(lambda: publisher.acknowledged == publisher.accepted, 10, "writing")

    def delegates(self) -> DelegateList:
        return next(
            shelf.replica.copy.label.delegates
            for core in self.cluster.cores().values()
            for shelf_id, shelf in core.shelves.items()
            if shelf_id == ShelfId(TOPIC, HOME) and shelf.replica.copy.leading
        )

    def places(self) -> list[Coordinate]:
        return [entry.coordinate for entry in self.delegates().entries]

    def check(self) -> None:
        self.publish(3)
        self.cluster.settle()
        self.cluster.check_all_readable([TOPIC], publishers=[self.publisher])


def test_a_retired_delegate_is_empty_after_a_while_and_home_has_all() -> None:
    run = Moved(1, [PLACES[0], HOME], shift_bytes=5)
    assert run.places() == [HOME, PLACES[0], HOME]
    boundaries = []
    while len(run.places()) > 1:
        boundaries.append(run.delegates().entries[-1].start)
        run.cluster.run(0.5)
        assert len(boundaries) < 60
    steps = sorted(set(boundaries), reverse=True)
    assert len(steps) >= 5  # thirty bytes, five a second
    assert [start for start in boundaries if start] == sorted(boundaries, reverse=True)
    run.check()
    cores = run.cluster.cores
    run.cluster.run_until(
        lambda: {s.coordinate for core in cores().values() for s in core.shelves} == {HOME},
        10,
        "letting go",
    )


def test_past_delegates_hand_on_to_the_current_one_the_newest_first() -> None:
    run = Moved(2, PLACES, shift_bytes=10)
    assert run.places() == [HOME, *PLACES]
    run.cluster.run_until(lambda: run.places() == [HOME, PLACES[0], PLACES[2]], 30, "the second")
    run.cluster.run_until(lambda: run.places() == [HOME, PLACES[2]], 30, "the first")
    run.check()


def test_data_stay_and_expire_where_nothing_is_handed_on() -> None:
    run = Moved(1, [PLACES[0], HOME])
    run.cluster.run(20)
    assert run.places() == [HOME, PLACES[0], HOME]


def test_a_delegate_that_may_not_grow_takes_nothing() -> None:
    run = Moved(1, [PLACES[0], HOME], shift_bytes=5, shelf_bytes=62)
    run.cluster.run(20)
    assert run.places() == [HOME, PLACES[0], HOME]
    run.cluster.settle()


@pytest.mark.parametrize("seed", range(12))
def test_whoever_dies_meanwhile_nothing_is_lost_or_repeated(seed: int) -> None:
    run = Moved(seed, [PLACES[0], HOME] if seed % 2 else PLACES[:2], shift_bytes=8)
    rng, dead = random.Random(seed), ""
    for _ in range(4):
        run.cluster.run(rng.uniform(0.1, 2.0))
        if dead:
            run.cluster.start(dead)
            run.cluster.run_until(run.cluster.settled, 60, "return")
        dead = rng.choice(run.cluster.names())
        run.cluster.kill(dead)
    run.cluster.start(dead)
    run.cluster.settle()
    wanted = 1 if seed % 2 else 2
    run.cluster.run_until(lambda: len(run.places()) == wanted, 60, "handing on")
    run.check()
