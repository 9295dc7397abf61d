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
from dataclasses import dataclass, replace

from evenflow.balance import Algorithm, assign_unowned
from evenflow.model.messages import (
    Ack,
    Beat,
    MoveReply,
    MoveRequest,
    NodeReport,
    Order,
    Receipt,
    SliceMap,
    SliceState,
    Step,
)
from evenflow.model.plan import Move
from evenflow.model.snapshot import ClusterNode, LoadSnapshot, PlacedSlice
from evenflow.slices.actions import Action, NodeGone, Send
from evenflow.slices.handover import Session, Stage
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
    """A new node gets this long to find the publishers before slices are moved to it."""
    settled_within: float = 3.0
    """How long a receipt waits for the taker to say what had to be replayed."""


@dataclass(slots=True)
class Take:
    """A takeover, a first assignment or a way back that is not yet acknowledged."""

    term: int
    node: str
    slices: tuple[int, ...]
    giver: str
    cause: str
    started: float
    next_order: float


@dataclass(slots=True)
class Unsettled:
    """A receipt that waits for the taker's last word."""

    receipt: Receipt
    until: float


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
        self.owners: list[str] = [""] * slice_count
        self.terms: list[int] = [0] * slice_count
        self.sessions: dict[int, Session] = {}
        self.takes: dict[int, Take] = {}
        self._terms = Terms(wall)
        self._version = 0
        self._moved_at = [now - 1e9] * slice_count
        self._queue: deque[Move] = deque()
        self._unsettled: dict[int, Unsettled] = {}
        self._checked: dict[str, int] = {}
        """Report up to which a node's holdings may be out of date (an order was on its way)."""
        self._heard_at: dict[str, float] = {}
        self._settle_until = now + settings.settle
        self.settled = False
        """Whether it has listened long enough to know the nodes."""
        self._membership_changed = False
        self._newest_joined = now
        self._map_changed = False
        self._next_beat = now
        self._next_map = now
        self._wall = wall - now

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
            self._newest_joined = now
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
            return self._receipt_settled(ack)
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
                if self.terms[slice_id] == take.term:
                    self._order_take((slice_id,), take.node, take.giver, take.cause, now)
            return []
        return self._receipt(
            take.term, take.cause, take.giver, take.node, take.slices, "done", take.started, now
        )

    def _requested(self, request: MoveRequest, now: float) -> list[Action]:
        try:
            move = self._checked_move(request)
        except ValueError as error:
            reply = MoveReply(self.topic, request.request, False, str(error), 0)
            return [Send(reply)]
        session = self._begin(move, now)
        reply = MoveReply(self.topic, request.request, True, "", session.term)
        return [Send(reply), *session.poll(now)]

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
        free = [s for s in self._owned(giver) if not self._pending(s)]
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
        actions += self._late_receipts(now)
        return [*actions, *self._beat(now)]

    def _ended(self, session: Session, now: float) -> list[Action]:
        """A session is over: the taker owns the slices, or the giver gets them back."""
        self._distrust(session.giver)
        self._distrust(session.taker)
        if session.stage is Stage.MERGED:
            for slice_id in session.slices:
                self._set_owner(slice_id, session.taker, session.term, now)
            return self._receipt(
                session.term, session.cause, session.giver, session.taker, session.slices, "done",
                session.started, session.ended, session.moved, session.repeated,
            )  # fmt: skip
        self._membership_changed = True
        if session.giver in self.nodes:
            self._order_take(session.slices, session.giver, session.taker, "return", now)
        else:
            for slice_id in session.slices:
                self._set_owner(slice_id, "", self._terms.new(), now)
        return self._receipt(
            session.term, session.cause, session.giver, session.taker, session.slices,
            session.reason or "cancelled", session.started, now,
        )  # fmt: skip

    def _assign(self, now: float) -> None:
        """Give slices without an owner, or of a dead owner, to the nodes."""
        in_session = {s for session in self.sessions.values() for s in session.slices}
        orphans: dict[str, list[int]] = {}
        for slice_id, owner in enumerate(self.owners):
            if owner not in self.nodes and slice_id not in in_session:
                orphans.setdefault(owner, []).append(slice_id)
        if not orphans or not any(not report.leaving for report in self.nodes.values()):
            return
        taken = {
            s: node for node, slices in assign_unowned(self._snapshot(now)).items() for s in slices
        }
        for giver, slices in orphans.items():
            by_node: dict[str, list[int]] = {}
            for slice_id in slices:
                by_node.setdefault(taken[slice_id], []).append(slice_id)
            for node, share in by_node.items():
                self._order_take(share, node, giver, "takeover" if giver else "assign", now)

    def _balance(self, now: float) -> None:
        """Plan moves when the membership changed and nothing else is under way."""
        if not self._membership_changed or self.sessions or self.takes or self._queue:
            return
        if now < self._newest_joined + self.settings.join_after:
            return
        self._membership_changed = False
        if self.nodes:
            self._queue.extend(self.algorithm.analyze_load(self._snapshot(now)).moves)

    def _start_queued(self, now: float) -> list[Action]:
        """Begin every queued move whose two nodes are free."""
        actions: list[Action] = []
        busy = self._busy()
        waiting: deque[Move] = deque()
        for move in self._queue:
            if move.giver in busy or move.taker in busy:
                waiting.append(move)
            else:
                owned = tuple(s for s in move.slices if self.owners[s] == move.giver)
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
        if self._map_changed or (self.settled and now >= self._next_map):
            self._next_map = now + self.settings.map_every
            if self._map_changed:
                self._version = self._terms.new()
            self._map_changed = False
            actions.append(Send(self.slice_map()))
            self._next_beat = now
        if now >= self._next_beat:
            self._next_beat = now + self.settings.beat_every
            nodes = tuple(sorted(self.nodes))
            numbers = tuple(self.nodes[node].number for node in nodes)
            version = self._version if self.settled else self._terms.first
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
        self.settled = self._membership_changed = self._map_changed = True
        open_sessions: dict[int, dict[str, set[int]]] = {}
        for report in self.nodes.values():
            for slice_id, state, term in zip(
                report.slices, report.states, report.terms, strict=True
            ):
                if slice_id >= self.slice_count:
                    continue
                if state != SliceState.AVAILABLE:
                    sides = open_sessions.setdefault(term, {})
                    sides.setdefault(f"{state}{report.node}", set()).add(slice_id)
                elif term > self.terms[slice_id]:
                    self.owners[slice_id], self.terms[slice_id] = report.node, term
        for term, sides in open_sessions.items():
            self._resume(term, sides, now)

    def _resume(self, term: int, sides: dict[str, set[int]], now: float) -> None:
        """Bring to an end a session that another balancer began."""
        roles = {int(key[0]): key[1:] for key in sides}
        giver = roles.get(SliceState.GIVING, "")
        taker = roles.get(SliceState.TAKING, "")
        slices = {s for held in sides.values() for s in held if self.terms[s] < term}
        if not slices:
            return
        session = self._session(term, giver, taker, slices, now, Stage.CANCELLING, "recovered")
        session.reason = "the balancer was restarted"
        if not taker:
            session.node_gone("", now)

    def _reconcile(self, report: NodeReport, now: float) -> list[Action]:
        """Bring a node in line with the map, when its report shows that it is not.

        It takes what it owns and does not process (an order was lost, or one of a former balancer
        came late), and gives up what it was taking in a session that is over.
        """
        if report.number <= self._checked.get(report.node, 0):
            return []
        works_on = set()
        forgotten: dict[int, list[int]] = {}
        for slice_id, state, term in zip(report.slices, report.states, report.terms, strict=True):
            if state == SliceState.AVAILABLE:
                works_on.add(slice_id)
            elif state == SliceState.TAKING and term not in self.sessions:
                forgotten.setdefault(term, []).append(slice_id)
        lacking = [
            s for s in self._owned(report.node) if s not in works_on and not self._pending(s)
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

    def slice_map(self) -> SliceMap:
        """The assignment as it is now."""
        nodes = tuple(sorted({owner for owner in self.owners if owner}))
        index = {node: i for i, node in enumerate(nodes, 1)}
        owners = tuple(index.get(owner, 0) for owner in self.owners)
        return SliceMap(self.topic, self.identity, self._version, nodes, owners, tuple(self.terms))

    def _snapshot(self, now: float) -> LoadSnapshot:
        return LoadSnapshot(
            now,
            tuple(ClusterNode(node, leaving=r.leaving) for node, r in self.nodes.items()),
            tuple(
                PlacedSlice(s, owner if owner in self.nodes else None, moved_at=self._moved_at[s])
                for s, owner in enumerate(self.owners)
            ),
        )

    def _set_owner(self, slice_id: int, node: str, term: int, now: float) -> None:
        self.owners[slice_id] = node
        self.terms[slice_id] = term
        self._moved_at[slice_id] = now
        self._map_changed = True

    def _order_take(
        self, slices: Iterable[int], node: str, giver: str, cause: str, now: float
    ) -> None:
        term = self._terms.new()
        self.takes[term] = Take(term, node, tuple(sorted(slices)), giver, cause, now, now)
        for slice_id in self.takes[term].slices:
            self._set_owner(slice_id, node, term, now)
        self._distrust(node)

    def _begin(self, move: Move, now: float) -> Session:
        return self._session(
            self._terms.new(), move.giver, move.taker, move.slices, now, Stage.FREEZING, "handover"
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

    def _owned(self, node: str) -> list[int]:
        return [slice_id for slice_id, owner in enumerate(self.owners) if owner == node]

    def _busy(self) -> set[str]:
        return {n for session in self.sessions.values() for n in (session.giver, session.taker)}

    def _pending(self, slice_id: int) -> bool:
        """Whether the slice is in a session or being taken."""
        return any(slice_id in session.slices for session in self.sessions.values()) or any(
            slice_id in take.slices for take in self.takes.values()
        )

    # -- receipts -------------------------------------------------------------------------------

    def _receipt(
        self,
        term: int,
        cause: str,
        giver: str,
        taker: str,
        slices: tuple[int, ...],
        outcome: str,
        started: float,
        ended: float,
        moved: int = 0,
        repeated: int = 0,
    ) -> list[Action]:
        receipt = Receipt(
            self.topic, term, cause, giver, taker, slices, outcome, started + self._wall,
            (ended - started) * 1000, moved, 0, 0, repeated,
        )  # fmt: skip
        if outcome != "done":
            return [Send(receipt)]
        self._unsettled[term] = Unsettled(receipt, ended + self.settings.settled_within)
        return []

    def _receipt_settled(self, ack: Ack) -> list[Action]:
        waiting = self._unsettled.pop(ack.term, None)
        if waiting is None or waiting.receipt.taker != ack.node:
            return []
        return [Send(replace(waiting.receipt, replayed=ack.replayed, lost=ack.lost))]

    def _late_receipts(self, now: float) -> list[Action]:
        late = [term for term, waiting in self._unsettled.items() if now >= waiting.until]
        return [Send(self._unsettled.pop(term).receipt) for term in late]
