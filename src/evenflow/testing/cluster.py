"""A whole cluster in one thread under virtual time: publishers, nodes, balancers and no DDS.

The cores are the real ones; only the network, the clock and the processes are simulated. Every
message, and every batch, becomes a :class:`~evenflow.testing.network.Parcel` that a test may
deliver at any time and in any order, deliver twice or lose. Every process may be killed at any
moment and started anew, or stopped and continued; paths between two of them may be cut; there may
be several balancers, and nodes that have the topic otherwise. What must always hold is checked as
it happens (:mod:`evenflow.testing.invariants`, :mod:`evenflow.testing.network`).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import cast

from evenflow.config import Config
from evenflow.config.spans import Keep
from evenflow.model.ids import NodeId
from evenflow.model.messages import (
    Ack,
    Beat,
    Commit,
    CutAnswer,
    EpochClose,
    Ledger,
    MapPage,
    MoveReply,
    MoveRequest,
    NewerTerm,
    NodeReport,
    PendingCuts,
    Receipt,
    Refusal,
    ReplayRequest,
    SliceLoads,
    WriterCut,
    WriterRequest,
    WriterSilence,
)
from evenflow.model.sample import Sample
from evenflow.slices.actions import NodeGone, Send
from evenflow.slices.balancer.core import BalancerSettings
from evenflow.slices.node.core import NodeCore
from evenflow.slices.node.settings import NodeSettings
from evenflow.slices.publisher.core import Committed, Resend
from evenflow.slices.publisher.sealing import SealedSample
from evenflow.testing.balancer import BalancerHost, SimBalancer, SimBalancers, by_number
from evenflow.testing.folding import Folding
from evenflow.testing.invariants import InvariantChecker, Violation
from evenflow.testing.liveliness import Liveliness
from evenflow.testing.network import Network, Parcel, Traffic
from evenflow.testing.node import SimNode, hold_what_they_own
from evenflow.testing.publishers import HEARD, TOPIC, SimPublishers

TICK = 0.04
"""Steps of the time in which everything takes its course."""


class SimCluster(BalancerHost):
    """Publishers, nodes, balancers, and everything on its way between them."""

    served, kept = False, cast("Keep | None", None)
    """Whether consumers read the topic, and what is kept beyond what they have committed."""

    def __init__(
        self,
        slice_count: int = 6,
        publishers: int = 2,
        *,
        node_settings: NodeSettings | None = None,
        balancer_settings: BalancerSettings | None = None,
        config: Config | None = None,
        patience: float = 0.0,
    ) -> None:
        self.now = 100.0
        self.slice_count = slice_count
        self.node_settings = node_settings or NodeSettings(deliver_items=2)
        limits = balancer_settings or BalancerSettings(join_after=0.0)
        super().__init__(SimBalancers(config or by_number(TOPIC, slice_count), limits))
        self.publishers = SimPublishers(patience)
        self.network = Network(self._arrive)
        self.network.process_of = self.publishers.process_of
        self.liveliness = Liveliness(self.network, self.publishers)
        for _ in range(publishers):
            self.start_publisher()
        self.nodes: dict[str, SimNode] = {}
        self.checker = InvariantChecker()
        self.traffic = Traffic(self.now)
        self._stale_terms: dict[str, int] = {}
        """Nodes taken for dead, and the newest term given out until then."""
        self._started = self._moves = 0

    # -- the life of processes ------------------------------------------------------------------

    def start_publisher(self) -> str:
        """A new publisher process; returns its writer id, as addresses have it."""
        return self.publishers.start(self.now, self.slice_count, served=self.served, keep=self.kept)

    def kill_publisher(self, publisher: str) -> None:
        """``kill -9``: what no node has is lost."""
        del self.publishers[publisher]
        self.network.stopped.pop(publisher, None)
        self.checker.given_up.update(self.publishers.items_of[publisher])

    def start_node(self, slice_count: int = 0) -> str:
        """A new node process, perhaps with another number of slices than all; returns its id."""
        self._started += 1
        count = slice_count or self.slice_count
        node = NodeId.of(f"node-{self._started}", f"{self._started:x}")
        layout = replace(self.balancers.config.topics[0], slices=count).layout
        core = NodeCore(TOPIC, node, count, self.node_settings, self.now, layout=layout)
        app = Folding(self.checker.commit_terms)
        self.nodes[node] = SimNode(core, app, misfit=count != self.slice_count)
        return node

    def kill_node(self, node: str) -> None:
        """``kill -9``: the others learn of it some time later."""
        self._lose_owner(node)
        del self.nodes[node]
        self.lose_sight_of(node)

    def stop_node(self, node: str) -> None:
        """``kill -STOP``, which looks like a death to the others."""
        self.nodes[node].stopped = True
        self.lose_sight_of(node)

    def lose_sight_of(self, node: str) -> None:
        """Others will be told that the node died, which may be wrong."""
        for balancer in self.running:
            self.network.post(Parcel(balancer, NodeGone(node), certain=True))

    def continue_node(self, node: str) -> None:
        """``kill -CONT``: it finds in its inbox what was sent meanwhile."""
        for parcel in self.nodes[node].go_on():
            self.network.post(parcel)

    # -- what applications do -------------------------------------------------------------------

    def publish(self, writer: str, slice_id: int) -> None:
        """A publisher is given an item: it accepts it, or leaves it out."""
        if self.publishers.leaves_out(writer, slice_id, self.now):
            return
        self.checker.published += 1
        sealed = self.publishers.publish(writer, slice_id, self.checker.published, self.now)
        self._write(sealed, writer)

    def begin(self, node: str, *, slow: bool = False) -> bool:
        """The application gets its next items."""
        sim = self.nodes[node]
        if sim.stopped:
            return False
        self._do(sim.tend_state(), node)
        batch = sim.core.next_delivery(self.now)
        if batch is None:
            return False
        self.checker.begin(node, sim.core.cache.held[batch.slice], batch)
        sim.slow = slow
        return True

    def finish(self, node: str, *, ok: bool = True) -> None:
        """The application is through with what it has, or fails on it and gets it again."""
        sim = self.nodes[node]
        if sim.stopped or sim.core.delivery.in_hand is None:
            return
        sim.slow = False
        if ok:
            self.checker.finish(sim.core.delivery.in_hand)
            self._do(sim.deliver(sim.core.delivery.in_hand), node)
        else:
            self.checker.fail(sim.core.delivery.in_hand)
            self._do(sim.core.failed(0.001, self.now)[1], node)

    def move(self, giver: str, taker: str, count: int) -> None:
        """An operator asks for a move."""
        self._moves += 1
        request = MoveRequest(TOPIC, self._moves, giver, taker, count, ())
        for balancer in self.running:
            self.network.post(Parcel(balancer, request))

    def give_up(self, writer: int) -> None:
        """An operator ends a writer though something of it is lost."""
        self._moves += 1
        for balancer in self.running:
            self.network.post(Parcel(balancer, WriterRequest(TOPIC, self._moves, writer)))

    # -- time ------------------------------------------------------------------------------------

    def advance(self, seconds: float) -> None:
        """Let time pass and everybody do what is due."""
        self.now += seconds
        self.liveliness.look(self.nodes)
        for writer in self.publishers:
            if writer not in self.network.stopped:
                sealed, said = self.publishers.advance(writer, self.now)
                self._write(sealed, writer)
                self._do(said, writer)
        for node, sim in list(self.nodes.items()):
            if not sim.stopped:
                self._do(sim.core.poll(self.now), node)
        for balancer in list(self.running.values()):
            self._at_balancer(balancer)
        self.traffic.look(self.network.posted, self.processes, self.now)

    @property
    def processes(self) -> int:
        """How many processes there are."""
        return len(self.publishers) + len(self.nodes) + len(self.running)

    def work(self) -> None:
        """Every application that is not slow processes all that it can get."""
        for node, sim in self.nodes.items():
            if not sim.slow:
                self.finish(node)
                while self.begin(node):
                    self.finish(node)

    def run_until(self, reached: Callable[[], bool], seconds: float = 10.0) -> bool:
        """Let everything take its course, one parcel at a time, until something is reached."""
        end = self.now + seconds
        while not reached():
            if self.network.parcels:
                self.network.deliver(0)
            elif self.now >= end:
                return False
            else:
                self.work()
                self.advance(TICK)
        return True

    def settle(self, seconds: float = 30.0) -> None:
        """A quiet time: nothing is lost, everybody works; returns when everything is committed."""
        self.network.heal()
        for process in list(self.network.stopped):
            self.network.go_on(process)
        if not self.running:
            self.start_balancer()
        for name, balancer in self.running.items():
            if balancer.stopped:
                self.continue_balancer(name)
        for node, sim in self.nodes.items():
            sim.slow = False
            if sim.stopped:
                self.continue_node(node)
        if all(sim.core.leaving or sim.misfit for sim in self.nodes.values()):
            self.start_node()
        if not self.run_until(self._settled, seconds):
            lacking = self.checker.lacking
            raise Violation(
                f"after {seconds:g} quiet seconds {lacking} of {self.checker.published} items are "
                f"not committed, {'and' if lacking else 'or'} nodes and map disagree"
            )

    def _settled(self) -> bool:
        """Whether everything is committed and every slice is where it should be."""
        balancer = self.balancer
        if self.network.parcels or self.checker.lacking or balancer is None:
            return False
        if balancer.sessions or balancer.takeovers or len(self.leaders) != 1:
            return False
        heard = balancer.nodes.keys() | balancer.admission.refused.keys()
        return heard == self.nodes.keys() and hold_what_they_own(self.nodes, balancer.owners)

    # -- inside ---------------------------------------------------------------------------------

    def _write(self, sealed: list[SealedSample], writer: str) -> None:
        for node, sample in sealed:
            if node:
                self.network.post(Parcel(node, Sample(sample.encoded), sender=writer))

    def _do(self, actions: list[Send], actor: str) -> None:
        for action in actions:
            for recipient in self._recipients(action.message, action.to, actor):
                self.network.post(Parcel(recipient, action.message, sender=actor))
        self._note_owner(actor)

    def _recipients(self, message: object, to: str, actor: str) -> list[str]:
        match message:
            case Receipt() | MoveReply() | PendingCuts():  # operators alone read them
                if not isinstance(message, PendingCuts):
                    self.note_result(message, actor)
                return []
            case Ack() | NodeReport() | SliceLoads() | CutAnswer() | WriterSilence() | NewerTerm():
                return list(self.running)
            case MapPage() | Ledger() | WriterCut():
                told = actor in self.running
                return [*self.nodes, *self.publishers] if told else list(self.running)
            case EpochClose():
                return list(self.nodes)
            case Beat():
                return [*self.nodes, *self.publishers, *self.running]
            case _:
                return [message.node if isinstance(message, Refusal) else to]

    def _arrive(self, parcel: Parcel) -> None:
        process = self.publishers.process_of(parcel.to)
        if parcel.to in self.running:
            self._at_balancer(self.running[parcel.to], parcel)
        elif process in self.publishers:
            self._at_publisher(process, parcel.what)
        elif parcel.to in self.nodes:
            self._at_node(parcel.to, self.nodes[parcel.to], parcel)

    def _at_balancer(self, process: SimBalancer, parcel: Parcel | None = None) -> None:
        if process.stopped:
            process.inbox += [parcel] if parcel is not None else []
            return
        balancer = process.core
        # A balancer that has settled without having heard of a node takes it for dead, too.
        known = set(balancer.nodes) if balancer.settled else set(self.nodes)
        event = parcel.what if parcel is not None else None
        self._do(process.take_turn(event, self.now), process.name)
        self._do(self.balancers.save(process, self.now), process.name)
        if balancer.settled:
            for node in (known - balancer.nodes.keys()) & self.nodes.keys():
                self._stale_terms[node] = max(*balancer.owners.terms, balancer.version)
                self._lose_owner(node)
                for held in self.nodes[node].core.cache.held.values():
                    self.checker.distrust(held)

    def _lose_owner(self, node: str) -> None:
        """The node is gone: the next owner may repeat what it had not committed."""
        held = {name: sim.core.cache.held for name, sim in self.nodes.items()}
        self.checker.lose_owner(held[node], held.values())

    def _at_publisher(self, name: str, message: object) -> None:
        assert isinstance(message, HEARD)
        if isinstance(message, Commit | ReplayRequest):
            self.checker.admit(message, self.publishers[name].balancers.gave(message.terms))
        for reaction in self.publishers[name].handle(message, self.now):
            match reaction:
                case Committed():
                    if isinstance(message, Commit):
                        self.checker.commit(message, reaction)
                case Resend(node, lacking):
                    for retained, wanted, _ in lacking:
                        sample = Sample(retained.encoded).only(wanted)
                        self.network.post(Parcel(node, sample, replayed=True, sender=name))
                case _:
                    self._do([reaction], name)

    def _at_node(self, node: str, sim: SimNode, parcel: Parcel) -> None:
        self._do(sim.receive(parcel, self.now), node)

    def _note_owner(self, actor: str) -> None:
        sim = self.nodes.get(actor)
        if sim is not None:
            stale = self._stale_terms.get(actor, 0)
            self.checker.note_owner(actor, sim.core.cache.held, stale)
