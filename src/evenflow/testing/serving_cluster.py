"""The simulated cluster with consumers: serving nodes, and readers that plan, read and commit.

What must hold in the end: the sink of every consumer holds every item that was ever published,
once.
"""

from __future__ import annotations

from evenflow.model.messages import ConsumerCommit, EpochClose, MapPage, Progress
from evenflow.slices.actions import NodeGone
from evenflow.slices.node.settings import NodeSettings
from evenflow.slices.publisher.core import PublisherCore
from evenflow.testing.cluster import TOPIC, SimCluster, no_assignment
from evenflow.testing.consumer import SimConsumer
from evenflow.testing.invariants import Violation
from evenflow.testing.network import Parcel
from evenflow.testing.node import SimNode

COMMIT_EVERY = 1.0
"""How often a consumer repeats its newest commit."""


class ServingCluster(SimCluster):
    """Serving nodes and consumers."""

    def __init__(self, slice_count: int = 6, publishers: int = 2, consumers: int = 2) -> None:
        super().__init__(slice_count, publishers, node_settings=NodeSettings(serving=True))
        self.publishers = {
            writer: PublisherCore(
                TOPIC, core.writer, slice_count, core.limits, assign=no_assignment, served=True
            )
            for writer, core in self.publishers.items()
        }
        self.consumers = {f"query-{i}": SimConsumer(f"query-{i}") for i in range(consumers)}
        for consumer in self.consumers.values():
            consumer.start()
            # Who is registered when is not the question here: all are before the first item.
            for publisher in self.publishers.values():
                assert consumer.told is not None
                publisher.handle_consumer(consumer.told, self.now)

    @property
    def processes(self) -> int:
        """How many processes there are, consumers included."""
        return super().processes + len(self.consumers)

    def kill_node(self, node: str) -> None:
        """``kill -9``: the consumers learn of it, too."""
        super().kill_node(node)
        for name in self.consumers:
            self.network.post(Parcel(name, NodeGone(node), certain=True))

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
            consumer.commits_late = False
            self.read(consumer)

    def read(self, consumer: SimConsumer) -> None:
        """A consumer plans a batch, if it has none, and reads what it can get of it."""
        consumer.plan(self.now, self.slice_count)
        for node, slices in consumer.core.owners().items() if consumer.core else ():
            if consumer.in_hand and node in self.nodes:
                consumer.read(self.nodes[node], list(slices), 1_000_000)
        self._tell(consumer)

    def _tell(self, consumer: SimConsumer) -> None:
        if consumer.told is not None and self.now >= consumer.next_repeat:
            consumer.next_repeat = self.now + COMMIT_EVERY
            for recipient in (*self.nodes, *self.publishers, *self.consumers):
                self.network.post(Parcel(recipient, consumer.told, sender=consumer.name))

    def _settled(self) -> bool:
        lacking = sum(publisher.uncommitted for publisher in self.publishers.values())
        return not lacking and not any(c.in_hand for c in self.consumers.values())

    def check(self) -> None:
        """Raise a violation unless every consumer has everything once."""
        published = {
            (publisher.writer, slice_id, number)
            for publisher in self.publishers.values()
            for slice_id in range(self.slice_count)
            for number in range(1, int(publisher.retention.newest[slice_id]) + 1)
        }
        for consumer in self.consumers.values():
            items = consumer.items()
            lost, repeated = published - set(items), len(items) - len(set(items))
            if lost or repeated:
                raise Violation(f"{consumer.name}: lost {sorted(lost)}, {repeated} repeated")

    def _recipients(self, message: object, to: str, actor: str) -> list[str]:
        match message:
            case Progress():
                return [*self.nodes, *self.publishers, *self.consumers]
            case MapPage():
                return [*self.nodes, *self.publishers, *self.consumers]
            case EpochClose():
                return [*self.nodes, *self.consumers]
            case _:
                return super()._recipients(message, to, actor)

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
