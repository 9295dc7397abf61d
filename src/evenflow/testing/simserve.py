"""The simulated cluster with consumers: serving nodes, and readers that plan, read and commit.

A :class:`SimConsumer` does what a Spark query does. It writes the end of a batch into its offset
log, reads the batch from whoever owns the slices, in pieces that may break off at any point, puts
the result into its sink under the number of the batch (again, if the batch is run again), notes the
batch in its commit log, and only then commits to the domain. It may die between any two of these
steps; logs and sink survive.

What must hold in the end: every consumer's sink holds every item that was ever published, once.
"""

from __future__ import annotations

import random
from dataclasses import replace

from evenflow.model.ids import Position
from evenflow.model.messages import ConsumerCommit, EpochClose, Progress, SliceMap
from evenflow.slices.actions import NodeGone
from evenflow.slices.consumer.core import ConsumerCore
from evenflow.slices.consumer.ticket import Range, Refusal
from evenflow.slices.node.settings import NodeSettings
from evenflow.slices.publisher.core import PublisherCore
from evenflow.testing.books import Violation
from evenflow.testing.cluster import TICK, TOPIC, Parcel, SimCluster, SimNode
from evenflow.testing.schedules import one_random_step

Number = tuple[int, int, int]
"""An item by writer, slice and sequence number."""
COMMIT_EVERY = 1.0
"""How often a consumer repeats its newest commit."""


class SimConsumer:
    """One query: its logs and its sink, and while it lives its core and the batch in hand."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.offsets = [Position()]
        """The offset log: the end of every planned batch, and the initial position."""
        self.committed = 0
        """The commit log: the newest batch that is done."""
        self.sink: dict[int, list[Number]] = {}
        self.core: ConsumerCore | None = None
        self.told: ConsumerCommit | None = None
        self.next_repeat = 0.0
        self._lives = 0
        self._pending: dict[int, dict[tuple[int, int], int]] = {}
        """Slices still to be read; for each, how far each writer's items are here."""
        self._read: list[Number] = []

    def start(self) -> None:
        """Come to life and register, at the last committed position."""
        self._lives += 1
        self.core = ConsumerCore(TOPIC, self.name, self._lives << 32)
        self.told = self.core.commit(self.offsets[self.committed])
        self._pending, self._read = {}, []

    def die(self) -> None:
        """``kill -9``."""
        self.core = self.told = None

    @property
    def in_hand(self) -> bool:
        """Whether a batch is being read."""
        return bool(self._pending)

    def plan(self, now: float, slice_count: int) -> None:
        """Begin the next batch: one from the log that is not done, or a new one."""
        if self.core is None or self.in_hand:
            return
        start = self.offsets[self.committed]
        if len(self.offsets) == self.committed + 1:
            end = self.core.latest(start, now)
            if end == start:
                return
            self.offsets.append(end)
        self._pending = {slice_id: {} for slice_id in range(slice_count)}
        self._read = []

    def read(self, node: SimNode, slices: list[int], most: int) -> None:
        """Ask a node for slices; the answer breaks off after so many batches."""
        slices = [slice_id for slice_id in slices if slice_id in self._pending]
        serving = node.core.serving
        if not slices or serving is None:
            return
        after = {key: at for s in slices for key, at in self._pending[s].items()}
        start, end = self.offsets[self.committed], self.offsets[self.committed + 1]
        answer = serving.select(Range(tuple(slices), start, end, after, frozenset()))
        if isinstance(answer, Refusal):
            if answer.reason == "forgotten":
                raise Violation(f"{self.name} was refused: {answer}")
            return
        for batch in answer[:most]:
            self._pending[batch.slice][batch.slice, batch.writer] = batch.last
            self._read += [
                (batch.writer, batch.slice, n) for n in range(batch.first, batch.last + 1)
            ]
        if most >= len(answer):
            for slice_id in slices:
                del self._pending[slice_id]
            if not self._pending:
                self._finish()

    def _finish(self) -> None:
        batch = self.committed + 1
        self.sink[batch] = self._read
        self.committed = batch
        assert self.core is not None
        self.told = self.core.commit(self.offsets[batch])
        self.next_repeat = 0.0

    def items(self) -> list[Number]:
        """Everything in the sink."""
        return [number for batch in self.sink.values() for number in batch]


class SimServing(SimCluster):
    """Serving nodes and consumers."""

    def __init__(self, slice_count: int = 6, publishers: int = 2, consumers: int = 2) -> None:
        super().__init__(slice_count, publishers, node_settings=NodeSettings(serving=True))
        self.publishers = {
            writer: PublisherCore(TOPIC, core.writer, slice_count, core.limits, served=True)
            for writer, core in self.publishers.items()
        }
        self.consumers = {f"query-{i}": SimConsumer(f"query-{i}") for i in range(consumers)}
        for consumer in self.consumers.values():
            consumer.start()
            # Who is registered when is not the question here: all are before the first item.
            for publisher in self.publishers.values():
                assert consumer.told is not None
                publisher.handle_consumer(consumer.told, self.now)

    def kill_node(self, node: str) -> None:
        """``kill -9``: the consumers learn of it, too."""
        super().kill_node(node)
        for name in self.consumers:
            self._post(Parcel(name, NodeGone(node), certain=True))

    def advance(self, seconds: float) -> None:
        """Let time pass; consumers repeat their commits."""
        super().advance(seconds)
        for consumer in self.consumers.values():
            self._tell(consumer)

    def work(self) -> None:
        """Every consumer reads all that it can get."""
        for consumer in self.consumers.values():
            if consumer.core is None:
                consumer.start()
            consumer.plan(self.now, self.slice_count)
            for node, slices in consumer.core.owners().items() if consumer.core else ():
                if consumer.in_hand and node in self.nodes:
                    consumer.read(self.nodes[node], list(slices), 1_000_000)
            self._tell(consumer)

    def _tell(self, consumer: SimConsumer) -> None:
        if consumer.told is not None and self.now >= consumer.next_repeat:
            consumer.next_repeat = self.now + COMMIT_EVERY
            for address in (*self.nodes, *self.publishers, *self.consumers):
                self._post(Parcel(address, consumer.told))

    def _settled(self) -> bool:
        lacking = sum(publisher.uncommitted for publisher in self.publishers.values())
        return not lacking and not any(c.in_hand for c in self.consumers.values())

    def check(self) -> None:
        """Raise a violation unless every consumer has everything once."""
        published = {
            (publisher.writer, slice_id, number)
            for publisher in self.publishers.values()
            for slice_id in range(self.slice_count)
            for number in range(1, publisher.retention.newest(slice_id) + 1)
        }
        for consumer in self.consumers.values():
            items = consumer.items()
            lost, repeated = published - set(items), len(items) - len(set(items))
            if lost or repeated:
                raise Violation(f"{consumer.name}: lost {sorted(lost)}, {repeated} repeated")

    def _addresses(self, message: object, to: str) -> list[str]:
        match message:
            case Progress():
                return [*self.nodes, *self.publishers, *self.consumers]
            case EpochClose() | SliceMap():
                return [*self.nodes, *self.consumers]
            case _:
                return super()._addresses(message, to)

    def _arrive(self, parcel: Parcel) -> None:
        what = parcel.what
        consumer = self.consumers.get(parcel.to)
        if consumer is not None:
            if consumer.core is not None:
                consumer.core.handle(what, self.now)
        elif isinstance(what, ConsumerCommit | Progress) and parcel.to in self.publishers:
            self.publishers[parcel.to].handle_consumer(what, self.now)
        else:
            super()._arrive(parcel)

    def _at_node(self, node: str, sim: SimNode, parcel: Parcel) -> None:
        if isinstance(parcel.what, ConsumerCommit | Progress) and not sim.stopped:
            assert sim.core.serving is not None
            sim.core.serving.on_consumer_message(parcel.what)
        else:
            super()._at_node(node, sim, parcel)


def random_serving_schedule(seed: int, steps: int = 400, *, cache: int = 0) -> SimServing:
    """Run one random schedule, settle, and check what every consumer has.

    Args:
        seed: Names the schedule.
        steps: How many things happen before the quiet time.
        cache: Bytes each node may keep; 0 for as many as it likes.
    """
    rng = random.Random(seed)
    cluster = SimServing()
    if cache:
        cluster.node_settings = replace(cluster.node_settings, cache_bytes=cache)
    cluster.start_balancer()
    for _ in range(3):
        cluster.start_node()
    for _ in range(steps):
        choice = rng.random()
        if choice < 0.6:
            one_random_step(cluster, rng)
        elif choice < 0.95:
            _consumer_step(cluster, rng)
        else:
            _calm(cluster, rng.randint(1, 12))
    cluster.settle(60.0)
    cluster.check()
    return cluster


def _calm(cluster: SimServing, ticks: int) -> None:
    """A moment in which all is well, so that there is something to disturb."""
    for _ in range(ticks):
        while cluster.wire:
            cluster.deliver(0)
        cluster.advance(TICK)


def _consumer_step(cluster: SimServing, rng: random.Random) -> None:
    consumer = rng.choice(list(cluster.consumers.values()))
    choice = rng.random()
    if consumer.core is None:
        if choice < 0.5:
            consumer.start()
    elif choice < 0.05:
        consumer.die()
    elif choice < 0.3:
        consumer.plan(cluster.now, cluster.slice_count)
    elif consumer.in_hand:
        _read_somewhere(cluster, consumer, rng)


def _read_somewhere(cluster: SimServing, consumer: SimConsumer, rng: random.Random) -> None:
    """Ask a node, mostly one that holds what is asked for; whoever answers gives the same."""
    alive = [sim for sim in cluster.nodes.values() if not sim.stopped]
    if alive:
        sim = rng.choice(alive)
        here = list(sim.core.cache.held)
        asked = here if rng.random() < 0.8 else list(range(cluster.slice_count))
        consumer.read(sim, rng.sample(asked, rng.randint(0, len(asked))), rng.choice([1, 2, 1000]))
