"""What a balancer has under way while it leads: owners, sessions, orders to take, receipts.

It begins empty and is thrown away when the balancer steps down: nothing of it may be gone by later,
because another one leads meanwhile. The nodes' reports are all that a new one begins with.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from evenflow.model.messages import Step
from evenflow.slices.balancer.announcements import Announcements
from evenflow.slices.balancer.changes import Changes, found_by_a_new_balancer, idle_nodes
from evenflow.slices.balancer.membership.members import name_of
from evenflow.slices.balancer.move_checks import MoveGuard
from evenflow.slices.balancer.owners import Owners
from evenflow.slices.balancer.receipts import Receipts
from evenflow.slices.balancer.session import Session, Stage
from evenflow.slices.balancer.sessions import Sessions
from evenflow.slices.balancer.takeovers import Takeover, Takeovers

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from evenflow.model.messages import Ack
    from evenflow.slices.actions import Send
    from evenflow.slices.balancer.membership.leadership import Leadership
    from evenflow.slices.balancer.membership.members import Members
    from evenflow.slices.balancer.settings import BalancerSettings
    from evenflow.slices.ending.bookkeeping import Bookkeeping


class Duty:
    """The work of one topic's balancer, from the claim to lead until it steps down.

    Args:
        topic: The topic.
        slice_count: Into how many slices it is cut.
        settings: Times.
        leadership: By whose claim.
        members: The nodes.
        books: Ended writers and registered consumers.
        now: The time.
        offset: What the wall clock is ahead of ``now``.
    """

    def __init__(
        self,
        topic: str,
        slice_count: int,
        settings: BalancerSettings,
        leadership: Leadership,
        members: Members,
        *,
        books: Bookkeeping,
        now: float,
        offset: float,
    ) -> None:
        self.turn = leadership.turn
        """Of the leadership; it is over when that has another."""
        self.settle_until = now + settings.settle
        self.settled = False
        self.owners = Owners(slice_count)
        self.receipts = Receipts(topic, offset, settings.settled_within)
        self.sessions = Sessions(topic, settings.deadline, settings.retry)
        self.takeovers = Takeovers(topic, settings.retry)
        self.guard = MoveGuard(members, self.owners, self.sessions, self.takeovers)
        self.changes = Changes(settings.join_after, settings.retry)
        self.announcements = Announcements(topic, slice_count, leadership.identity, settings, now)
        self.books = books
        self._members = members
        self._terms = leadership.terms

    def on_node_gone(self, node: str, now: float) -> None:
        """A node is gone."""
        self.books.cutting.on_node_gone(node, now)
        self.changes.died(node, _gone(node), now)
        self.sessions.node_gone(node, now)
        self.takeovers.forget(node)

    def on_ack(self, ack: Ack, now: float) -> list[Send]:
        """A node did, or refused, what it was ordered."""
        if Step(ack.step) is Step.SETTLED:
            return self.receipts.settled(ack)
        session = self.sessions.open.get(ack.term)
        if session is not None:
            session.handle(ack, now)
            return session.poll(now)
        take = self.takeovers.answered(ack)
        if take is None:
            return []
        self._members.distrust(take.node)
        if ack.ok:
            self.receipts.of_takeover(take, now)
            return []
        left = [s for s in take.slices if self.owners.terms[s] == take.term]
        if left:
            # Perhaps a newer term was given out: order it under a still newer one, not at once.
            pause = self.takeovers.on_refused(take.node)
            again = (take.node, take.giver, take.cause, take.why)
            self.order_take(left, *again, now, pause=pause)
        return []

    def on_session_over(self, session: Session, now: float) -> list[Send]:
        """A session is over: the taker owns the slices, or the giver gets them back."""
        self._members.distrust(session.giver)
        self._members.distrust(session.taker)
        merged = session.stage is Stage.MERGED
        if merged:
            self.owners.give(session.slices, session.taker, session.term, now)
            self.changes.handover_done()
        elif session.giver in self._members.reports:
            why = f"the handover failed: {session.reason}"
            self.order_take(session.slices, session.giver, session.taker, "return", why, now)
        else:
            self.owners.give(session.slices, "", self._terms.new(), now)
        return self.receipts.of_session(session, merged=merged)

    def order_take(
        self,
        slices: Iterable[int],
        node: str,
        giver: str,
        cause: str,
        why: str,
        now: float,
        *,
        pause: float = 0.0,
    ) -> None:
        """A node owns slices from now on; it is told so, after a pause if need be."""
        self.books.cutting.kept.on_part_lost(self.books.cutting.ended)
        term = self._terms.new()
        take = Takeover(term, node, tuple(sorted(slices)), giver, cause, why, now, now + pause)
        self.takeovers.add(take)
        self.owners.give(take.slices, node, term, now)
        self._members.distrust(node)

    def orphans(self) -> dict[str, list[int]]:
        """Slices that no node owns and no session moves, by their former owner."""
        return self.owners.orphans(self._members.reports, but=self.sessions.slices())

    def assign(
        self, orphans: dict[str, list[int]], assignment: Mapping[str, Iterable[int]], now: float
    ) -> None:
        """Give slices without an owner, or of a dead owner, to the nodes of an assignment."""
        taken = {s: node for node, slices in assignment.items() for s in slices}
        for giver, slices in orphans.items():
            cause, why = ("takeover", _gone(giver)) if giver else ("assign", "nobody had them")
            by_node: dict[str, list[int]] = {}
            for slice_id in slices:
                by_node.setdefault(taken[slice_id], []).append(slice_id)
            for node, share in by_node.items():
                self.order_take(share, node, giver, cause, why, now)

    def recover(self, now: float) -> None:
        """Take the owners from the reports; bring the sessions found there to an end."""
        nodes = self._members.reports
        self.books.cutting.settle(nodes.values())
        sessions = self.owners.recover(nodes)
        self.settled = True
        # What was uneven before stays: an operator may have wanted it. What calls for moves is a
        # membership that changed while nobody balanced.
        found = found_by_a_new_balancer(sessions, self.owners, nodes)
        self.changes.begin_with(list(found), idle_nodes(self.owners, nodes), now)
        for term, session in sessions.items():
            self.sessions.resume(term, session, now)

    def poll(self, now: float) -> list[Send]:
        """What to order now of the sessions, and what to tell of those that are over."""
        actions, ended = self.sessions.poll(now)
        for session in ended:
            actions += self.on_session_over(session, now)
        return actions

    def poll_books(self, now: float) -> list[Send]:
        """What to tell of writers and consumers, and whom to ask."""
        changing = bool(self.sessions.open or self.takeovers.open)
        return self.books.poll(now, self._members.reports, self.owners, changing=changing)


def _gone(node: str) -> str:
    return f"{name_of(node)} died or was cut off"
