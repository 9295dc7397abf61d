"""Random schedules of deaths, pauses, joins and moves while topics are written and read."""

from __future__ import annotations

from typing import TYPE_CHECKING

from evenflow.overlay.protocol.events import Arrived
from evenflow.overlay.protocol.settings import Settings
from evenflow.overlay.space.coordinate import Coordinate
from evenflow.testing.overlay.cluster import OverlayCluster
from evenflow.testing.overlay.subscribers import check_all_pushed

if TYPE_CHECKING:
    from collections.abc import Callable

TOPICS = ["meters", "phasors"]


def leave(cluster: OverlayCluster, name: str) -> None:
    """End a broker in good order: its goodbye comes before its connections break."""
    for farewell in cluster.brokers[name].core.neighbours.goodbye():
        cluster.give(cluster.brokers[farewell.link].core, Arrived(name, farewell.message))
    cluster.kill(name)


class Chaos:
    """Kills, restarts, stops, joins and moves while two topics are written and read."""

    def __init__(self, seed: int, level: int) -> None:
        self.cluster = OverlayCluster(
            seed, brokers=5, loss=0.02, settings=Settings(shift_bytes=seed % 2 * 10)
        )
        self.end = leave if seed % 3 == 0 else OverlayCluster.kill
        self.rng = self.cluster.rng
        self.level = level
        self.dead = ""
        self.publishers = [
            self.cluster.publisher(topic, level) for topic in TOPICS for _ in range(2)
        ]
        for topic in TOPICS:
            self.cluster.reader(topic, level=level)
        self.subscribers = [self.cluster.clients.subscriber(topic, level) for topic in TOPICS]

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

    def fail_in_a_move(self, name: str) -> None:
        """A broker fails while topics are being moved, and while another broker joins perhaps."""
        for topic in TOPICS:
            self.cluster.move(topic, Coordinate(self.rng.random(), self.rng.random()))
        if self.rng.random() < 0.3:
            self.cluster.add_broker(f"n{self.rng.random():.6f}")
        self.busy(1)
        self.rng.choice([self.kill, self.restart, self.stop])(name)

    def acts(self) -> list[Callable[[str], None]]:
        """At level 2 no broker may fail while another is dead: the past has one copy only."""
        harmless = [self.join, self.move, self.move]
        if self.dead and self.level == 2:
            return harmless
        return [self.kill, self.restart, self.stop, self.fail_in_a_move, *harmless]

    def kill(self, name: str) -> None:
        if len(self.cluster.brokers) > 3:
            self.dead = name
            self.end(self.cluster, name)
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
        check_all_pushed(self.cluster, self.subscribers, self.publishers)


def chaos(seed: int, level: int, rounds: int = 4) -> OverlayCluster:
    """Run one random schedule; time to heal after each act, while envelopes are being lost."""
    run = Chaos(seed, level)
    run.busy(4)
    for _ in range(rounds):
        act = run.rng.choice(run.acts())
        act(run.rng.choice(sorted(run.cluster.brokers)))
        run.cluster.run_until(run.cluster.settled, 60, act.__name__)
        run.bring_back()
    run.finish()
    return run.cluster
