"""The coordinator of a session: every step, every refusal, and the way back."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evenflow.model.messages import Ack, Order, Step
from evenflow.slices.balancer.session import NEXT, ORDERS, OVER, TO_GIVER, Session, Stage

GIVER, TAKER, TERM, SLICES = "giver~1", "taker~2", 77, (1, 4)
DEADLINE, RETRY = 5.0, 0.25
UNDER_WAY = list(ORDERS)


def session_in(stage: Stage, now: float = 0.0) -> Session:
    return Session(
        "items", TERM, GIVER, TAKER, SLICES, now, deadline=DEADLINE, retry=RETRY, stage=stage
    )


def ack(step: Step, node: str = "", *, reason: str = "", moved: int = 0) -> Ack:
    giving = step in (Step.FREEZE, Step.REMOVE, Step.SEND_CACHE)
    node = node or (GIVER if giving else TAKER)
    return Ack("items", node, TERM, step, not reason, reason, moved, 0, 0)


def orders(session: Session, now: float) -> list[Order]:
    sends = session.poll(now)
    messages = [send.message for send in sends]
    assert all(isinstance(message, Order) for message in messages)
    assert [send.to for send in sends] == [message.node for message in messages]
    return messages


def test_a_handover_step_by_step() -> None:
    session = session_in(Stage.FREEZING)
    said = []
    for step, answer in (
        (Step.FREEZE, Step.FREEZE),
        (Step.ADD, Step.ADD),
        (Step.REMOVE, Step.REMOVE),
        (Step.ACTIVATE, Step.ACTIVATE),
        (Step.SEND_CACHE, Step.MERGED),
    ):
        [order] = orders(session, 1.0)
        assert (order.step, order.slices, order.term) == (step, SLICES, TERM)
        said.append((order.node, order.peer))
        session.handle(ack(answer, moved=9), 1.0)
    assert said == [(GIVER, TAKER), (TAKER, GIVER), (GIVER, TAKER), (TAKER, GIVER), (GIVER, TAKER)]
    assert (session.stage, session.moved, session.reason) == (Stage.MERGED, 9, "")


@pytest.mark.parametrize("stage", UNDER_WAY, ids=lambda stage: stage.name)
@pytest.mark.parametrize("step", [s for s in Step if s is not Step.MERGED], ids=lambda s: s.name)
def test_an_acknowledged_step_leads_where_the_table_says_and_nowhere_else(
    stage: Stage, step: Step
) -> None:
    session = session_in(stage)
    session.handle(ack(step), 1.0)
    assert session.stage is NEXT.get((stage, step), stage)


@pytest.mark.parametrize("stage", UNDER_WAY, ids=lambda stage: stage.name)
def test_a_taker_that_merged_owns_the_slices_whatever_the_coordinator_heard(stage: Stage) -> None:
    session = session_in(stage)
    session.handle(ack(Step.MERGED, moved=3), 1.0)
    assert (session.stage, session.moved) == (Stage.MERGED, 3)


@pytest.mark.parametrize("stage", UNDER_WAY, ids=lambda stage: stage.name)
def test_acknowledgements_of_the_wrong_node_count_for_nothing(stage: Stage) -> None:
    for step in Step:
        session = session_in(stage)
        right = ack(step).node
        session.handle(ack(step, TAKER if right == GIVER else GIVER), 1.0)
        assert session.stage is stage


@pytest.mark.parametrize("stage", sorted(OVER, key=lambda stage: stage.name))
def test_a_session_that_is_over_stays_as_it_is(stage: Stage) -> None:
    session = session_in(stage)
    for step in Step:
        session.handle(ack(step), 1.0)
    session.node_gone(GIVER, 1.0)
    session.node_gone(TAKER, 1.0)
    session.cancel("too late", 1.0)
    assert session.poll(1.0 + 2 * DEADLINE) == []
    assert session.stage is stage


@pytest.mark.parametrize("stage", UNDER_WAY, ids=lambda stage: stage.name)
def test_an_order_is_repeated_until_it_is_acknowledged(stage: Stage) -> None:
    session = session_in(stage)
    wait = RETRY * (4 if stage is Stage.SENDING else 1)
    [first] = orders(session, 0.0)
    assert first.step == ORDERS[stage]
    assert first.node == (GIVER if stage in TO_GIVER else TAKER)
    assert orders(session, wait * 0.9) == []
    assert orders(session, wait) == [first]
    assert orders(session, wait * 1.9) == []


@pytest.mark.parametrize("stage", UNDER_WAY, ids=lambda stage: stage.name)
@pytest.mark.parametrize("how", ["refused", "deadline", "giver died"])
def test_what_fails_goes_back_by_way_of_the_taker(stage: Stage, how: str) -> None:
    """Only the taker can say whether it merged; before ADD it knows of nothing."""
    session = session_in(stage)
    if how == "refused":
        session.handle(ack(ORDERS[stage], reason="no"), 1.0)
    elif how == "deadline":
        session.poll(DEADLINE)
    else:
        session.node_gone(GIVER, 1.0)
    assert session.stage is (Stage.RETURNED if stage is Stage.FREEZING else Stage.CANCELLING)
    if stage is not Stage.CANCELLING:
        assert {
            "refused": f"refused {ORDERS[stage].name}: no",
            "deadline": f"{ORDERS[stage].name} took longer than 5 s",
            "giver died": f"giver {GIVER} died",
        }[how] in session.reason


@pytest.mark.parametrize("stage", UNDER_WAY, ids=lambda stage: stage.name)
def test_a_dead_taker_owns_nothing(stage: Stage) -> None:
    session = session_in(stage)
    session.node_gone(TAKER, 1.0)
    assert session.stage is Stage.RETURNED
    assert "died" in session.reason


def test_cancelling_waits_for_the_taker_however_long_it_takes() -> None:
    session = session_in(Stage.CANCELLING)
    for second in range(0, 100, 2):
        [order] = orders(session, float(second))
        assert (order.step, order.node) == (Step.CANCEL, TAKER)
    session.node_gone(GIVER, 100.0)
    session.handle(ack(Step.CANCEL, reason="what?"), 100.0)
    assert session.stage is Stage.CANCELLING
    session.handle(ack(Step.CANCEL), 100.0)
    assert session.stage is Stage.RETURNED


def test_a_late_refusal_of_a_step_that_is_done_changes_nothing() -> None:
    session = session_in(Stage.REMOVING)
    session.handle(ack(Step.ADD, reason="some of these slices are here already"), 1.0)
    assert session.stage is Stage.REMOVING


def test_somebody_elses_death_changes_nothing() -> None:
    session = session_in(Stage.SENDING)
    session.node_gone("other~3", 1.0)
    assert session.stage is Stage.SENDING


EVENTS = st.one_of(
    st.tuples(st.just("ack"), st.sampled_from(list(Step)), st.booleans()),
    st.tuples(st.just("gone"), st.sampled_from([GIVER, TAKER]), st.booleans()),
    st.tuples(st.just("time"), st.floats(0.0, 6.0), st.booleans()),
)


@given(events=st.lists(EVENTS, max_size=30))
def test_no_event_brings_slices_back_that_the_taker_may_have_merged(
    events: list[tuple[str, object, bool]],
) -> None:
    """Returned only before ADD was ordered, or by the taker's promise or death."""
    session = session_in(Stage.FREEZING)
    now, promised, taker_dead, added = 0.0, False, False, False
    for kind, what, good in events:
        if kind == "ack":
            assert isinstance(what, Step)
            session.handle(ack(what, reason="" if good else "no"), now)
            promised = promised or (what is Step.CANCEL and good)
        elif kind == "gone":
            session.node_gone(str(what), now)
            taker_dead = taker_dead or what == TAKER
        else:
            assert isinstance(what, float)
            now += what
            ordered = {message.step for message in orders(session, now)}
            added = added or Step.ADD in ordered
        if session.over:
            break
    if session.stage is Stage.RETURNED:
        assert promised or taker_dead or not added
