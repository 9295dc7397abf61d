"""Which balancer a process goes by, and when it tells an older one of it."""

from __future__ import annotations

from evenflow.model.messages import Beat, Ledger, NewerTerm
from evenflow.slices.actions import Send
from evenflow.slices.balancer.membership.leadership import Leadership
from evenflow.slices.consumer.core import ConsumerCore
from evenflow.slices.heard_balancers import REPEAT_S, SILENT_S, HeardBalancers
from evenflow.slices.terms import Terms, balancer_of, newest_of

NEWEST = 2**64 - 1


def test_terms_count_up_to_those_of_the_newest_balancer_that_was_heard() -> None:
    first, second = Terms(100.0, tag=1), Terms(200.0, tag=2)
    given = [first.new(), first.new(), second.new()]
    heard = HeardBalancers("items", "publisher 1")
    assert heard.gave(given).tolist() == [False, False, False]
    assert heard.hear(first.first, 1.0)
    assert heard.gave(given).tolist() == [True, True, False]
    assert heard.hear(second.first, 2.0)
    assert not heard.hear(first.newest, 3.0)  # an older one speaks on
    assert heard.gave(given).tolist() == [True, True, True]
    assert heard.gave([NEWEST]).tolist() == [False]


def test_an_older_balancer_is_told_when_the_newer_one_is_silent_once_a_second() -> None:
    older, newer = Terms(100.0), Terms(200.0)
    heard = HeardBalancers("items", "publisher 1")
    heard.hear(newer.first, 10.0)
    heard.hear(older.first, 11.0)
    assert heard.object(11.0) == []
    late = 10.0 + SILENT_S
    told = NewerTerm("items", "publisher 1", newest_of(balancer_of(newer.first)))
    assert heard.object(late) == [Send(told)]
    assert heard.object(late + REPEAT_S / 2) == []
    assert heard.object(late + REPEAT_S) == [Send(told)]
    heard.hear(newer.new(), late + 2.0)  # it had only stood still
    assert heard.object(late + 3.0) == []


def test_who_leads_claims_above_a_term_that_somebody_has_heard() -> None:
    newer = Terms(2_000.0).new()
    leads = Leadership(0.0, 1_000.0, identity=1, alone=True)
    turn = leads.turn
    leads.on_newer_term("consumer audit", newer, 1.0)
    assert leads.terms.newest > newer
    assert (leads.leads, leads.turn) == (True, turn + 1)
    assert leads.reason == "consumer audit has heard a newer balancer"
    leads.on_newer_term("consumer audit", newer, 2.0)  # it is repeated
    assert leads.turn == turn + 1


def test_a_standby_notes_a_term_and_stays_one() -> None:
    newer = Terms(2_000.0).new()
    standby = Leadership(0.0, 1_000.0, identity=1)
    standby.on_newer_term("consumer audit", newer, 0.1)
    assert not standby.leads
    standby.poll(1.0)
    assert standby.leads
    assert standby.terms.newest > newer


def test_a_balancer_that_leads_after_one_with_a_later_clock_is_heard_by_a_consumer() -> None:
    before, after = Terms(2_000.0), Leadership(0.0, 1_000.0, identity=2, alone=True)
    consumer = ConsumerCore("items", "audit", 1)
    assert consumer.handle(_ledger(before.new(), "audit"), 10.0) == []
    found = consumer.handle(_ledger(after.terms.new()), 10.0 + SILENT_S)
    assert consumer.ledger.consumers == {"audit": 7}
    (told,) = (send.message for send in found)
    assert isinstance(told, NewerTerm)
    after.on_newer_term(told.source, told.term, 20.0)
    assert consumer.handle(_ledger(after.terms.new()), 20.0) == []
    assert consumer.ledger.consumers == {}


def test_a_leader_steps_down_for_a_newer_claim_and_not_for_what_somebody_has_heard() -> None:
    leads = Leadership(0.0, 1_000.0, identity=1, alone=True)
    newer = Terms(2_000.0, tag=2)
    leads.on_newer_term("publisher 1", newer.new(), 1.0)
    assert leads.leads
    newest = Terms(3_000.0, tag=2).new()
    beat = Beat("items", 2, newest, (), (), ())
    leads.on_beat(beat, 2.0)
    assert not leads.leads


def _ledger(version: int, *consumers: str) -> Ledger:
    return Ledger("items", version, (), (), (), consumers, (7,) * len(consumers))
