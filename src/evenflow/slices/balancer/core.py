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
from evenflow.slices.actions import Action, NodeGone, Send
from evenflow.slices.balancer.announcements import Announcing
from evenflow.slices.balancer.loads import Loads
from evenflow.slices.balancer.members import Members, name_of
from evenflow.slices.balancer.move_checks import checked_move, refuse_outdated
from evenflow.slices.balancer.owners import Owners
from evenflow.slices.balancer.rebalancing import Rebalancing, calls_for_moves
from evenflow.slices.balancer.receipts import Receipts
from evenflow.slices.balancer.reconciling import differences
from evenflow.slices.balancer.session import Session, Stage
from evenflow.slices.balancer.sessions import Coordination
from evenflow.slices.balancer.settings import BalancerSettings
from evenflow.slices.balancer.snapshots import load_snapshot
from evenflow.slices.balancer.takeovers import Take, Takes
from evenflow.slices.terms import Terms

if TYPE_CHECKING:
    from collections.abc import Iterable

    from evenflow.balance import Algorithm
    from evenflow.model.plan import Move
    from evenflow.model.snapshot import LoadSnapshot

__all__ = ["BalancerCore", "BalancerSettings"]


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
        self.owners = Owners(slice_count)
        self.loads = Loads(settings.weights, season_s=settings.season)
        self._terms = Terms(wall)
        self._receipts = Receipts(topic, wall - now, settings.settled_within)
        self._members = Members()
        self._coordination = Coordination(topic, settings.deadline, settings.retry)
        self._takes = Takes(topic, settings.retry)
        self._rebalancing = Rebalancing(now, settings.join_after)
        self._settle_until = now + settings.settle
        self.settled = False
        """Whether it has listened long enough to know the nodes."""
        self._announcing = Announcing(
            topic, identity, now, beat_every=settings.beat_every, map_every=settings.map_every
        )

    @property
    def nodes(self) -> dict[str, NodeReport]:
        """The newest report of every node."""
        return self._members.reports

    @property
    def sessions(self) -> dict[int, Session]:
        """The handovers it leads, by term."""
        return self._coordination.open

    @property
    def takes(self) -> dict[int, Take]:
        """Orders to take that are not acknowledged yet, by term."""
        return self._takes.open

    @property
    def version(self) -> int:
        """Version of the newest slice map."""
        return self._announcing.version

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
            case SliceCosts():
                self.loads.learn_costs(event)
                return []
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
        self._members.hear(report, now)
        if known is None:
            self._rebalancing.wait(now)
            self._rebalancing.want(f"{name_of(report.node)} joined")
        elif known.leaving != report.leaving:
            self._rebalancing.want(f"{name_of(report.node)} leaves")
        return self._reconcile(report, now) if self.settled else []

    def _gone(self, node: str, now: float) -> list[Action]:
        if not self._members.forget(node):
            return []
        self._rebalancing.want(_gone(node))
        self._coordination.node_gone(node, now)
        self._takes.forget(node)
        self._rebalancing.forget(node)
        return []

    def _acknowledged(self, ack: Ack, now: float) -> list[Action]:
        if Step(ack.step) is Step.SETTLED:
            return self._receipts.settled(ack)
        session = self.sessions.get(ack.term)
        if session is not None:
            session.handle(ack, now)
            return []
        take = self._takes.answered(ack)
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
        self._receipts.of_take(take, now)
        return []

    def _requested(self, request: MoveRequest, now: float) -> list[Action]:
        try:
            busy = self._coordination.busy()
            move = checked_move(request, self._members, self.owners, busy, self._pending)
        except ValueError as error:
            return [self._reply(request, reason=str(error))]
        session = self._coordination.begin(self._terms.new(), move, "asked for by hand", now)
        return [self._reply(request, term=session.term), *session.poll(now)]

    def _reply(self, request: MoveRequest, *, reason: str = "", term: int = 0) -> Send:
        accepted = not reason
        return Send(MoveReply(self.topic, request.request, accepted, reason, term))

    # -- planned moves --------------------------------------------------------------------------

    def is_busy(self, move: Move) -> bool:
        """Whether a node or a slice of a move is in a session or being taken, or nobody knows."""
        busy = self._coordination.busy()
        nodes = move.giver in busy or move.taker in busy
        return not self.settled or nodes or any(map(self._pending, move.slices))

    def begin_move(self, move: Move, plan: str, why: str, now: float) -> int:
        """Begin the session of a planned move; returns its term, for :meth:`outcome`.

        Raises:
            MoveRefused: The nodes or slices are not as the plan has them.
        """
        refuse_outdated(move, self._members, self.owners)
        if self.is_busy(move):
            raise MoveRefused(f"{move.giver} or {move.taker} is in another session")
        term = self._terms.new()
        self._coordination.begin_planned(term, move, plan, why, now)
        return term

    def outcome(self, term: int) -> str:
        """How a planned move ended, told once; empty while it is under way."""
        return self._coordination.outcome(term)

    # -- time -----------------------------------------------------------------------------------

    def poll(self, now: float) -> list[Action]:
        """Do what is due; call it often and after every event."""
        actions: list[Action] = []
        if not self.settled:
            if now < self._settle_until or self._unheard(now):
                return self._beat(now)
            self._recover(now)
        for node in self._members.silent(now, self.settings.silence):
            actions += self._gone(node, now)
        orders, ended = self._coordination.poll(now)
        actions += orders
        for session in ended:
            actions += self._ended(session, now)
        self._assign(now)
        self._balance(now)
        busy = self._coordination.busy()
        for move, why in self._rebalancing.startable(busy, self.owners, self.nodes):
            session = self._coordination.begin(self._terms.new(), move, why, now)
            actions += session.poll(now)
        actions += self._takes.poll(now)
        actions += self._receipts.late(now)
        return [*actions, *self._beat(now)]

    def _ended(self, session: Session, now: float) -> list[Action]:
        """A session is over: the taker owns the slices, or the giver gets them back."""
        self._members.distrust(session.giver)
        self._members.distrust(session.taker)
        merged = session.stage is Stage.MERGED
        if merged:
            self.owners.give(session.slices, session.taker, session.term, now)
        else:
            # Who planned the move decides what comes of its failure.
            if not self._coordination.is_planned(session.term):
                self._rebalancing.want("a handover failed")
            self._rebalancing.wait(now)
            if session.giver in self.nodes:
                why = f"the handover failed: {session.reason}"
                self._order_take(session.slices, session.giver, session.taker, "return", why, now)
            else:
                self.owners.give(session.slices, "", self._terms.new(), now)
        return self._receipts.of_session(session, merged=merged)

    def _assign(self, now: float) -> None:
        """Give slices without an owner, or of a dead owner, to the nodes."""
        orphans = self.owners.orphans(self.nodes, but=self._coordination.slices())
        if not orphans or not self._members.staying():
            return
        assignment = sound_assignment(self.snapshot(now))
        taken = {s: node for node, slices in assignment.items() for s in slices}
        for giver, slices in orphans.items():
            cause, why = ("takeover", _gone(giver)) if giver else ("assign", "nobody had them")
            by_node: dict[str, list[int]] = {}
            for slice_id in slices:
                by_node.setdefault(taken[slice_id], []).append(slice_id)
            for node, share in by_node.items():
                self._order_take(share, node, giver, cause, why, now)

    def _balance(self, now: float) -> None:
        """Plan moves when the membership changed and nothing else is under way."""
        if self._rebalancing.due(now) and not self.sessions and not self.takes:
            self._rebalancing.plan(self.algorithm, self.snapshot(now))

    def _beat(self, now: float) -> list[Action]:
        return self._announcing.poll(
            now, self.owners, self._members, self._terms, settled=self.settled
        )

    # -- recovery and reconciliation ------------------------------------------------------------

    def _unheard(self, now: float) -> list[str]:
        """Nodes that have not said that they hear this balancer, and still may."""
        if now >= self._settle_until + self.settings.silence:
            return []
        return self._members.behind(self._terms.first)

    def _recover(self, now: float) -> None:
        """Take the owners from the reports; bring the sessions found there to an end."""
        for node in self._members.behind(self._terms.first):
            self._gone(node, now)
        sessions = self.owners.recover(self.nodes)
        self.settled = True
        # What was uneven before stays: an operator may have wanted it. What calls for moves is a
        # membership that changed while nobody balanced.
        self._rebalancing.begin_with(calls_for_moves(sessions, self.owners, self.nodes))
        for term, found in sessions.items():
            self._coordination.resume(term, found, now)

    def _reconcile(self, report: NodeReport, now: float) -> list[Action]:
        """Bring a node in line with the map, when its report shows that it is not."""
        if not self._members.trusts(report):
            return []
        found = differences(report, self.owners, self.sessions, self._pending)
        if found.lacking:
            why = "it did not hold what it owns"
            self._order_take(found.lacking, report.node, "", "assign", why, now)
        return [
            Send(Order(self.topic, report.node, term, Step.CANCEL, slices, ""), report.node)
            for term, slices in found.forgotten.items()
        ]

    # -- the map --------------------------------------------------------------------------------

    def snapshot(self, now: float) -> LoadSnapshot:
        """Nodes, slices and loads as an algorithm wants to see them."""
        return load_snapshot(now, self.nodes, self.owners, self.loads)

    def _order_take(
        self, slices: Iterable[int], node: str, giver: str, cause: str, why: str, now: float
    ) -> None:
        term = self._terms.new()
        take = Take(term, node, tuple(sorted(slices)), giver, cause, why, now, now)
        self._takes.add(take)
        self.owners.give(take.slices, node, term, now)
        self._members.distrust(node)

    def _pending(self, slice_id: int) -> bool:
        """Whether the slice is in a session or being taken."""
        return self._coordination.concern(slice_id) or self._takes.concern(slice_id)


def _gone(node: str) -> str:
    return f"{name_of(node)} died or was cut off"
