"""The balancer without sockets, clocks or threads: members, the slice map, and who gets what.

The balancer knows the nodes by their reports, and the slice map by what it ordered. It does four
things:

* *assign*: slices without an owner go to nodes by TAKE; a node that dies leaves such slices behind;
* *balance*: when nodes join or want to leave, the algorithm plans moves and each move becomes a
  session;
* *reconcile*: what a report says and what the map says must agree in the end; where a node does not
  hold what it should (an order was lost, a refused handover), it is ordered to take it under a new
  term;
* *recover*: a new balancer listens for ``settle`` seconds, takes the owners from the nodes'
  reports, and cancels or completes the sessions it finds there. No node has to stop for it. Only a
  report counts whose node has heard the new balancer's beat: what an older one says may be over,
  and the node might still obey orders of the former balancer that were on their way.

A term (:mod:`evenflow.slices.terms`) names one owner, so at most one node owns a slice in a term;
publishers and nodes let the newer term win.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable
from dataclasses import dataclass, field

from evenflow.balance import Algorithm, assign_unowned
from evenflow.errors import MoveRefused
from evenflow.model.load import LoadWeights
from evenflow.model.messages import (
    Ack,
    Beat,
    MoveReply,
    MoveRequest,
    NodeReport,
    Order,
    SliceLoads,
    SliceState,
    Step,
)
from evenflow.model.plan import Move
from evenflow.model.snapshot import ClusterNode, LoadSnapshot, PlacedSlice
from evenflow.slices.actions import Action, NodeGone, Send
from evenflow.slices.handover import Session, Stage
from evenflow.slices.loads import Loads
from evenflow.slices.owners import Owners
from evenflow.slices.receipts import DONE, Receipts, Take
from evenflow.slices.terms import Terms


@dataclass(frozen=True, slots=True)
class BalancerSettings:
    """What an operator may set; seconds."""

    beat_every: float = 0.2
    settle: float = 1.0
    deadline: float = 5.0
    """For each step of a session."""
    retry: float = 0.25
    silence: float = 5.0
    """A node whose reports stay away this long counts as dead, whatever DDS says of it."""
    map_every: float = 1.0
    join_after: float = 0.5
    """A new node gets this long to find the publishers before slices are moved to it, and a move
    that failed is not planned again before."""
    settled_within: float = 3.0
    """How long a receipt waits for the taker to say what had to be replayed."""
    weights: LoadWeights = field(default_factory=LoadWeights)
    """What makes up the load of a slice."""


class BalancerCore:
    """One topic's balancer."""

    def __init__(
        self,
        topic: str,
        slice_count: int,
        algorithm: Algorithm,
        settings: BalancerSettings,
        now: float,
        wall: float,
        *,
        identity: int = 0,
    ) -> None:
        self.topic = topic
        self.slice_count = slice_count
        self.algorithm = algorithm
        self.settings = settings
        self.identity = identity
        self.nodes: dict[str, NodeReport] = {}
        self.owners = Owners(slice_count)
        self.loads = Loads(settings.weights)
        self.sessions: dict[int, Session] = {}
        self.takes: dict[int, Take] = {}
        self._terms = Terms(wall)
        self.version = 0
        """Version of the newest slice map."""
        self._queue: deque[Move] = deque()
        self._planned: dict[int, str] = {}
        """Outcomes of planned moves by term, empty until decided; until somebody asks for them."""
        self._receipts = Receipts(topic, wall - now, settings.settled_within)
        self._checked: dict[str, int] = {}
        """Report up to which a node's holdings may be out of date (an order was on its way)."""
        self._heard_at: dict[str, float] = {}
        self._settle_until = now + settings.settle
        self.settled = False
        """Whether it has listened long enough to know the nodes."""
        self._membership_changed = False
        self._plan_after = now
        """Not before this is anything moved for the sake of balance."""
        self._next_beat = now
        self._next_map = now

    # -- events ---------------------------------------------------------------------------------

    def handle(self, event: object, now: float) -> list[Action]:
        """Take a message or an event in; return what to do."""
        match event:
            case NodeReport():
                return self._reported(event, now)
            case NodeGone():
                return self._gone(event.node, now)
            case Ack():
                return self._acknowledged(event, now)
            case SliceLoads():
                self.loads.observe(event, now)
                return []
            case MoveRequest():
                return self._requested(event, now)
            case _:
                raise TypeError(f"a balancer cannot handle {type(event).__name__}")

    def _reported(self, report: NodeReport, now: float) -> list[Action]:
        known = self.nodes.get(report.node)
        if known is not None and report.number <= known.number:
            return []
        self._terms.learn(max((report.seen_term, *report.terms)))
        self.nodes[report.node] = report
        self._heard_at[report.node] = now
        if known is None:
            self._plan_after = now + self.settings.join_after
        if known is None or known.leaving != report.leaving:
            self._membership_changed = True
        return self._reconcile(report, now) if self.settled else []

    def _gone(self, node: str, now: float) -> list[Action]:
        if self.nodes.pop(node, None) is None:
            return []
        self._heard_at.pop(node, None)
        self._checked.pop(node, None)
        self._membership_changed = True
        for session in self.sessions.values():
            session.node_gone(node, now)
        for take in [take for take in self.takes.values() if take.node == node]:
            del self.takes[take.term]
        self._queue = deque(m for m in self._queue if node not in (m.giver, m.taker))
        return []

    def _acknowledged(self, ack: Ack, now: float) -> list[Action]:
        step = Step(ack.step)
        if step is Step.SETTLED:
            return self._receipts.settled(ack)
        session = self.sessions.get(ack.term)
        if session is not None:
            session.handle(ack, now)
            return []
        take = self.takes.get(ack.term)
        if take is None or ack.node != take.node or step is not Step.TAKE:
            return []
        del self.takes[ack.term]
        self._distrust(take.node)
        if not ack.ok:
            # Somebody gave out a newer term: give out a still newer one.
            for slice_id in take.slices:
                if self.owners.terms[slice_id] == take.term:
                    self._order_take((slice_id,), take.node, take.giver, take.cause, now)
            return []
        self._receipts.of_take(take, now)
        return []

    def _requested(self, request: MoveRequest, now: float) -> list[Action]:
        try:
            move = self._checked_move(request)
        except ValueError as error:
            return [self._reply(request, reason=str(error))]
        session = self._begin(move, now)
        return [self._reply(request, term=session.term), *session.poll(now)]

    def _reply(self, request: MoveRequest, *, reason: str = "", term: int = 0) -> Send:
        accepted = not reason
        return Send(MoveReply(self.topic, request.request, accepted, reason, term))

    def _checked_move(self, request: MoveRequest) -> Move:
        giver, taker = self._find(request.giver), self._find(request.taker)
        if giver == taker:
            raise ValueError("giver and taker are the same node")
        if self.nodes[taker].leaving:
            raise ValueError(f"{taker} is leaving")
        busy = self._busy()
        for node in (giver, taker):
            if node in busy:
                raise ValueError(f"{node} is in another session; try again in a moment")
        free = [s for s in self.owners.owned_by(giver) if not self._pending(s)]
        if request.slices:
            slices = tuple(sorted(set(request.slices)))
            wrong = sorted(set(slices) - set(free))
            if wrong:
                raise ValueError(f"{giver} does not own slice {wrong[0]}")
        else:
            slices = tuple(free[: request.count])
        if not slices or len(slices) < request.count:
            raise ValueError(f"{giver} owns {len(free)} slices, {request.count} were asked for")
        return Move(slices, giver, taker)

    def _find(self, name: str) -> str:
        """The id of a node given by its id or by its name."""
        found = [node for node in self.nodes if name in (node, node.partition("~")[0])]
        if not found:
            known = ", ".join(sorted(node.partition("~")[0] for node in self.nodes)) or "none"
            raise ValueError(f"there is no node {name}; known are: {known}")
        if len(found) > 1:
            raise ValueError(f"{name} may be any of {', '.join(sorted(found))}; say which")
        return found[0]

    # -- planned moves --------------------------------------------------------------------------

    def is_busy(self, move: Move) -> bool:
        """Whether a node or a slice of a move is in a session or being taken, or nobody knows."""
        busy = self._busy()
        nodes = move.giver in busy or move.taker in busy
        return not self.settled or nodes or any(map(self._pending, move.slices))

    def begin_move(self, move: Move, cause: str, now: float) -> int:
        """Begin the session of a planned move; returns its term, for :meth:`outcome`.

        Raises:
            MoveRefused: The nodes or slices are not as the plan has them.
        """
        for node in (move.giver, move.taker):
            if node not in self.nodes:
                raise MoveRefused(f"there is no node {node} any more")
        if self.nodes[move.taker].leaving:
            raise MoveRefused(f"{move.taker} is leaving")
        for slice_id in move.slices:
            if slice_id >= self.slice_count or self.owners.of[slice_id] != move.giver:
                raise MoveRefused(f"{move.giver} does not own slice {slice_id}")
        if self.is_busy(move):
            raise MoveRefused(f"{move.giver} or {move.taker} is in another session")
        session = self._begin(move, now, cause)
        self._planned[session.term] = ""
        return session.term

    def outcome(self, term: int) -> str:
        """How a planned move ended, told once; empty while it is under way."""
        outcome = self._planned[term]
        if outcome:
            del self._planned[term]
        return outcome

    # -- time -----------------------------------------------------------------------------------

    def poll(self, now: float) -> list[Action]:
        """Do what is due; call it often and after every event."""
        actions: list[Action] = []
        if not self.settled:
            if now < self._settle_until or self._unheard(now):
                return self._beat(now)
            self._recover(now)
        for node, heard in list(self._heard_at.items()):
            if now - heard > self.settings.silence:
                actions += self._gone(node, now)
        for term, session in list(self.sessions.items()):
            actions += session.poll(now)
            if session.over:
                del self.sessions[term]
                actions += self._ended(session, now)
        self._assign(now)
        self._balance(now)
        actions += self._start_queued(now)
        actions += self._order_takes(now)
        actions += self._receipts.late(now)
        return [*actions, *self._beat(now)]

    def _ended(self, session: Session, now: float) -> list[Action]:
        """A session is over: the taker owns the slices, or the giver gets them back."""
        self._distrust(session.giver)
        self._distrust(session.taker)
        merged = session.stage is Stage.MERGED
        planned = session.term in self._planned
        if planned:
            self._planned[session.term] = DONE if merged else session.reason or "cancelled"
        if merged:
            self.owners.give(session.slices, session.taker, session.term, now)
        else:
            # Who planned the move decides what comes of its failure.
            self._membership_changed = self._membership_changed or not planned
            self._plan_after = now + self.settings.join_after
            if session.giver in self.nodes:
                self._order_take(session.slices, session.giver, session.taker, "return", now)
            else:
                self.owners.give(session.slices, "", self._terms.new(), now)
        return self._receipts.of_session(session, merged=merged)

    def _assign(self, now: float) -> None:
        """Give slices without an owner, or of a dead owner, to the nodes."""
        in_session = {s for session in self.sessions.values() for s in session.slices}
        orphans = self.owners.orphans(self.nodes, in_session)
        if not orphans or not any(not report.leaving for report in self.nodes.values()):
            return
        taken = {
            s: node for node, slices in assign_unowned(self.snapshot(now)).items() for s in slices
        }
        for giver, slices in orphans.items():
            by_node: dict[str, list[int]] = {}
            for slice_id in slices:
                by_node.setdefault(taken[slice_id], []).append(slice_id)
            for node, share in by_node.items():
                self._order_take(share, node, giver, "takeover" if giver else "assign", now)

    def _balance(self, now: float) -> None:
        """Plan moves when the membership changed and nothing else is under way."""
        if not self._membership_changed or now < self._plan_after:
            return
        if self.sessions or self.takes or self._queue:
            return
        self._membership_changed = False
        if self.nodes:
            self._queue.extend(self.algorithm.analyze_load(self.snapshot(now)).moves)

    def _start_queued(self, now: float) -> list[Action]:
        """Begin every queued move whose two nodes are free."""
        actions: list[Action] = []
        busy = self._busy()
        waiting: deque[Move] = deque()
        for move in self._queue:
            if move.giver in busy or move.taker in busy:
                waiting.append(move)
            else:
                owned = tuple(s for s in move.slices if self.owners.of[s] == move.giver)
                if owned and move.taker in self.nodes:
                    actions += self._begin(Move(owned, move.giver, move.taker), now).poll(now)
            busy |= {move.giver, move.taker}
        self._queue = waiting
        return actions

    def _order_takes(self, now: float) -> list[Action]:
        actions: list[Action] = []
        for take in self.takes.values():
            if now >= take.next_order:
                take.next_order = now + self.settings.retry
                order = Order(self.topic, take.node, take.term, Step.TAKE, take.slices, "")
                actions.append(Send(order, to=take.node))
        return actions

    def _beat(self, now: float) -> list[Action]:
        actions: list[Action] = []
        if self.owners.changed or (self.settled and now >= self._next_map):
            self._next_map = now + self.settings.map_every
            if self.owners.changed:
                self.version = self._terms.new()
            self.owners.changed = False
            slice_map = self.owners.slice_map(self.topic, self.identity, self.version)
            actions.append(Send(slice_map))
            self._next_beat = now
        if now >= self._next_beat:
            self._next_beat = now + self.settings.beat_every
            nodes = tuple(sorted(self.nodes))
            numbers = tuple(self.nodes[node].number for node in nodes)
            version = self.version if self.settled else self._terms.first
            actions.append(Send(Beat(self.topic, self.identity, version, nodes, numbers)))
        return actions

    # -- recovery and reconciliation ------------------------------------------------------------

    def _unheard(self, now: float) -> list[str]:
        """Nodes that have not said that they hear this balancer, and still may."""
        if now >= self._settle_until + self.settings.silence:
            return []
        return [n for n, report in self.nodes.items() if report.seen_term < self._terms.first]

    def _recover(self, now: float) -> None:
        """Take the owners from the reports; bring the sessions found there to an end."""
        for node, report in list(self.nodes.items()):
            if report.seen_term < self._terms.first:
                self._gone(node, now)
        sessions = self.owners.recover(self.nodes)
        self.settled = True
        # What was uneven before stays: an operator may have wanted it. What calls for moves is a
        # membership that changed while nobody balanced.
        self._membership_changed = (
            bool(sessions)
            or "" in self.owners.of
            or any(report.leaving or not report.slices for report in self.nodes.values())
        )
        for term, found in sessions.items():
            session = self._session(
                term, found.giver, found.taker, found.slices, now, Stage.CANCELLING, "recovered"
            )
            session.reason = "the balancer was restarted"
            if not found.taker:
                session.node_gone("", now)

    def _reconcile(self, report: NodeReport, now: float) -> list[Action]:
        """Bring a node in line with the map, when its report shows that it is not.

        It takes what it owns and does not process under the term of the map (an order was lost, or
        one of a former balancer came late), and gives up what it was taking in a session that is
        over.
        """
        if report.number <= self._checked.get(report.node, 0):
            return []
        works_on = set()
        forgotten: dict[int, list[int]] = {}
        for slice_id, state, term in zip(report.slices, report.states, report.terms, strict=True):
            if state == SliceState.AVAILABLE:
                works_on.add((slice_id, term))
            elif state == SliceState.TAKING and term not in self.sessions:
                forgotten.setdefault(term, []).append(slice_id)
        lacking = [
            s
            for s in self.owners.owned_by(report.node)
            if (s, self.owners.terms[s]) not in works_on and not self._pending(s)
        ]
        if lacking:
            self._order_take(lacking, report.node, "", "assign", now)
        return [
            Send(Order(self.topic, report.node, term, Step.CANCEL, tuple(slices), ""), report.node)
            for term, slices in forgotten.items()
        ]

    def _distrust(self, node: str) -> None:
        """Wait for newer reports: those so far may be older than what was just agreed."""
        report = self.nodes.get(node)
        if report is not None:
            self._checked[node] = report.number + 1

    # -- the map --------------------------------------------------------------------------------

    def snapshot(self, now: float) -> LoadSnapshot:
        """Nodes, slices and loads as an algorithm wants to see them."""
        capacities = self.loads.capacities(self.nodes)
        return LoadSnapshot(
            now,
            tuple(
                ClusterNode(node, capacities[node], report.leaving)
                for node, report in self.nodes.items()
            ),
            tuple(
                PlacedSlice(
                    slice_id,
                    owner if owner in self.nodes else None,
                    self.loads.of(slice_id),
                    moved_at=self.owners.moved_at[slice_id],
                    came_from=self.owners.came_from[slice_id] or None,
                    outlook=self.loads.outlook(slice_id),
                )
                for slice_id, owner in enumerate(self.owners.of)
            ),
        )

    def _order_take(
        self, slices: Iterable[int], node: str, giver: str, cause: str, now: float
    ) -> None:
        term = self._terms.new()
        take = self.takes[term] = Take(term, node, tuple(sorted(slices)), giver, cause, now, now)
        self.owners.give(take.slices, node, term, now)
        self._distrust(node)

    def _begin(self, move: Move, now: float, cause: str = "handover") -> Session:
        return self._session(
            self._terms.new(), move.giver, move.taker, move.slices, now, Stage.FREEZING, cause
        )

    def _session(
        self,
        term: int,
        giver: str,
        taker: str,
        slices: Iterable[int],
        now: float,
        stage: Stage,
        cause: str,
    ) -> Session:
        settings = self.settings
        session = self.sessions[term] = Session(
            self.topic, term, giver, taker, slices, now,
            deadline=settings.deadline, retry=settings.retry, stage=stage, cause=cause,
        )  # fmt: skip
        return session

    def _busy(self) -> set[str]:
        return {n for session in self.sessions.values() for n in (session.giver, session.taker)}

    def _pending(self, slice_id: int) -> bool:
        """Whether the slice is in a session or being taken."""
        return any(slice_id in session.slices for session in self.sessions.values()) or any(
            slice_id in take.slices for take in self.takes.values()
        )
