"""A whole cluster in one thread under virtual time: publishers, nodes, a balancer and no DDS.

The cores are the real ones; only the network, the clock and the processes are simulated. Every
message, and every batch, becomes a :class:`Parcel` that a test may deliver at any time and in any
order, deliver twice or lose; nodes and the balancer may be killed at any moment and started anew,
and a node may be stopped and continued. The cluster keeps the books: what was published, who
processed it, who committed it; what must always hold is checked as it happens
(:mod:`evenflow.testing.books`).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from evenflow.balance import algorithm_named
from evenflow.model.batch import Batch, Item
from evenflow.model.ids import NodeId, WriterId
from evenflow.model.messages import (
    Ack,
    Beat,
    Commit,
    EpochClose,
    MoveReply,
    MoveRequest,
    NodeReport,
    Receipt,
    ReplayRequest,
    SliceLoads,
    SliceMap,
    SliceState,
)
from evenflow.slices.actions import (
    Action,
    NodeGone,
    Resend,
    Send,
    Subscribe,
    Subscribed,
    Unsubscribe,
)
from evenflow.slices.balancer.core import BalancerCore, BalancerSettings
from evenflow.slices.node.core import NodeCore
from evenflow.slices.node.settings import NodeSettings
from evenflow.slices.publisher.batching import Limits, SealedBatch
from evenflow.slices.publisher.core import Committed, PublisherCore
from evenflow.testing.books import Books, Violation

TOPIC = "items"
TICK = 0.04
"""Steps of the time in which everything takes its course."""
LIMITS = Limits(items=3, octets=10_000, linger_s=0.01, retained=1_000_000, epoch_s=0.1)
"""Of every publisher."""


@dataclass(frozen=True, slots=True)
class Parcel:
    """Something on its way."""

    to: str
    """Node id, writer id (16 hex digits), or ``balancer``."""
    what: object
    replayed: bool = False
    certain: bool = False
    """Not a message but a fact (a death, a matched reader): it may be late but not lost."""


@dataclass(slots=True)
class SimNode:
    """A node process."""

    core: NodeCore
    subscribed: set[int] = field(default_factory=set)
    stopped: bool = False
    inbox: list[Parcel] = field(default_factory=list)
    """What waits while the process is stopped."""
    slow: bool = False
    """Its application takes its time: only :meth:`SimCluster.finish` ends what it has in hand."""


class SimCluster:
    """Publishers, nodes, a balancer, and everything on its way between them."""

    def __init__(
        self,
        slice_count: int = 6,
        publishers: int = 2,
        *,
        node_settings: NodeSettings | None = None,
        balancer_settings: BalancerSettings | None = None,
    ) -> None:
        self.now = 100.0
        self.slice_count = slice_count
        self.node_settings = node_settings or NodeSettings(deliver_items=2)
        self.balancer_settings = balancer_settings or BalancerSettings(join_after=0.0)
        self.publishers: dict[str, PublisherCore] = {}
        for _ in range(publishers):
            self.start_publisher()
        self.nodes: dict[str, SimNode] = {}
        self.balancer: BalancerCore | None = None
        self.wire: list[Parcel] = []
        self.receipts: list[Receipt] = []
        self.replies: list[MoveReply] = []
        self.books = Books()
        self._stale_terms: dict[str, int] = {}
        """Nodes taken for dead, and the newest term given out until then."""
        self._started = self._moves = 0

    # -- the life of processes ------------------------------------------------------------------

    def start_publisher(self) -> str:
        """A new publisher process; returns its writer id, as addresses have it."""
        writer = len(self.publishers) + 1
        self.publishers[WriterId.text(writer)] = PublisherCore(
            TOPIC, writer, self.slice_count, LIMITS
        )
        return WriterId.text(writer)

    def start_node(self) -> str:
        """A new node process; returns its id."""
        self._started += 1
        node = NodeId.of(f"node-{self._started}", f"{self._started:x}")
        core = NodeCore(TOPIC, node, self.slice_count, self.node_settings, self.now)
        self.nodes[node] = SimNode(core)
        return node

    def kill_node(self, node: str) -> None:
        """``kill -9``: the others learn of it some time later."""
        self._forgive(node)
        del self.nodes[node]
        self.lose_sight_of(node)

    def stop_node(self, node: str) -> None:
        """``kill -STOP``, which looks like a death to the others."""
        self.nodes[node].stopped = True
        self.lose_sight_of(node)

    def lose_sight_of(self, node: str) -> None:
        """Others will be told that the node died, which may be wrong."""
        self._post(Parcel("balancer", NodeGone(node), certain=True))

    def continue_node(self, node: str) -> None:
        """``kill -CONT``: it finds in its inbox what was sent meanwhile."""
        sim = self.nodes[node]
        sim.stopped = False
        waiting, sim.inbox = sim.inbox, []
        self.wire.extend(waiting)

    def start_balancer(self) -> None:
        """A new balancer process."""
        self.balancer = BalancerCore(
            TOPIC, self.slice_count, algorithm_named("count"), self.balancer_settings, self.now,
            wall=1_000 + self.now,
        )  # fmt: skip

    def kill_balancer(self) -> None:
        """``kill -9``; who talks to it is not heard."""
        self.balancer = None

    # -- what applications do -------------------------------------------------------------------

    def publish(self, writer: str, slice_id: int) -> None:
        """A publisher accepts an item."""
        self.books.published += 1
        item = Item("sim", self.books.published, 0, b"x")
        self._write(self.publishers[writer].add(slice_id, item, self.now))

    def begin(self, node: str, *, slow: bool = False) -> bool:
        """The application gets its next items."""
        sim = self.nodes[node]
        if sim.stopped:
            return False
        batch = sim.core.next_delivery(self.now)
        if batch is None:
            return False
        self.books.begin(node, sim.core.cache.held[batch.slice], batch)
        sim.slow = slow
        return True

    def finish(self, node: str) -> None:
        """The application is through with what it has."""
        sim = self.nodes[node]
        if sim.stopped or sim.core.delivery.in_hand is None:
            return
        self.books.finish(sim.core.delivery.in_hand)
        sim.slow = False
        self._do(sim.core.delivered(0.001), node)

    def move(self, giver: str, taker: str, count: int) -> None:
        """An operator asks for a move."""
        self._moves += 1
        request = MoveRequest(TOPIC, self._moves, giver, taker, count, ())
        self._post(Parcel("balancer", request))

    # -- the network ----------------------------------------------------------------------------

    def deliver(self, index: int) -> None:
        """A parcel arrives."""
        self._arrive(self.wire.pop(index))

    def repeat(self, index: int) -> None:
        """A parcel arrives, and will arrive again."""
        self._arrive(self.wire[index])

    def lose(self, index: int) -> None:
        """A parcel is lost, unless it is a fact."""
        if not self.wire[index].certain:
            del self.wire[index]

    def advance(self, seconds: float) -> None:
        """Let time pass and everybody do what is due."""
        self.now += seconds
        for writer, publisher in self.publishers.items():
            self._write(publisher.seal_due(self.now))
            if publisher.epoch_due(self.now):
                self._write(publisher.end_epoch())
                close = publisher.close_epoch(self.now)
                if close is not None:
                    self._do([Send(close)], writer)
        for node, sim in list(self.nodes.items()):
            if not sim.stopped:
                self._do(sim.core.poll(self.now), node)
        if self.balancer is not None:
            self._at_balancer(self.balancer)

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
            if self.wire:
                self.deliver(0)
            elif self.now >= end:
                return False
            else:
                self.work()
                self.advance(TICK)
        return True

    def settle(self, seconds: float = 30.0) -> None:
        """A quiet time: nothing is lost, everybody works; returns when everything is committed."""
        if self.balancer is None:
            self.start_balancer()
        for node, sim in self.nodes.items():
            sim.slow = False
            if sim.stopped:
                self.continue_node(node)
        if all(sim.core.leaving for sim in self.nodes.values()):
            self.start_node()
        if not self.run_until(self._settled, seconds):
            raise Violation(
                f"after {seconds:g} quiet seconds {self.books.lacking} of {self.books.published} "
                f"items are not committed, {'and' if self.books.lacking else 'or'} nodes and map "
                "disagree"
            )

    def _settled(self) -> bool:
        """Whether everything is committed and every slice is where it should be."""
        balancer = self.balancer
        if self.wire or self.books.lacking or balancer is None:
            return False
        if balancer.sessions or balancer.takes or balancer.nodes.keys() != self.nodes.keys():
            return False
        held_by = [(node, sim.core.cache.held.values()) for node, sim in self.nodes.items()]
        places = {(h.slice, node, h.term, h.state) for node, held in held_by for h in held}
        mapped = {
            (slice_id, owner, term, SliceState.AVAILABLE)
            for slice_id, (owner, term) in enumerate(
                zip(balancer.owners.of, balancer.owners.terms, strict=True)
            )
        }
        return places == mapped and not any(
            sim.core.leaving and sim.core.cache.held for sim in self.nodes.values()
        )

    # -- inside ---------------------------------------------------------------------------------

    def _post(self, parcel: Parcel) -> None:
        self.wire.append(parcel)

    def _write(self, sealed: list[SealedBatch]) -> None:
        for slice_id, encoded in sealed:
            for node, sim in self.nodes.items():
                if slice_id in sim.subscribed:
                    self._post(Parcel(node, Batch(encoded)))

    def _do(self, actions: list[Action], actor: str) -> None:
        for action in actions:
            match action:
                case Send(message, to):
                    for address in self._addresses(message, to):
                        self._post(Parcel(address, message))
                case Resend(node, batches):
                    for encoded in batches:
                        self._post(Parcel(node, Batch(encoded), replayed=True))
                case Subscribe() | Unsubscribe():
                    self._post(Parcel(actor, action, certain=True))
        self._note_owner(actor)

    def _addresses(self, message: object, to: str) -> list[str]:
        match message:
            case Receipt():
                self.receipts.append(message)
                if message.repeated or message.lost:
                    raise Violation(f"a move lost or repeated items: {message}")
                return []
            case MoveReply():
                self.replies.append(message)
                return []
            case Ack() | NodeReport() | SliceLoads():
                return ["balancer"]
            case EpochClose() | Beat() | SliceMap():
                return list(self.nodes)
            case _:
                return [to]

    def _arrive(self, parcel: Parcel) -> None:
        if parcel.to == "balancer":
            if self.balancer is not None:
                self._at_balancer(self.balancer, parcel.what)
        elif parcel.to in self.publishers:
            self._at_publisher(self.publishers[parcel.to], parcel.what)
        elif parcel.to in self.nodes:
            self._at_node(parcel.to, self.nodes[parcel.to], parcel)

    def _at_balancer(self, balancer: BalancerCore, event: object = None) -> None:
        # A balancer that has settled without having heard of a node takes it for dead, too.
        known = set(balancer.nodes) if balancer.settled else set(self.nodes)
        if event is not None:
            self._do(balancer.handle(event, self.now), "balancer")
        self._do(balancer.poll(self.now), "balancer")
        if balancer.settled:
            for node in (known - balancer.nodes.keys()) & self.nodes.keys():
                self._stale_terms[node] = max(*balancer.owners.terms, balancer.version)
                self._forgive(node)
                for held in self.nodes[node].core.cache.held.values():
                    self.books.distrust(held)

    def _forgive(self, node: str) -> None:
        """The node is gone: the next owner may repeat what it had not committed."""
        owned = (SliceState.AVAILABLE, SliceState.GIVING)
        newest: dict[int, int] = {}
        for sim in self.nodes.values():
            for slice_id, held in sim.core.cache.held.items():
                if held.state in owned:
                    newest[slice_id] = max(held.term, newest.get(slice_id, 0))
        self.books.forgive(
            slice_id
            for slice_id, held in self.nodes[node].core.cache.held.items()
            if held.state in owned and held.term == newest[slice_id]
        )

    def _at_publisher(self, publisher: PublisherCore, message: object) -> None:
        assert isinstance(message, Commit | ReplayRequest)
        self.books.admit(message)
        for reaction in publisher.handle(message, self.now):
            if isinstance(reaction, Committed):
                assert isinstance(message, Commit)
                self.books.commit(message, reaction)
            else:
                self._do([reaction], "")

    def _at_node(self, node: str, sim: SimNode, parcel: Parcel) -> None:
        if sim.stopped:
            sim.inbox.append(parcel)
            return
        match parcel.what:
            case Subscribe(slices, term):
                sim.subscribed |= slices
                actions = sim.core.handle(Subscribed(term), self.now)
            case Unsubscribe(slices):
                sim.subscribed -= {s for s in slices if s not in sim.core.cache.held}
                actions = []
            case Batch() as batch:
                sim.core.receive(batch, self.now, replayed=parcel.replayed)
                actions = []
            case message:
                actions = sim.core.handle(message, self.now)
        self._do(actions, node)

    def _note_owner(self, actor: str) -> None:
        sim = self.nodes.get(actor)
        if sim is None:
            return
        for slice_id, held in sim.core.cache.held.items():
            owned = held.state is SliceState.AVAILABLE
            new = owned and self.books.own(actor, slice_id, held.term)
            if new and held.term <= self._stale_terms.get(actor, 0):
                self.books.distrust(held)
