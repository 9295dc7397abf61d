"""The simulated cluster with consumers: serving nodes, and readers that plan, read and commit.

What must hold in the end: the sink of every consumer holds every item that was ever published,
once.
"""

from __future__ import annotations

from dataclasses import replace

from evenflow.config.spans import Keep
from evenflow.model.messages import (
    CommitCopy,
    ConsumerCommit,
    CutStage,
    EpochClose,
    Ledger,
    MapPage,
    Progress,
    RoomWanted,
    WriterCut,
)
from evenflow.slices.actions import NodeGone, Send
from evenflow.slices.balancer.core import BalancerSettings
from evenflow.slices.consumer.counts import Run
from evenflow.slices.consumer.registry.copies import is_expired
from evenflow.slices.consumer.ticket import Range, Refusal
from evenflow.slices.node.settings import NodeSettings
from evenflow.slices.publisher.core import PublisherCore
from evenflow.testing.cluster import SimCluster
from evenflow.testing.consumer import SimConsumer
from evenflow.testing.invariants import Violation
from evenflow.testing.network import Parcel
from evenflow.testing.node import SimNode

COMMIT_EVERY = 1.0
"""How often a consumer repeats its newest commit."""
FOR_EVER = 1e6
"""Seconds; longer than any schedule."""
ROOMY = 1 << 20
"""Bytes; more than any schedule publishes."""


class ServingCluster(SimCluster):
    """Serving nodes and consumers."""

    served = True

    def __init__(
        self,
        slice_count: int = 6,
        publishers: int = 2,
        consumers: int = 2,
        *,
        node_settings: NodeSettings | None = None,
        balancer_settings: BalancerSettings | None = None,
        keep: Keep | None = None,
    ) -> None:
        self.consumers: dict[str, SimConsumer] = {}
        self.kept = keep
        super().__init__(
            slice_count,
            publishers,
            node_settings=node_settings or NodeSettings(serving=True),
            balancer_settings=balancer_settings,
        )
        self.balancers.served = True
        self.balancers.keep = keep
        self.lossy: set[int] = set()
        """Items that an operator has given up: a consumer may lack them."""
        self.killed = 0
        """Nodes that died: with a publisher that died, too, items may be gone."""
        for number in range(consumers):
            self.add_consumer(f"query-{number}")

    def add_consumer(self, name: str) -> SimConsumer:
        """A query is started for the first time; it reads what is kept from then on."""
        consumer = self.consumers[name] = SimConsumer(name)
        consumer.since = self.checker.published
        consumer.start()
        return consumer

    def add_newcomer(self, name: str) -> SimConsumer:
        """A query is started for the first time with all that is kept."""
        consumer = self.add_consumer(name)
        consumer.is_newcomer = True
        consumer.may_lack = not self.keeps_all
        return consumer

    def declare(self, name: str) -> None:
        """The file names a consumer; balancers that are started from now on know it."""
        self.balancers.declared = (*self.balancers.declared, name)

    def start_declared(self) -> None:
        """Declared consumers that have never run are started: they get all since the beginning."""
        for name in self.balancers.declared:
            if name not in self.consumers:
                self.add_consumer(name).since = 0

    @property
    def processes(self) -> int:
        """How many processes there are, consumers included."""
        return super().processes + len(self.consumers)

    def start_node(self, slice_count: int = 0) -> str:
        """A new node process."""
        node = super().start_node(slice_count)
        serving = self.nodes[node].core.serving
        assert serving is not None
        serving.keeps = self.kept is not None
        return node

    def kill_node(self, node: str) -> None:
        """``kill -9``: the consumers learn of it, too."""
        super().kill_node(node)
        self.killed += 1
        for name in self.consumers:
            self.network.post(Parcel(name, NodeGone(node), certain=True))

    def advance(self, seconds: float) -> None:
        """Let time pass; consumers repeat their commits."""
        super().advance(seconds)
        for consumer in self.consumers.values():
            if consumer.name not in self.network.stopped:
                self._tell(consumer)

    def work(self) -> None:
        """Every consumer reads all that it can get."""
        for consumer in self.consumers.values():
            if consumer.name in self.network.stopped:
                continue
            if consumer.core is None:
                consumer.start()
            consumer.commit_in_time()
            self.read(consumer)

    def read(self, consumer: SimConsumer) -> None:
        """A consumer plans a batch, if it has none, and reads what it can get of it."""
        consumer.plan(self.slice_count)
        for node, slices in consumer.core.owners().items() if consumer.core else ():
            if consumer.in_hand and node in self.nodes and not self.nodes[node].stopped:
                consumer.read(self.nodes[node], list(slices), 1_000_000)
        self._tell(consumer)

    def count(self, consumer: SimConsumer, asked: Range, most: int) -> list[Run] | None:
        """How many items the owners of all slices have, as a consumer knows them."""
        runs: list[Run] = []
        for node, slices in consumer.core.owners().items() if consumer.core else ():
            sim = self.nodes.get(node)
            serving = None if sim is None or sim.stopped else sim.core.serving
            if serving is None:
                return None
            found = serving.count(replace(asked, slices=slices), most)
            if isinstance(found, Refusal):
                return None
            runs += found
        return runs

    def _tell(self, consumer: SimConsumer) -> None:
        if consumer.told is not None and self.now >= consumer.next_repeat:
            consumer.next_repeat = self.now + COMMIT_EVERY
            for recipient in (*self.nodes, *self.publishers, *self.consumers, *self.running):
                self.network.post(Parcel(recipient, consumer.told, sender=consumer.name))
        core = consumer.core
        if core is not None and self.now >= consumer.answered_at + 0.5:
            consumer.answered_at = self.now
            self._do([Send(answer) for answer in core.cut_answers()], consumer.name)

    def _settled(self) -> bool:
        lacking = sum(publisher.uncommitted for publisher in self.publishers.values())
        balancer = self.balancer
        if lacking or balancer is None or self.network.parcels:
            return False
        if any(consumer.in_hand for consumer in self.consumers.values()):
            return False
        if not all(consumer.has_everything for consumer in self.consumers.values()):
            return False
        if not all(map(self._is_read, self.publishers.values())):
            return False
        # What dead publishers left has come to its end, too.
        known = {w for sim in self.nodes.values() for w in sim.core.writers.gone_since}
        alive = {core.writer for core in self.publishers.values()}
        return all(map(self._has_ended, known - alive))

    def _is_read(self, publisher: PublisherCore) -> bool:
        """Whether everybody has committed every epoch that a publisher has ended.

        To one that stood still since before a newcomer came all of it is committed, and nodes that
        were started meanwhile have never heard of it: what it keeps is read when it speaks again.
        """
        writer, ended = publisher.writer, publisher.epochs.ended
        return all(
            consumer.offsets[consumer.committed].position[writer] >= ended
            for consumer in self.readers
        )

    def _has_ended(self, writer: int) -> bool:
        """Whether a writer is cleared; or it is cut, and everybody has committed all of it."""
        assert self.balancer is not None
        one = self.balancer.books.cutting.ended.get(writer)
        if one is None or one.stage >= CutStage.CLEARED or self.kept is None:
            return one is not None and one.stage >= CutStage.CLEARED
        return one.cut is not None and all(
            consumer.offsets[consumer.committed].position[writer] >= one.cut.epoch
            for consumer in self.readers
        )

    @property
    def readers(self) -> list[SimConsumer]:
        """The consumers that have to have everything in the end."""
        return list(self.consumers.values())

    def check(self) -> None:
        """Raise a violation unless every consumer has everything once."""
        dead = self.checker.given_up
        for consumer in self.consumers.values():
            if consumer.is_newcomer:
                self._check_newcomer(consumer)
                continue
            items = consumer.items()
            published = set(range(consumer.since + 1, self.checker.published + 1))
            lost, repeated = published - dead - set(items), len(items) - len(set(items))
            if lost or repeated:
                raise Violation(f"{consumer.name}: lost {sorted(lost)}, {repeated} repeated")
        if not self.lossy and not self.killed:
            others = [c for c in self.consumers.values() if not c.is_newcomer]
            shares = [{item for item in c.items() if item in dead} for c in others]
            if any(share != shares[0] for share in shares):
                raise Violation(f"dead publishers' items differ: {list(map(sorted, shares))}")

    def _check_newcomer(self, newcomer: SimConsumer) -> None:
        """What a newcomer is given has no gap, ends where everybody's ends, and may have to be all.

        All is what publishers have published that live and were never cut, when nothing had to be
        let go.
        """
        items = newcomer.items()
        if len(items) != len(set(items)):
            raise Violation(f"{newcomer.name}: {len(items) - len(set(items))} repeated")
        others = [c.numbers() for c in self.consumers.values() if not c.is_newcomer]
        alive = {core.writer for core in self.publishers.values()}
        for key, numbers in newcomer.numbers().items():
            if numbers != set(range(min(numbers), max(numbers) + 1)):
                raise Violation(f"{newcomer.name}: of {key} a gap in {sorted(numbers)}")
            most = max((max(one.get(key, {0})) for one in others), default=0)
            # What died with a publisher and a node others may have read before.
            gone = key[0] not in alive and (self.lossy or self.killed)
            if max(numbers) < most and not gone:
                raise Violation(f"{newcomer.name}: of {key} only up to {max(numbers)}")
        whole = [n for n, core in self.publishers.items() if core.writer == int(n, 16)]
        published = {item for name in whole for item in self.publishers.items_of[name]}
        if self.keeps_all and published - set(items):
            raise Violation(f"{newcomer.name}: lost {sorted(published - set(items))}")

    @property
    def keeps_all(self) -> bool:
        """Whether everything is kept, for there is room."""
        roomy = self.node_settings.cache_bytes >= ROOMY
        return roomy and self.kept is not None and (self.kept.seconds or 0) >= FOR_EVER

    def _recipients(self, message: object, to: str, actor: str) -> list[str]:
        match message:
            case WriterCut() if actor not in self.running:
                return list(self.running)
            case Progress() | MapPage() | Ledger() | WriterCut():
                return [*self.nodes, *self.publishers, *self.consumers]
            case CommitCopy():  # of all copies only those that say who has expired are here
                return list(self.consumers) if is_expired(message) else []
            case RoomWanted():
                return [*self.publishers, *self.running]
            case EpochClose():
                return [*self.nodes, *self.consumers]
            case _:
                return super()._recipients(message, to, actor)

    def _arrive(self, parcel: Parcel) -> None:
        what = parcel.what
        consumer = self.consumers.get(parcel.to)
        if consumer is not None and consumer.name not in self.network.stopped:
            if consumer.core is not None:
                self._do(consumer.core.handle(what, self.now), consumer.name)
        elif (
            isinstance(what, ConsumerCommit | Progress)
            and parcel.to in self.publishers
            and parcel.to not in self.network.stopped
        ):
            self.publishers[parcel.to].handle_consumer(what, self.now)
        else:
            super()._arrive(parcel)

    def _at_node(self, node: str, sim: SimNode, parcel: Parcel) -> None:
        if isinstance(parcel.what, ConsumerCommit | Progress) and not sim.stopped:
            assert sim.core.serving is not None
            sim.core.serving.on_consumer_message(parcel.what)
        else:
            super()._at_node(node, sim, parcel)
