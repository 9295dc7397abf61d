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

It does so only while its process leads (:mod:`~evenflow.slices.balancer.membership.leadership`). A
balancer that steps down forgets what it had under way (:mod:`evenflow.slices.balancer.duty`) and
only listens; when it leads again it recovers, as a new one does. A node that does not fit the topic
is refused before all of this (:mod:`~evenflow.slices.balancer.membership.admission`).

A term (:mod:`evenflow.slices.terms`) names one owner, so at most one node owns a slice in a term;
publishers and nodes let the newer term win.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from evenflow.balance.verify import sound_assignment
from evenflow.errors import MoveRefused
from evenflow.model.messages import (
    Ack,
    Beat,
    MoveReply,
    MoveRequest,
    NewerTerm,
    NodeReport,
    Order,
    SliceCosts,
    SliceLoads,
    Step,
)
from evenflow.slices.actions import NodeGone, Send
from evenflow.slices.balancer.changes import Change
from evenflow.slices.balancer.duty import Duty
from evenflow.slices.balancer.loads import Loads
from evenflow.slices.balancer.machines import Machines
from evenflow.slices.balancer.membership.admission import Admission
from evenflow.slices.balancer.membership.leadership import Leadership
from evenflow.slices.balancer.membership.members import Members
from evenflow.slices.balancer.owners import Owners
from evenflow.slices.balancer.session import Session
from evenflow.slices.balancer.settings import BalancerSettings
from evenflow.slices.balancer.snapshots import load_snapshot
from evenflow.slices.balancer.takeovers import Takeover, differences
from evenflow.slices.ending.bookkeeping import Bookkeeping, Books

if TYPE_CHECKING:
    from collections.abc import Callable

    from evenflow.model.plan import Move
    from evenflow.model.snapshot import LoadSnapshot

__all__ = ["BalancerCore", "BalancerSettings"]


class BalancerCore:
    """One topic's balancer.

    Args:
        topic: The topic.
        slice_count: Into how many slices it is cut.
        settings: Times, and what makes up a load.
        now: The time.
        wall: The time of day, in seconds since 1970.
        leadership: Whether the process leads, when there may be others; else it always does.
        layout: How the topic is set up; nodes that say otherwise are refused.
        books: Gives what is on disk of ended writers and registered consumers.
    """

    def __init__(
        self,
        topic: str,
        slice_count: int,
        settings: BalancerSettings,
        now: float,
        wall: float,
        *,
        leadership: Leadership | None = None,
        layout: str = "",
        books: Callable[[], Books] = Books,
    ) -> None:
        self.topic = topic
        self.slice_count = slice_count
        self.settings = settings
        self.loads = Loads(settings.weights, season_s=settings.season)
        self.leadership = leadership or Leadership(now, wall, alone=True)
        self.admission = Admission(topic, layout)
        self._terms = self.leadership.terms
        self._offset = wall - now
        self._load_books = books
        self._members = Members()
        self._machines = Machines()
        self._duty = self._begin(now)

    def _begin(self, now: float, before: Bookkeeping | None = None) -> Duty:
        """Know nothing but the nodes' reports and what is on disk: at the start, and at each turn.

        What was decided and is not complete the nodes know, or it is as if it had never been. What
        another balancer has saved meanwhile, on the same disk, counts.
        """
        books = Bookkeeping(self.topic, self._terms, self._load_books(), self._offset)
        if before is not None:
            books.adopt(before)
        return Duty(
            self.topic,
            self.slice_count,
            self.settings,
            self.leadership,
            self._members,
            books=books,
            now=now,
            offset=self._offset,
        )

    @property
    def settled(self) -> bool:
        """Whether it leads, and has listened long enough to know the nodes."""
        return self._duty.settled

    @property
    def owners(self) -> Owners:
        """Who owns what."""
        return self._duty.owners

    @property
    def books(self) -> Bookkeeping:
        """Ended writers and registered consumers."""
        return self._duty.books

    @property
    def nodes(self) -> dict[str, NodeReport]:
        """The newest report of every node."""
        return self._members.reports

    @property
    def sessions(self) -> dict[int, Session]:
        """The handovers it leads, by term."""
        return self._duty.sessions.open

    @property
    def takeovers(self) -> dict[int, Takeover]:
        """Orders to take that are not acknowledged yet, by term."""
        return self._duty.takeovers.open

    @property
    def version(self) -> int:
        """Version of the newest slice map."""
        return self._duty.announcements.version

    # -- events ---------------------------------------------------------------------------------

    def handle(self, event: object, now: float) -> list[Send]:
        """Take a message or an event in; return what to do."""
        self._follow_leadership(now)
        actions: list[Send] = []
        match event:
            case Beat():
                self.leadership.on_beat(event, now)
                self._follow_leadership(now)
            case NewerTerm():
                self.leadership.on_newer_term(event.source, event.term, now)
                self._follow_leadership(now)
            case NodeReport():
                actions = self._reported(event, now)
            case NodeGone():
                self.admission.forget(event.node)
                self._forget(event.node, now)
            case Ack():
                actions = self._duty.on_ack(event, now)
            case SliceCosts() | SliceLoads():
                self.loads.hear(event, now)
            case MoveRequest():
                actions = self._requested(event, now)
            case _:
                actions = self.books.handle(event, now, leads=self.leadership.leads)
        return actions

    def _follow_leadership(self, now: float) -> None:
        """The process leads no more, or anew: what was under way is over."""
        if self._duty.turn != self.leadership.turn:
            self._duty = self._begin(now, self.books)

    def _reported(self, report: NodeReport, now: float) -> list[Send]:
        if not self.admission.admits(report, now):
            self._forget(report.node, now)
            return []
        known = self.nodes.get(report.node)
        if known is not None and report.number <= known.number:
            return []
        self.leadership.on_report(report, now)
        self._follow_leadership(now)
        first = self._terms.first
        if self.settled and self.owners.knows_less_than(report, first, self.sessions):
            self.leadership.claim_anew(f"{report.node} owns slices by another's word", now)
            self._follow_leadership(now)
        self._members.hear(report, now)
        self._machines.observe(report, now)
        if known is None:
            self._duty.changes.joined(report.node, now)
        elif known.leaving != report.leaving:
            self._duty.changes.leaving(report.node, now)
        return self._reconcile(report, now) if self.settled else []

    def _forget(self, node: str, now: float) -> None:
        """A node is gone."""
        if self._members.forget(node):
            self._machines.forget(node)
            self._duty.on_node_gone(node, now)

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
        self._duty.guard.admit(move)
        self.books.cutting.admit(self.nodes[move.taker])
        return self._duty.sessions.begin(self._terms.new(), move, why, now, plan=plan).term

    def is_busy(self, move: Move) -> bool:
        """Whether a node or a slice of a move is in a session or being taken, or nobody knows."""
        return not self.settled or bool(self._duty.guard.busy(move))

    def outcome(self, term: int) -> str:
        """How a planned move ended, told once; empty while it is under way."""
        return self._duty.sessions.outcome(term)

    def changes(self, now: float) -> list[Change]:
        """What calls for a plan, told once, when nothing else is under way."""
        if not self.settled or self.sessions or self.takeovers:
            return []
        return self._duty.changes.due(now)

    def plan_failed(self, joined: str, now: float) -> None:
        """A plan that a change called for came to nothing: it will be called for again.

        Args:
            joined: The node that had joined, when the plan was for that; else empty.
            now: The time.
        """
        self._duty.changes.plan_failed(joined if joined in self.nodes else "", now)

    def _requested(self, request: MoveRequest, now: float) -> list[Send]:
        if not self.leadership.leads:
            return []  # who leads answers
        try:
            move = self._duty.guard.resolve(request)
            term = self.begin_move(move, "asked for by hand", now)
        except MoveRefused as refusal:
            return [Send(MoveReply(self.topic, request.request, False, refusal.reason, 0))]  # noqa: FBT003
        accepted = MoveReply(self.topic, request.request, True, "", term)  # noqa: FBT003
        return [Send(accepted), *self.sessions[term].poll(now)]

    # -- time -----------------------------------------------------------------------------------

    def poll(self, now: float) -> list[Send]:
        """Do what is due; call it often and after every event."""
        self.leadership.poll(now)
        self._follow_leadership(now)
        duty = self._duty
        silent = self._members.silent(now, self.settings.silence)
        if not self.leadership.leads:
            for node in silent:
                self._forget(node, now)
            return []
        actions = self.admission.poll(now)
        if not duty.settled:
            if now < duty.settle_until or self._unheard(silent, now):
                return [*actions, *self._announce(now)]
            silent += self._members.behind(self._terms.first)
        for node in silent:
            self._forget(node, now)
        if not duty.settled:
            duty.recover(now)
        actions += duty.poll(now)
        self._assign(now)
        return [
            *actions,
            *duty.takeovers.poll(now),
            *duty.receipts.late(now),
            *duty.poll_books(now),
            *self._announce(now),
        ]

    def _assign(self, now: float) -> None:
        """Give slices without an owner, or of a dead owner, to nodes that know who has ended."""
        orphans = self._duty.orphans()
        ready = self.books.cutting.ready(self.nodes)
        if orphans and not all(report.leaving for report in ready.values()):
            self._duty.assign(orphans, sound_assignment(self.snapshot(now, ready)), now)

    def _announce(self, now: float) -> list[Send]:
        duty = self._duty
        return duty.announcements.poll(
            now, duty.owners, self._members, self._terms, settled=duty.settled
        )

    # -- recovery and reconciliation ------------------------------------------------------------

    def _unheard(self, silent: list[str], now: float) -> bool:
        """Whether nodes have still to say that they hear this balancer, or what they know."""
        behind = self._members.behind(self._terms.first)
        if behind and now < self._duty.settle_until + self.settings.silence:
            return True
        gone = {*behind, *silent}
        here = [report for node, report in self.nodes.items() if node not in gone]
        return bool(self.books.cutting.lacking(here))

    def _reconcile(self, report: NodeReport, now: float) -> list[Send]:
        """Bring a node in line with the map, when its report shows that it is not."""
        if not self._members.trusts(report):
            return []
        found = differences(report, self.owners, self.sessions, self._duty.guard.changing())
        if found.lacking:
            why = "it did not hold what it owns"
            self._duty.order_take(found.lacking, report.node, "", "assign", why, now)
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
