"""Random schedules in which everything breaks at any time, and together.

Cuts in one direction or both, stop and continue, kill and return with the disk as it was (also
between a write and its commit), wall clocks that are skewed and step, full disks, loss, moves and
joins. What was acknowledged is checked every second on the disks (`OverlayClients.check_kept`); in
the end, when all is whole again, every topic comes to rest, takes what was still unacknowledged,
and is read back: each message once, in order.

A range of seeds by one command: ``python -m evenflow.testing.overlay.faults FIRST COUNT``.
"""

from __future__ import annotations

import sys
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

from evenflow.overlay.broker.disk import SqliteStore
from evenflow.overlay.protocol.settings import Settings
from evenflow.overlay.space.coordinate import Coordinate
from evenflow.testing.overlay.cluster import OverlayCluster
from evenflow.testing.overlay.subscribers import check_all_pushed
from evenflow.testing.seeds import run_seeds

if TYPE_CHECKING:
    from collections.abc import Callable

    from evenflow.overlay.client.core import Publishing
    from evenflow.overlay.client.following import Following

TOPICS = ["meters", "phasors", "breakers"]
SKEW_S = 90.0
SELECTIONS = ("gossip", "individual", "local", "regional", "global", "planned")


class Faults:
    """One schedule."""

    def __init__(self, seed: int, *, brokers: int = 5, disks: Path | None = None) -> None:
        def real(name: str) -> SqliteStore:
            assert disks is not None
            return SqliteStore(disks / f"{name}.sqlite", sync=False)

        disk = real if disks is not None else None
        settings = Settings(
            shift_bytes=seed % 3 * 4,  # messages have one byte
            balance_s=3.0 if seed % 4 == 1 else 0.0,
            topic_bytes=seed % 8 // 4 * 20,
            selection=SELECTIONS[seed // 8 % len(SELECTIONS)],
        )
        self.cluster = OverlayCluster(
            seed, brokers=brokers, loss=0.01, disk=disk, settings=settings
        )
        self.rng = self.cluster.rng
        self.dead: list[str] = []
        self.log: list[str] = []
        self.publishers: list[Publishing] = []
        self.subscribers: list[Following] = []
        for topic in TOPICS:
            level = self.rng.choice((1, 2, 2, 3))
            self.publishers += [self.cluster.publisher(topic, level) for _ in range(2)]
            self.cluster.reader(topic, level=level)
            self.subscribers += [self.cluster.clients.subscriber(topic, level) for _ in range(2)]
        for name in self.cluster.names():
            self.cluster.step_clock(name, self.rng.choice((0, 0, 1)) * self.rng.uniform(-2, 60))

    # -- what breaks ----------------------------------------------------------------------------

    def cut(self, name: str) -> None:
        """Cut a path, for a while or until the end."""
        other = self.rng.choice([*self.cluster.stores, "c1", "c3"])
        if other == name:
            return
        self.cluster.paths.cut(name, other, both=self.rng.random() < 0.6)
        if self.rng.random() < 0.8:
            self.cluster.later(self.rng.uniform(0.3, 15), self.cluster.paths.mend, name, other)

    def part(self, _name: str) -> None:
        """Cut the cluster into two parts."""
        names = sorted(self.cluster.stores)
        self.rng.shuffle(names)
        at = self.rng.randint(1, len(names) - 1)
        self.cluster.paths.part(names[:at], names[at:])

    def heal(self, _name: str) -> None:
        """Make all paths whole."""
        self.cluster.paths.heal()

    def stop(self, name: str) -> None:
        """Let a broker stand still for a while."""
        self.cluster.stop(name)
        self.cluster.later(self.rng.uniform(0.2, 8), self.go_on, name)

    def go_on(self, name: str) -> None:
        """Let a broker go on that stands still."""
        if name in self.cluster.brokers:
            self.cluster.resume(name)

    def kill(self, name: str) -> None:
        """Kill a broker, perhaps between a write and its commit."""
        when = self.rng.choice(("", "before", "after"))
        if when:
            self.cluster.kill_at_commit(name, when)
        else:
            self.cluster.kill(name)

    def bring_back(self, _name: str) -> None:
        """Start a dead broker, with the disk as it was."""
        dead = sorted(set(self.cluster.stores) - set(self.cluster.brokers))
        if dead:
            name = self.rng.choice(dead)
            self.cluster.free_disk(name)
            self.cluster.start(name)

    def step_clock(self, name: str) -> None:
        """Let a wall clock jump."""
        seconds = self.rng.uniform(-SKEW_S, SKEW_S)
        self.cluster.step_clock(name, max(-SKEW_S, min(SKEW_S, seconds)))

    def fill_disk(self, name: str) -> None:
        """Let a disk take nothing more."""
        self.cluster.fill_disk(name)

    def move(self, _name: str) -> None:
        """Move a topic to another place."""
        place = Coordinate(self.rng.uniform(0.01, 0.99), self.rng.uniform(0.01, 0.99))
        self.cluster.move(self.rng.choice(TOPICS), place)

    def join(self, _name: str) -> None:
        """Let a broker join."""
        if len(self.cluster.stores) < 8:
            self.cluster.add_broker(f"n{len(self.cluster.stores)}")

    # -- the run --------------------------------------------------------------------------------

    def write(self) -> None:
        """Publish a few messages."""
        for _ in range(self.rng.randrange(4)):
            self.rng.choice(self.publishers).add(b"x")

    def acts(self) -> list[Callable[[str], None]]:
        """Return what may happen, what happens often several times."""
        return [
            self.cut, self.cut, self.cut, self.part, self.heal, self.stop, self.kill, self.kill,
            self.bring_back, self.bring_back, self.step_clock, self.fill_disk, self.move, self.join,
        ]  # fmt: skip

    def run(self, acts: int = 14) -> None:
        """Break things, then see that all is well when they are whole again."""
        for _ in range(20):
            self.write()
            self.cluster.run(0.1)
        chosen = self.acts()
        for _ in range(acts):
            names = self.cluster.names()
            act = self.rng.choice(chosen) if len(names) > 1 else self.bring_back
            name = self.rng.choice(names) if names else ""
            self.log.append(f"{self.cluster.now:.2f} {act.__name__} {name}")
            act(name)
            for _ in range(1 + int(self.rng.expovariate(0.12))):
                self.write()
                self.cluster.run(0.1)
        self.finish()

    def finish(self) -> None:
        """All that was acknowledged is there, and what was not is taken."""
        cluster = self.cluster
        cluster.paths.heal()
        for name in sorted(cluster.stores):
            cluster.free_disk(name)
            if name not in cluster.brokers:
                cluster.start(name)
            cluster.brokers[name].dying = ""
        cluster.settle(90)
        cluster.run_until(
            lambda: all(one.acknowledged == one.accepted for one in self.publishers), 30, "finish"
        )
        cluster.settle()
        cluster.check_all_readable(TOPICS, publishers=self.publishers)
        check_all_pushed(cluster, self.subscribers, self.publishers)
        cluster.clients.check_kept(cluster.stores)


def faults(seed: int, disks: Path | None = None, kind: type[Faults] = Faults) -> OverlayCluster:
    """Run one schedule of a kind."""
    run = kind(seed, brokers=3 + seed % 4, disks=disks)
    try:
        run.run()
    except Exception as error:
        error.add_note(f"seed {seed}: " + "; ".join(run.log))
        raise
    return run.cluster


def store_schedule(seed: int, kind: type[Faults] = Faults) -> None:
    """Run one schedule, every tenth on real disks."""
    if seed % 10:
        faults(seed, kind=kind)
        return
    with TemporaryDirectory() as folder:
        faults(seed, Path(folder), kind)


if __name__ == "__main__":
    sys.exit(run_seeds(store_schedule))
