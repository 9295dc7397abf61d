"""The balancer without sockets, clocks or threads: members, the slice map, and who gets what.

The balancer knows the nodes by their reports, and the slice map by what it ordered. It does four
things:

* *assign*: slices without an owner go to nodes by TAKE; a node that dies leaves such slices behind,
  and they cannot wait for a plan;
* *move*: every handover begins in :meth:`BalancerCore.begin_move`, whoever asked for it, and one
  guard (:mod:`evenflow.slices.balancer.move_checks`) admits it. What calls for moves is told to the
  autonomic loop (:meth:`BalancerCore.changes`), whose planners decide;
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

from typing import TYPE_CHECKING

from evenflow.balance.verify import sound_assignment
from evenflow.errors import MoveRefused
from evenflow.model.messages import (
    Ack,
    MoveReply,
    MoveRequest,
    NodeReport,
    Order,
    SliceCosts,
    SliceLoads,
    Step,
)
from evenflow.slices.actions import NodeGone, Send
from evenflow.slices.balancer.announcements import Announcements
from evenflow.slices.balancer.changes import (
    Change,
    Changes,
    found_by_a_new_balancer,
    idle_nodes,
)
from evenflow.slices.balancer.loads import Loads
from evenflow.slices.balancer.machines import Machines
from evenflow.slices.balancer.members import Members, name_of
from evenflow.slices.balancer.move_checks import MoveGuard
from evenflow.slices.balancer.owners import Owners
from evenflow.slices.balancer.receipts import Receipts
from evenflow.slices.balancer.session import Session, Stage
from evenflow.slices.balancer.sessions import Sessions
from evenflow.slices.balancer.settings import BalancerSettings
from evenflow.slices.balancer.snapshots import load_snapshot
from evenflow.slices.balancer.takeovers import Takeover, Takeovers, differences
from evenflow.slices.ending.bookkeeping import NO_BOOKS, Bookkeeping, Books
from evenflow.slices.terms import Terms

if TYPE_CHECKING:
    from collections.abc import Iterable

    from evenflow.model.plan import Move
    from evenflow.model.snapshot import LoadSnapshot

__all__ = ["BalancerCore", "BalancerSettings"]


class BalancerCore:
    """One topic's balancer."""

    def __init__(
        self,
        topic: str,
        slice_count: int,
        settings: BalancerSettings,
        now: float,
        wall: float,
        *,
        identity: int = 0,
        books: Books = NO_BOOKS,
    ) -> None:
        self.topic = topic
        self.slice_count = slice_count
        self.settings = settings
        self.owners = Owners(slice_count)
        self.loads = Loads(settings.weights, season_s=settings.season)
        self._terms = Terms(wall)
        self.books = Bookkeeping(topic, self._terms, books)
        """Ended writers and registered consumers."""
        self._receipts = Receipts(topic, wall - now, settings.settled_within)
        self._members = Members()
        self._machines = Machines()
        self._sessions = Sessions(topic, settings.deadline, settings.retry)
        self._takeovers = Takeovers(topic, settings.retry)
        self._guard = MoveGuard(self._members, self.owners, self._sessions, self._takeovers)
        self._changes = Changes(settings.join_after, settings.retry)
        self._settle_until = now + settings.settle
        self.settled = False
        """Whether it has listened long enough to know the nodes."""
        self._announcements = Announcements(topic, slice_count, identity, settings, now)

    @property
    def nodes(self) -> dict[str, NodeReport]:
        """The newest report of every node."""
        return self._members.reports

    @property
    def sessions(self) -> dict[int, Session]:
        """The handovers it leads, by term."""
        return self._sessions.open

    @property
    def takeovers(self) -> dict[int, Takeover]:
        """Orders to take that are not acknowledged yet, by term."""
        return self._takeovers.open

    @property
    def version(self) -> int:
        """Version of the newest slice map."""
        return self._announcements.version

    # -- events ---------------------------------------------------------------------------------

    def handle(self, event: object, now: float) -> list[Send]:
        """Take a message or an event in; return what to do."""
        match event:
            case NodeReport():
                return self._reported(event, now)
            case NodeGone():
                return self._gone(event.node, now)
            case Ack():
                return self._acknowledged(event, now)
            case SliceCosts() | SliceLoads():
                self.loads.hear(event, now)
                return []
            case MoveRequest():
                return self._requested(event, now)
            case _:
                return self.books.handle(event)

    def _reported(self, report: NodeReport, now: float) -> list[Send]:
        known = self.nodes.get(report.node)
        if known is not None and report.number <= known.number:
            return []
        self._terms.learn(max((report.seen_term, *report.terms)))
        self._members.hear(report, now)
        self._machines.observe(report, now)
        if known is None:
            self._changes.joined(report.node, now)
        elif known.leaving != report.leaving:
            self._changes.leaving(report.node, now)
        return self._reconcile(report, now) if self.settled else []

    def _gone(self, node: str, now: float) -> list[Send]:
        if not self._members.forget(node):
            return []
        self._machines.forget(node)
        self.books.cutting.on_node_gone(node, now)
        self._changes.died(node, _gone(node), now)
        self._sessions.node_gone(node, now)
        self._takeovers.forget(node)
        return []

    def _acknowledged(self, ack: Ack, now: float) -> list[Send]:
        if Step(ack.step) is Step.SETTLED:
            return self._receipts.settled(ack)
        session = self.sessions.get(ack.term)
        if session is not None:
            session.handle(ack, now)
            return []
        take = self._takeovers.answered(ack)
        if take is None:
            return []
        self._members.distrust(take.node)
        if not ack.ok:
            # Somebody gave out a newer term: give out a still newer one.
            for slice_id in take.slices:
                if self.owners.terms[slice_id] == take.term:
                    again = (take.node, take.giver, take.cause, take.why)
                    self._order_take((slice_id,), *again, now)
            return []
        self._receipts.of_takeover(take, now)
        return []

    # -- moves ----------------------------------------------------------------------------------

    def begin_move(self, move: Move, why: str, now: float, *, plan: str = "") -> int:
        """Begin the handover of slices; returns its term.

        Args:
            move: What goes where.
            why: The reason in words.
            now: The time.
            plan: The plan it belongs to, which will ask for its :meth:`outcome`; empty for none.

        Raises:
            MoveRefused: It must not begin, or not now; says why.
        """
        self._guard.admit(move)
        self.books.cutting.admit(self.nodes[move.taker], now)
        return self._sessions.begin(self._terms.new(), move, why, now, plan=plan).term

    def is_busy(self, move: Move) -> bool:
        """Whether a node or a slice of a move is in a session or being taken, or nobody knows."""
        return not self.settled or bool(self._guard.busy(move))

    def outcome(self, term: int) -> str:
        """How a planned move ended, told once; empty while it is under way."""
        return self._sessions.outcome(term)

    def changes(self, now: float) -> list[Change]:
        """What calls for a plan, told once, when nothing else is under way."""
        if not self.settled or self.sessions or self.takeovers:
            return []
        return self._changes.due(now)

    def plan_failed(self, joined: str, now: float) -> None:
        """A plan that a change called for came to nothing: it will be called for again.

        Args:
            joined: The node that had joined, when the plan was for that; else empty.
            now: The time.
        """
        self._changes.plan_failed(joined if joined in self.nodes else "", now)

    def _requested(self, request: MoveRequest, now: float) -> list[Send]:
        try:
            move = self._guard.resolve(request)
            term = self.begin_move(move, "asked for by hand", now)
        except MoveRefused as refusal:
            return [Send(MoveReply(self.topic, request.request, False, refusal.reason, 0))]  # noqa: FBT003
        accepted = MoveReply(self.topic, request.request, True, "", term)  # noqa: FBT003
        return [Send(accepted), *self.sessions[term].poll(now)]

    # -- time -----------------------------------------------------------------------------------

    def poll(self, now: float) -> list[Send]:
        """Do what is due; call it often and after every event."""
        actions: list[Send] = []
        if not self.settled:
            if now < self._settle_until or self._unheard(now):
                return self._beat(now)
            self._recover(now)
        for node in self._members.silent(now, self.settings.silence):
            actions += self._gone(node, now)
        orders, ended = self._sessions.poll(now)
        actions += orders
        for session in ended:
            actions += self._ended(session, now)
        self._assign(now)
        actions += self._takeovers.poll(now)
        actions += self._receipts.late(now)
        changing = bool(self.sessions or self.takeovers)
        actions += self.books.poll(now, self.nodes, self.owners, changing=changing)
        return [*actions, *self._beat(now)]

    def _ended(self, session: Session, now: float) -> list[Send]:
        """A session is over: the taker owns the slices, or the giver gets them back."""
        self._members.distrust(session.giver)
        self._members.distrust(session.taker)
        merged = session.stage is Stage.MERGED
        if merged:
            self.owners.give(session.slices, session.taker, session.term, now)
            self._changes.handover_done()
        elif session.giver in self.nodes:
            why = f"the handover failed: {session.reason}"
            self._order_take(session.slices, session.giver, session.taker, "return", why, now)
        else:
            self.owners.give(session.slices, "", self._terms.new(), now)
        return self._receipts.of_session(session, merged=merged)

    def _assign(self, now: float) -> None:
        """Give slices without an owner, or of a dead owner, to the nodes."""
        orphans = self.owners.orphans(self.nodes, but=self._sessions.slices())
        ready = self.books.cutting.ready(self.nodes)
        if not orphans or all(report.leaving for report in ready.values()):
            return
        assignment = sound_assignment(self.snapshot(now, ready))
        taken = {s: node for node, slices in assignment.items() for s in slices}
        for giver, slices in orphans.items():
            cause, why = ("takeover", _gone(giver)) if giver else ("assign", "nobody had them")
            by_node: dict[str, list[int]] = {}
            for slice_id in slices:
                by_node.setdefault(taken[slice_id], []).append(slice_id)
            for node, share in by_node.items():
                self._order_take(share, node, giver, cause, why, now)

    def _beat(self, now: float) -> list[Send]:
        return self._announcements.poll(
            now, self.owners, self._members, self._terms, settled=self.settled
        )

    # -- recovery and reconciliation ------------------------------------------------------------

    def _unheard(self, now: float) -> list[str]:
        """Nodes that have not said that they hear this balancer, and still may."""
        if now >= self._settle_until + self.settings.silence:
            return []
        behind = self._members.behind(self._terms.first)
        return behind or self.books.cutting.unknown_to(self.nodes)

    def _recover(self, now: float) -> None:
        """Take the owners from the reports; bring the sessions found there to an end."""
        for node in self._members.behind(self._terms.first):
            self._gone(node, now)
        sessions = self.owners.recover(self.nodes)
        self.settled = True
        # What was uneven before stays: an operator may have wanted it. What calls for moves is a
        # membership that changed while nobody balanced.
        found = found_by_a_new_balancer(sessions, self.owners, self.nodes)
        self._changes.begin_with(list(found), idle_nodes(self.owners, self.nodes), now)
        for term, session in sessions.items():
            self._sessions.resume(term, session, now)

    def _reconcile(self, report: NodeReport, now: float) -> list[Send]:
        """Bring a node in line with the map, when its report shows that it is not."""
        if not self._members.trusts(report):
            return []
        found = differences(report, self.owners, self.sessions, self._guard.changing())
        if found.lacking:
            why = "it did not hold what it owns"
            self._order_take(found.lacking, report.node, "", "assign", why, now)
        return [
            Send(Order(self.topic, report.node, term, Step.CANCEL, slices, ""), report.node)
            for term, slices in found.forgotten.items()
        ]

    # -- the map --------------------------------------------------------------------------------

    def snapshot(self, now: float, nodes: dict[str, NodeReport] | None = None) -> LoadSnapshot:
        """Nodes, slices and loads as an algorithm wants to see them."""
        return load_snapshot(
            now, nodes or self.nodes, self.owners, self.loads, self._machines, self.settings
        )

    def _order_take(
        self, slices: Iterable[int], node: str, giver: str, cause: str, why: str, now: float
    ) -> None:
        self.books.cutting.abandon("slices change hands", now=now)
        term = self._terms.new()
        take = Takeover(term, node, tuple(sorted(slices)), giver, cause, why, now, now)
        self._takeovers.add(take)
        self.owners.give(take.slices, node, term, now)
        self._members.distrust(node)


def _gone(node: str) -> str:
    return f"{name_of(node)} died or was cut off"
