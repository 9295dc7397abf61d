"""The balancer alone: assign, join, leave, takeover, reconcile, recover, and operators' moves."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from evenflow.autonomic.knowledge.history import History
from evenflow.config import BalancerConfig, Config, TopicConfig
from evenflow.model.messages import (
    Ack,
    Beat,
    MapPage,
    MoveReply,
    MoveRequest,
    NodeReport,
    Order,
    Receipt,
    SliceLoads,
    SliceState,
    Step,
)
from evenflow.slices.actions import NodeGone, Send
from evenflow.slices.balancer.autonomy import SliceAutonomy
from evenflow.slices.balancer.core import BalancerCore, BalancerSettings
from evenflow.slices.balancer.session import Stage
from evenflow.slices.terms import balancer_of
from evenflow.testing.balancer import SimStarter

TOPIC, SLICES, WALL = "items", 6, 1_000.0
A, B, C = "a~1", "b~2", "c~3"
SETTINGS = BalancerSettings(settle=1.0, deadline=5.0, silence=5.0, join_after=0.5)
AVAILABLE, GIVING, TAKING = SliceState.AVAILABLE, SliceState.GIVING, SliceState.TAKING
CONFIG = Config(
    topics=(TopicConfig(TOPIC, slices=SLICES),),
    balancer=BalancerConfig(algorithm="count", analyze_s=0.0),
)
NOBODY_STARTS = SimStarter(lambda: pytest.fail("a start"), lambda _: pytest.fail("a stop"))
Held = dict[int, tuple[SliceState, int]]


@dataclass
class Desk:
    """A balancer, obedient nodes as far as a test wants them, and everything that was said."""

    now: float = 0.0
    core: BalancerCore = field(init=False)
    autonomy: SliceAutonomy = field(init=False)
    said: list[object] = field(default_factory=list)
    numbers: Counter[str] = field(default_factory=Counter)
    held: dict[str, Held] = field(default_factory=dict)
    leaving: set[str] = field(default_factory=set)
    history: History = field(default_factory=lambda: History(Path(":memory:")))

    def __post_init__(self) -> None:
        self._start()

    def _start(self) -> None:
        wall = WALL + self.now
        self.core = BalancerCore(TOPIC, SLICES, SETTINGS, self.now, wall)
        self.autonomy = SliceAutonomy(
            CONFIG, {TOPIC: self.core}, self.history, NOBODY_STARTS, self.now, wall
        )

    def restarts(self) -> None:
        self.now += 0.01
        self._start()
        self.said.clear()

    def does(self, actions: list[Send]) -> None:
        self.said += [action.message for action in actions if isinstance(action, Send)]

    def hears(self, *events: object) -> None:
        for event in events:
            self.does(self.core.handle(event, self.now))

    def waits(self, seconds: float = 0.0) -> None:
        self.now += seconds
        self.does(self.core.poll(self.now))
        self.autonomy.poll(self.now)
        self.does(self.core.poll(self.now))

    def report(self, node: str, *, seen: int | None = None) -> NodeReport:
        self.numbers[node] += 1
        held = self.held.setdefault(node, {})
        newest = max([beat.version for beat in self.of(Beat)], default=0)
        terms = tuple(term for _, term in held.values())
        seen = max((newest, *terms)) if seen is None else seen
        return NodeReport(
            TOPIC, node, self.numbers[node], seen, node in self.leaving, tuple(held),
            tuple(state for state, _ in held.values()), terms, 0, 0, 0, 0, 0, 0, 0, 0.0, "", 0,
        )  # fmt: skip

    def reports(self, *nodes: str) -> None:
        for node in nodes or tuple(self.held):
            self.hears(self.report(node))

    def of(self, kind: type, **fields: object) -> list[object]:
        return [
            one
            for one in self.said
            if isinstance(one, kind) and all(getattr(one, k) == v for k, v in fields.items())
        ]

    def orders(self, step: Step) -> list[Order]:
        return [one for one in self.of(Order, step=step) if isinstance(one, Order)]

    def ack(self, node: str, term: int, step: Step, *, reason: str = "", moved: int = 0) -> None:
        self.hears(Ack(TOPIC, node, term, step, not reason, reason, moved, 0, 0))

    def obeys(self) -> None:
        """Every node takes what it is ordered to take."""
        for take in list(self.core.takeovers.values()):
            for slice_id in take.slices:
                self.held[take.node][slice_id] = (AVAILABLE, take.term)
            self.ack(take.node, take.term, Step.TAKE)
        self.waits()

    def hands_over(self) -> None:
        """Every session under way takes its course."""
        for session in list(self.core.sessions.values()):
            for step in (Step.FREEZE, Step.ADD, Step.REMOVE, Step.ACTIVATE, Step.MERGED):
                giving = step in (Step.FREEZE, Step.REMOVE)
                self.ack(session.giver if giving else session.taker, session.term, step)
                self.waits()
            for slice_id in session.slices:
                del self.held[session.giver][slice_id]
                self.held[session.taker][slice_id] = (AVAILABLE, session.term)

    def shares(self) -> dict[str, int]:
        return dict(Counter(self.core.owners.of))


def desk_with(*nodes: str) -> Desk:
    """A settled balancer whose nodes own all slices."""
    desk = Desk()
    desk.waits()
    for node in nodes:
        desk.held[node] = {}
    desk.waits(SETTINGS.settle - 0.1)
    desk.reports()
    desk.waits(0.1)
    desk.obeys()
    desk.reports()
    desk.waits(SETTINGS.join_after)
    desk.said = desk.of(Beat)
    return desk


# -- assign --------------------------------------------------------------------------------------


def test_nothing_is_ordered_before_it_has_listened() -> None:
    desk = Desk()
    desk.waits()
    desk.hears(desk.report(A))
    desk.waits(SETTINGS.settle - 0.1)
    assert desk.of(Beat)
    assert not desk.of(Order)
    assert not desk.of(MapPage)


def test_slices_are_shared_out_evenly() -> None:
    desk = desk_with(A, B, C)
    assert desk.shares() == {A: 2, B: 2, C: 2}
    assert not desk.core.takeovers
    receipts = desk.core._duty.receipts
    assert len(receipts._waiting) == 3


def test_a_take_is_repeated_until_it_is_acknowledged() -> None:
    desk = Desk()
    desk.waits()
    desk.held[A] = {}
    desk.waits(1.0)
    desk.reports()
    desk.waits()
    desk.waits(SETTINGS.retry)
    first, second = desk.orders(Step.TAKE)
    assert first == second
    desk.obeys()
    desk.waits(SETTINGS.retry)
    assert len(desk.orders(Step.TAKE)) == 2


def test_a_refused_take_is_ordered_anew_under_a_newer_term() -> None:
    desk = Desk()
    desk.waits()
    desk.held[A] = {}
    desk.waits(1.0)
    desk.reports()
    desk.waits()
    [take] = desk.core.takeovers.values()
    desk.ack(A, take.term, Step.TAKE, reason="a newer term is known here")
    assert all(again.term > take.term for again in desk.core.takeovers.values())
    assert {s for again in desk.core.takeovers.values() for s in again.slices} == set(range(SLICES))


def test_an_acknowledgement_of_the_wrong_node_or_step_is_no_answer() -> None:
    desk = Desk()
    desk.waits()
    desk.held[A] = {}
    desk.waits(1.0)
    desk.reports()
    desk.waits()
    [take] = desk.core.takeovers.values()
    desk.ack(B, take.term, Step.TAKE)
    desk.ack(A, take.term, Step.ADD)
    assert desk.core.takeovers


# -- join and leave ------------------------------------------------------------------------------


def test_a_node_that_joins_gets_its_share_after_a_while() -> None:
    desk = desk_with(A)
    desk.held[B] = {}
    desk.reports(B)
    desk.waits(SETTINGS.join_after - 0.1)
    assert not desk.core.sessions
    desk.reports()
    desk.waits(0.2)
    [session] = desk.core.sessions.values()
    assert (session.giver, session.taker, len(session.slices)) == (A, B, 3)
    desk.hands_over()
    assert desk.shares() == {A: 3, B: 3}
    [newest] = desk.of(MapPage)[-1:]
    assert isinstance(newest, MapPage)
    assert newest.terms.count(session.term) == 3


def test_a_leaving_node_gives_all_away_and_gets_nothing() -> None:
    desk = desk_with(A, B, C)
    desk.leaving.add(A)
    for _ in range(4):
        desk.reports()
        desk.waits(SETTINGS.join_after)
        desk.hands_over()
    assert desk.shares() == {B: 3, C: 3}


def test_sessions_that_share_a_node_wait_for_one_another() -> None:
    desk = desk_with(A, B)
    desk.held[C] = {}
    desk.reports()
    desk.waits(SETTINGS.join_after)
    assert len(desk.core.sessions) == 1
    desk.hands_over()
    assert len(desk.core.sessions) == 1
    desk.hands_over()
    assert desk.shares() == {A: 2, B: 2, C: 2}


def test_the_last_node_keeps_its_slices_though_it_leaves() -> None:
    desk = desk_with(A)
    desk.leaving.add(A)
    desk.reports()
    desk.waits(1.0)
    assert desk.shares() == {A: 6}
    assert not desk.core.sessions


# -- takeover ------------------------------------------------------------------------------------


def test_slices_of_a_dead_node_go_to_the_others() -> None:
    desk = desk_with(A, B, C)
    old = max(desk.core.owners.terms)
    desk.hears(NodeGone(A))
    desk.waits()
    assert {take.cause for take in desk.core.takeovers.values()} == {"takeover"}
    assert {take.giver for take in desk.core.takeovers.values()} == {A}
    assert all(take.term > old for take in desk.core.takeovers.values())
    desk.obeys()
    assert desk.shares() == {B: 3, C: 3}


def test_a_silent_node_counts_as_dead() -> None:
    desk = desk_with(A, B)
    desk.reports(B)
    for _ in range(6):
        desk.waits(1.0)
        desk.reports(B)
    assert desk.shares() == {B: 6}
    assert A not in desk.core.nodes


def test_without_nodes_slices_wait() -> None:
    desk = desk_with(A)
    desk.hears(NodeGone(A))
    desk.waits(1.0)
    assert not desk.core.takeovers
    desk.held[B] = {}
    desk.reports(B)
    desk.waits()
    desk.obeys()
    assert desk.shares() == {B: 6}


def test_a_node_that_dies_while_it_takes_is_replaced() -> None:
    desk = desk_with(A, B, C)
    desk.hears(NodeGone(A))
    desk.waits()
    desk.hears(NodeGone(B))
    desk.waits()
    desk.obeys()
    assert desk.shares() == {C: 6}


def test_a_death_nobody_knows_of_changes_nothing() -> None:
    desk = desk_with(A, B)
    before = list(desk.core.owners.terms)
    desk.hears(NodeGone("stranger~9"))
    desk.waits()
    assert desk.core.owners.terms == before


# -- sessions that fail --------------------------------------------------------------------------


def session_under_way() -> Desk:
    desk = desk_with(A, B)
    desk.hears(MoveRequest(TOPIC, 1, A, B, 2, ()))
    return desk


def test_a_cancelled_session_returns_the_slices_under_a_new_term() -> None:
    desk = session_under_way()
    [session] = desk.core.sessions.values()
    desk.ack(A, session.term, Step.FREEZE, reason="not all of these slices are available here")
    desk.waits()
    [take] = desk.core.takeovers.values()
    assert (take.node, take.slices, take.cause) == (A, session.slices, "return")
    assert take.term > session.term
    [receipt] = desk.of(Receipt)
    assert isinstance(receipt, Receipt)
    assert "refused FREEZE" in receipt.outcome


def test_a_dead_giver_whose_taker_promised_leaves_slices_without_owner() -> None:
    desk = session_under_way()
    [session] = desk.core.sessions.values()
    desk.ack(A, session.term, Step.FREEZE)
    desk.hears(NodeGone(A))
    desk.waits()
    assert session.stage is Stage.CANCELLING
    assert not [
        take for take in desk.core.takeovers.values() if set(take.slices) & set(session.slices)
    ]
    desk.ack(B, session.term, Step.CANCEL)
    desk.waits()
    desk.obeys()
    assert desk.shares() == {B: 6}


def test_a_taker_that_merged_keeps_the_slices_of_a_dead_giver() -> None:
    desk = session_under_way()
    [session] = desk.core.sessions.values()
    desk.ack(A, session.term, Step.FREEZE)
    desk.hears(NodeGone(A))
    desk.ack(B, session.term, Step.MERGED, moved=5)
    desk.waits()
    assert [desk.core.owners.of[s] for s in session.slices] == [B, B]
    assert [desk.core.owners.terms[s] for s in session.slices] == [session.term] * 2


# -- reconcile -----------------------------------------------------------------------------------


def test_a_node_that_lacks_what_it_owns_is_told_to_take_it() -> None:
    desk = desk_with(A, B)
    slice_id = next(iter(desk.held[A]))
    old = desk.core.owners.terms[slice_id]
    del desk.held[A][slice_id]
    for _ in range(3):
        desk.reports()
        desk.waits(0.25)
    [take] = {take.term: take for take in desk.core.takeovers.values()}.values()
    assert (take.node, take.slices) == (A, (slice_id,))
    assert take.term > old


def test_a_node_that_works_under_an_old_term_is_told_the_new_one() -> None:
    """It was taken for dead while it should take back a slice that it had never given away."""
    desk = desk_with(A, B)
    slice_id = next(iter(desk.held[A]))
    desk.hears(MoveRequest(TOPIC, 1, A, B, 0, (slice_id,)))
    [session] = desk.core.sessions.values()
    desk.ack(A, session.term, Step.FREEZE, reason="not all of these slices are available here")
    desk.waits()
    desk.hears(NodeGone(A))
    assert not desk.core.takeovers
    for _ in range(3):
        desk.reports()
        desk.waits(0.25)
    assert {take.node for take in desk.core.takeovers.values()} == {A}
    assert slice_id in {s for take in desk.core.takeovers.values() for s in take.slices}


def test_a_report_that_may_be_older_than_the_order_is_not_believed() -> None:
    desk = desk_with(A, B)
    late = desk.report(A)
    desk.hears(NodeGone(B))
    desk.waits()
    taken = dict(desk.core.takeovers)
    desk.obeys()
    desk.hears(late)
    desk.waits()
    assert taken
    assert not desk.core.takeovers


def test_what_is_taken_in_no_session_is_cancelled() -> None:
    desk = desk_with(A, B)
    foreign = next(s for s in range(SLICES) if desk.core.owners.of[s] == B)
    desk.held[A][foreign] = (TAKING, 12345)
    for _ in range(3):
        desk.reports()
    assert {(o.node, o.term, o.slices) for o in desk.orders(Step.CANCEL)} == {
        (A, 12345, (foreign,))
    }


# -- recover -------------------------------------------------------------------------------------


def test_a_new_balancer_finds_the_owners_and_moves_nothing() -> None:
    desk = desk_with(A, B, C)
    owners, terms = list(desk.core.owners.of), list(desk.core.owners.terms)
    desk.restarts()
    desk.waits()
    desk.reports()
    desk.waits(SETTINGS.settle)
    desk.waits(SETTINGS.join_after)
    assert (desk.core.owners.of, desk.core.owners.terms) == (owners, terms)
    assert not desk.of(Order)
    [newest] = desk.of(MapPage)[-1:]
    assert isinstance(newest, MapPage)
    assert balancer_of(newest.version) > max(balancer_of(term) for term in terms)


def test_only_reports_that_prove_a_beat_count() -> None:
    """A report older than the balancer may tell of what is over."""
    desk = desk_with(A, B)
    desk.restarts()
    desk.waits()
    desk.hears(desk.report(A, seen=0), desk.report(B))
    desk.waits(SETTINGS.settle)
    assert not desk.core.settled
    desk.hears(desk.report(A))
    desk.waits()
    assert desk.core.settled
    assert desk.shares() == {A: 3, B: 3}


def test_a_node_that_never_proves_it_counts_as_dead() -> None:
    desk = desk_with(A, B)
    desk.restarts()
    desk.waits()
    desk.hears(desk.report(A, seen=0), desk.report(B))
    desk.waits(SETTINGS.settle)
    desk.hears(desk.report(B))
    desk.waits(SETTINGS.silence)
    assert desk.core.settled
    desk.obeys()
    assert desk.shares() == {B: 6}


def test_of_two_owners_the_newer_term_counts() -> None:
    desk = desk_with(A, B)
    slice_id, (_, term) = next(iter(desk.held[A].items()))
    desk.held[B][slice_id] = (AVAILABLE, term + 7)
    desk.restarts()
    desk.waits()
    desk.reports()
    desk.waits(SETTINGS.settle)
    assert desk.core.owners.of[slice_id] == B


def test_a_session_found_with_both_sides_is_cancelled_by_asking_the_taker() -> None:
    desk = desk_with(A, B)
    slice_id = next(iter(desk.held[A]))
    term = max(desk.core.owners.terms) + 1
    desk.held[A][slice_id] = (GIVING, term)
    desk.held[B][slice_id] = (TAKING, term)
    desk.restarts()
    desk.waits()
    desk.reports()
    desk.waits(SETTINGS.settle)
    [order] = desk.orders(Step.CANCEL)
    assert (order.node, order.term, order.slices) == (B, term, (slice_id,))
    desk.ack(B, term, Step.CANCEL)
    desk.waits()
    [take] = desk.core.takeovers.values()
    assert (take.node, take.slices, take.cause) == (A, (slice_id,), "return")


@pytest.mark.parametrize("alone", [GIVING, TAKING])
def test_a_session_found_with_one_side_alone(alone: SliceState) -> None:
    desk = desk_with(A, B)
    slice_id = next(iter(desk.held[A]))
    term = max(desk.core.owners.terms) + 1
    del desk.held[A][slice_id]
    desk.held[A if alone is GIVING else B][slice_id] = (alone, term)
    desk.restarts()
    desk.waits()
    desk.reports()
    desk.waits(SETTINGS.settle)
    if alone is TAKING:
        desk.ack(B, term, Step.CANCEL)
    desk.waits()
    taken = {s: take.node for take in desk.core.takeovers.values() for s in take.slices}
    assert taken[slice_id] in ((A,) if alone is GIVING else (A, B))


def test_a_session_that_was_over_is_not_found_again() -> None:
    desk = desk_with(A, B)
    slice_id, (_, term) = next(iter(desk.held[A].items()))
    desk.held[B][slice_id] = (TAKING, term - 1)
    desk.restarts()
    desk.waits()
    desk.reports()
    desk.waits(SETTINGS.settle)
    assert not desk.core.sessions
    assert desk.core.owners.of[slice_id] == A


# -- beats ---------------------------------------------------------------------------------------


def test_a_beat_says_which_reports_were_heard() -> None:
    desk = desk_with(A, B)
    desk.reports()
    desk.waits(SETTINGS.beat_every)
    [beat] = desk.of(Beat)[-1:]
    assert isinstance(beat, Beat)
    assert dict(zip(beat.nodes, beat.numbers, strict=True)) == dict(desk.numbers)
    assert beat.version == desk.core.version


def test_an_old_report_is_not_heard() -> None:
    desk = desk_with(A, B)
    old = desk.report(A)
    desk.reports()
    desk.hears(old)
    assert desk.core.nodes[A].number == old.number + 1


def test_a_listening_balancer_is_ahead_of_all_maps_before_it() -> None:
    desk = desk_with(A)
    version = desk.core.version
    desk.restarts()
    desk.waits()
    [beat] = desk.of(Beat)
    assert isinstance(beat, Beat)
    assert beat.version > version


# -- operators -----------------------------------------------------------------------------------


def reply_to(desk: Desk, request: MoveRequest) -> MoveReply:
    desk.said.clear()
    desk.hears(request)
    [reply] = desk.of(MoveReply, request=request.request)
    assert isinstance(reply, MoveReply)
    return reply


def request(giver: str, taker: str, count: int = 1, slices: tuple[int, ...] = ()) -> MoveRequest:
    return MoveRequest(TOPIC, 42, giver, taker, count, slices)


def test_an_operators_move_begins_at_once() -> None:
    desk = desk_with(A, B)
    reply = reply_to(desk, request("a", "b", count=2))
    assert (reply.accepted, reply.reason) == (True, "")
    assert desk.core.sessions[reply.term].giver == A
    [order] = desk.orders(Step.FREEZE)
    assert (order.node, len(order.slices)) == (A, 2)


def test_an_operator_may_name_the_slices() -> None:
    desk = desk_with(A, B)
    named = tuple(sorted(desk.held[A])[1:])
    reply = reply_to(desk, request(A, B, count=0, slices=named))
    assert desk.core.sessions[reply.term].slices == named


@pytest.mark.parametrize(
    ("asked", "why"),
    [
        (request("nobody", "b"), "there is no node nobody; known are: a, b"),
        (request("a", "a~1"), "giver and taker are the same node"),
        (request("a", "b", count=4), "a~1 owns 3 slices, 4 were asked for"),
        (request("a", "b", count=0), "a~1 owns 3 slices, 0 were asked for"),
        (request("a", "b", slices=(5,)), "a~1 does not own slice 5"),
    ],
)
def test_a_move_that_cannot_be_is_refused_with_the_reason(asked: MoveRequest, why: str) -> None:
    desk = desk_with(A, B)
    assert desk.core.owners.of[5] == B
    reply = reply_to(desk, asked)
    assert (reply.accepted, reply.reason, reply.term) == (False, why, 0)
    assert not desk.core.sessions


def test_a_leaving_node_is_refused_as_taker() -> None:
    desk = desk_with(A, B)
    desk.leaving.add(B)
    desk.reports(B)
    assert reply_to(desk, request("a", "b")).reason == "b~2 is leaving"


def test_a_node_in_another_session_is_refused() -> None:
    desk = desk_with(A, B, C)
    assert reply_to(desk, request("a", "b")).accepted
    why = "a~1 is in another session; try again in a moment"
    assert reply_to(desk, request("c", "a")).reason == why


def test_an_ambiguous_name_is_refused() -> None:
    desk = desk_with(A, "a~9")
    assert reply_to(desk, request("a", "a~9")).reason == "a may be any of a~1, a~9; say which"


def test_without_nodes_none_is_known() -> None:
    desk = Desk()
    assert reply_to(desk, request("a", "b")).reason == "there is no node a; known are: none"


# -- receipts ------------------------------------------------------------------------------------


def test_a_receipt_waits_for_what_had_to_be_replayed() -> None:
    desk = session_under_way()
    [session] = desk.core.sessions.values()
    desk.hands_over()
    assert not desk.of(Receipt, term=session.term)
    desk.hears(Ack(TOPIC, B, session.term, Step.SETTLED, True, "", 0, 0, 7))
    [receipt] = desk.of(Receipt, term=session.term)
    assert isinstance(receipt, Receipt)
    assert (receipt.outcome, receipt.replayed, receipt.cause) == ("done", 7, "handover")
    assert (receipt.giver, receipt.taker, receipt.slices) == (A, B, session.slices)


def test_a_receipt_does_not_wait_for_ever() -> None:
    desk = session_under_way()
    [session] = desk.core.sessions.values()
    desk.hands_over()
    desk.waits(SETTINGS.settled_within)
    assert len(desk.of(Receipt, term=session.term)) == 1
    desk.hears(Ack(TOPIC, B, session.term, Step.SETTLED, True, "", 0, 0, 7))
    assert len(desk.of(Receipt, term=session.term)) == 1


def test_somebody_elses_word_is_no_receipt() -> None:
    desk = session_under_way()
    [session] = desk.core.sessions.values()
    desk.hands_over()
    desk.hears(Ack(TOPIC, A, session.term, Step.SETTLED, True, "", 0, 0, 7))
    assert not desk.of(Receipt, term=session.term)
    desk.hears(Ack(TOPIC, B, session.term, Step.SETTLED, True, "", 0, 0, 3))
    assert len(desk.of(Receipt, term=session.term, replayed=3)) == 1


def test_what_is_no_message_of_a_balancer_is_a_mistake() -> None:
    with pytest.raises(TypeError, match="cannot handle str"):
        Desk().hears("hello")


# -- why ------------------------------------------------------------------------------------------


def why_of(desk: Desk) -> set[str]:
    """The reasons of everything under way."""
    under_way = [*desk.core.sessions.values(), *desk.core.takeovers.values()]
    return {each.why for each in under_way}


def test_first_owners_and_takeovers_say_why() -> None:
    desk = Desk()
    desk.waits()
    desk.held[A] = {}
    desk.waits(1.0)
    desk.reports()
    desk.waits()
    assert why_of(desk) == {"nobody had them"}
    desk = desk_with(A, B)
    desk.hears(NodeGone(A))
    desk.waits()
    assert why_of(desk) == {"a died or was cut off"}


def test_a_join_and_a_leave_are_the_reason_of_their_moves() -> None:
    desk = desk_with(A, B)
    desk.leaving.add(A)
    desk.reports()
    desk.waits()
    assert why_of(desk) == {"a leaves: even number of slices"}
    desk.hands_over()
    desk.held[C] = {}
    desk.reports()
    desk.waits(SETTINGS.join_after)
    assert why_of(desk) == {"c joined: even number of slices"}
    desk.hands_over()
    desk.waits(SETTINGS.settled_within)
    whys = {receipt.why for receipt in desk.of(Receipt) if isinstance(receipt, Receipt)}
    assert {"a leaves: even number of slices", "c joined: even number of slices"} <= whys


def test_a_plan_that_fails_is_made_again_later_and_later() -> None:
    desk = desk_with(A)
    desk.held[B] = {}
    desk.reports()
    pauses = []
    for _ in range(4):
        began = desk.now
        while not desk.core.sessions:
            desk.waits(0.05)
            desk.reports()
        pauses.append(desk.now - began)
        [session] = desk.core.sessions.values()
        desk.ack(A, session.term, Step.FREEZE, reason="it is full")
        desk.waits()
        desk.obeys()
        desk.reports()
    assert pauses[1] < pauses[2] < pauses[3]
    while not desk.core.sessions:
        desk.waits(0.05)
        desk.reports()
    desk.hands_over()
    assert desk.shares() == {A: 3, B: 3}


def test_a_move_by_hand_and_its_way_back_say_why() -> None:
    desk = session_under_way()
    assert why_of(desk) == {"asked for by hand"}
    [session] = desk.core.sessions.values()
    desk.ack(A, session.term, Step.FREEZE, reason="it is full")
    desk.waits()
    assert why_of(desk) == {"the handover failed: a~1 refused FREEZE: it is full"}


def test_the_season_goes_from_the_configuration_to_what_learns_loads() -> None:
    settings = BalancerSettings.from_config(BalancerConfig(season_s=60.0))
    core = BalancerCore(TOPIC, SLICES, settings, 0.0, WALL)
    count = 0
    for second in range(0, 240, 2):
        count += 100 if (second % 60) < 30 else 10
        row = ((3,), (1,), (count,), (0,), (0,), (count,))
        core.handle(SliceLoads(TOPIC, A, *row), float(second))
    [placed] = [each for each in core.snapshot(240.0).slices if each.id == 3]
    assert placed.outlook is not None
    assert placed.outlook.period_s == 60.0
    assert placed.outlook.season
