"""A simulated cluster of brokers, and what must always hold in it."""

from __future__ import annotations

import pytest

from evenflow.overlay.geometry import Coordinate

from .simcluster import SimCluster


def test_what_is_published_is_read_in_order() -> None:
    cluster = SimCluster(1)
    publisher, reader = cluster.publisher("meters"), cluster.reader("meters")
    for number in range(20):
        publisher.add(b"%d" % number)
        cluster.run(0.1)
    cluster.run_until(lambda: publisher.acknowledged == 20, 10)
    cluster.run_until(lambda: cluster.seen[id(reader)] == {publisher.publisher: 20}, 10)
    cluster.settle()
    cluster.check_all_readable(["meters"], publishers=[publisher])


TOPICS = ["meters", "phasors"]


class Chaos:
    """Kills, restarts, stops, joins and moves while two topics are written and read."""

    def __init__(self, seed: int, level: int) -> None:
        self.cluster = SimCluster(seed, brokers=5, loss=0.02)
        self.rng = self.cluster.rng
        self.level = level
        self.dead = ""
        self.publishers = [
            self.cluster.publisher(topic, level) for topic in TOPICS for _ in range(2)
        ]
        for topic in TOPICS:
            self.cluster.reader(topic, level=level)

    def busy(self, most: float) -> None:
        """Publish for some time."""
        for _ in range(int(self.rng.uniform(0, most) / 0.05)):
            self.rng.choice(self.publishers).add(b"x")
            self.cluster.run(0.05)

    def move(self, _name: str) -> None:
        for topic in TOPICS:
            self.cluster.move(topic, Coordinate(self.rng.random(), self.rng.random()))
        self.busy(2)

    def join(self, _name: str) -> None:
        self.cluster.add_broker(f"n{self.rng.random():.6f}")
        self.busy(2)

    def stop(self, name: str) -> None:
        self.cluster.stop(name)
        self.busy(5)
        self.cluster.resume(name)

    def restart(self, name: str) -> None:
        self.cluster.kill(name)
        self.busy(1)
        self.cluster.start(name)

    def kill(self, name: str) -> None:
        """At level 2 a second broker may die only after the first has returned."""
        if len(self.cluster.brokers) > 3 and (self.level == 3 or not self.dead):
            self.dead = name
            self.cluster.kill(name)
            self.busy(4)

    def bring_back(self) -> None:
        if self.dead and self.rng.random() < 0.5:
            self.cluster.start(self.dead)
            self.dead = ""
            self.busy(3)
            self.cluster.run_until(self.cluster.settled, 60, "return")

    def finish(self) -> None:
        """All must come to rest, be acknowledged and be found."""
        self.cluster.settle()
        self.cluster.run_until(
            lambda: all(one.acknowledged == one.accepted for one in self.publishers), 30, "finish"
        )
        self.cluster.settle()
        self.cluster.check_all_readable(TOPICS, publishers=self.publishers)


def chaos(seed: int, level: int, rounds: int = 4) -> SimCluster:
    """Run one random schedule; time to heal after each act, while letters are being lost."""
    run = Chaos(seed, level)
    run.busy(4)
    for _ in range(rounds):
        act = run.rng.choice([run.kill, run.restart, run.stop, run.join, run.move, run.move])
        act(run.rng.choice(sorted(run.cluster.brokers)))
        run.cluster.run_until(run.cluster.settled, 60, act.__name__)
        run.bring_back()
    run.finish()
    return run.cluster


@pytest.mark.parametrize("level", [2, 3])
@pytest.mark.parametrize("seed", range(6))
def test_nothing_is_lost_repeated_or_out_of_order(seed: int, level: int) -> None:
    chaos(seed, level)
