"""A machine that is far too busy: brokers stall together, envelopes take seconds, some are lost.

Whatever happened meanwhile, once things are calm every topic has a leader and all its copies, and
serves again. Nothing more is asked: with many brokers silent at once more have failed than any
level bears, so a topic may have been begun anew.
"""

from __future__ import annotations

from evenflow.overlay.protocol.messages import ShelfId
from evenflow.overlay.protocol.settings import Settings
from evenflow.overlay.space.coordinate import Coordinate, geographic_hash
from evenflow.testing.overlay.checks import Violation
from evenflow.testing.overlay.cluster import OverlayCluster


class Overload:
    """Random stalls, delays, losses, deaths, returns and moves; then calm."""

    def __init__(self, seed, *, brokers=7, topics=8, balance_s=0.0, selection="gossip"):
        settings = Settings(balance_s=balance_s, selection=selection)
        self.cluster = OverlayCluster(seed, brokers=brokers, settings=settings)
        self.rng = self.cluster.rng
        self.topics = [f"topic-{number}" for number in range(topics)]
        self.publishers = [
            self.cluster.publisher(topic, self.rng.choice((1, 2, 3))) for topic in self.topics
        ]
        self.dead = []
        self.write(1)
        self.cluster.run(3)

    def write(self, count):
        for publisher in self.publishers:
            for _ in range(count):
                publisher.add(b"x")

    # -- what happens -----------------------------------------------------------------------------

    def stall(self):
        """Some brokers do not run for a while."""
        names = sorted(self.cluster.brokers)
        for name in self.rng.sample(names, self.rng.randint(1, max(1, len(names) - 1))):
            self.cluster.stop(name)
            self.cluster.later(self.rng.expovariate(0.5), self.wake, name)

    def wake(self, name):
        if name in self.cluster.brokers:
            self.cluster.resume(name)

    def slow(self):
        self.cluster.delay = self.rng.choice((0.01, 0.1, 0.5, 2.0))

    def lose(self):
        self.cluster.loss = self.rng.choice((0.0, 0.02, 0.2, 0.4))

    def kill(self):
        if len(self.cluster.brokers) > 3:
            name = self.rng.choice(sorted(self.cluster.brokers))
            self.cluster.kill(name)
            self.dead.append(name)

    def revive(self):
        if self.dead:
            self.cluster.start(self.dead.pop(self.rng.randrange(len(self.dead))))

    def move(self):
        topic = self.rng.choice(self.topics)
        self.cluster.move(topic, Coordinate(self.rng.random(), self.rng.random()))

    # -- calm -------------------------------------------------------------------------------------

    def run(self, acts=20):
        chosen = [self.stall, self.stall, self.slow, self.lose, self.kill, self.revive, self.move]
        for _ in range(acts):
            self.rng.choice(chosen)()
            if self.rng.random() < 0.5:
                self.rng.choice(self.publishers).add(b"x")
            self.cluster.run(self.rng.expovariate(1.0))
        self.calm()

    def calm(self, patience=90):
        cluster = self.cluster
        cluster.loss, cluster.delay = 0.0, 0.01
        while self.dead:
            self.revive()
        for name in list(cluster.brokers):
            cluster.resume(name)
        cluster.run_until(self.whole, patience, "calm")
        self.write(1)
        cluster.run_until(
            lambda: all(one.acknowledged == one.accepted for one in self.publishers),
            patience,
            "writing again",
        )
        cluster.run_until(self.whole, patience, "calm again")

    def whole(self):
        """Whether every topic has a leader and all its copies, and no shelf has one too many."""
        if not self.cluster.settled():
            return False
        leaders, copies = self.who_has_what()
        if set(leaders) != set(copies):
            return False
        if any(copies[shelf] != set(one.wanted()) for shelf, one in leaders.items()):
            return False
        homes = [leaders.get(ShelfId(topic, geographic_hash(topic))) for topic in self.topics]
        return all(
            home is not None and ShelfId(home.shelf.topic, home.label.delegates.current) in leaders
            for home in homes
        )

    def who_has_what(self):
        leaders, copies = {}, {}
        for name, broker in self.cluster.brokers.items():
            for shelf_id, shelf in broker.core.shelves.items():
                copies.setdefault(shelf_id, set()).add(name)
                if shelf.replica.settled:
                    if shelf_id in leaders:
                        raise Violation(f"{shelf_id} has two leaders\n{self.cluster.picture()}")
                    leaders[shelf_id] = shelf.replica.copy
        return leaders, copies
