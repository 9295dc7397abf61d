"""Terms: who leads, who follows, and who gives way."""

from __future__ import annotations

from typing import Any

import pytest
from tests.unit.overlay.hosts import HOME, WALL, FakeHost, label, record

from evenflow.overlay.protocol.messages import (
    Check,
    Dismissed,
    Known,
    Lead,
    Pull,
    Refused,
    Replicate,
    Sync,
    Synced,
    TermStart,
)
from evenflow.overlay.replica.copy import RETRY_S
from evenflow.overlay.replica.replica import Replica
from evenflow.overlay.replica.states import State

NEW_TERM = WALL // 1_000_000


def replica(host: FakeHost, *roles: str, **fields: Any) -> Replica:
    return Replica(host, record(host, *roles, **fields), 9, lambda: None)


def leading(host: FakeHost, **fields: Any) -> Replica:
    """A primary b0 whose secondary b1 has agreed and caught up."""
    made = replica(host, "b0", "b1", **fields)
    made.begin()
    made.on_synced("b1", Synced(HOME, made.copy.record.term, made.copy.record.since, True))
    assert made.settled
    host.mail.sent.clear()
    return made


def following(host: FakeHost, **fields: Any) -> Replica:
    """A secondary b0 of b1."""
    made = replica(host, "b1", "b0", **fields)
    made.on_sync("b1", sync(NEW_TERM, base=5))
    assert made.copy.state is State.FOLLOWING
    host.mail.sent.clear()
    return made


def sync(term: int, base: int, **fields: Any) -> Sync:
    values: dict[str, Any] = {
        "shelf": HOME, "term": term, "base": base, "catch_up": True, "since": 0, "former": "",
        "terms": (TermStart(5, 10), TermStart(term, 10)), "label": label(), "publishers": (),
    } | fields  # fmt: skip
    return Sync(**values)


def test_a_term_begins_when_the_secondary_agrees() -> None:
    host = FakeHost()
    made = replica(host)
    made.begin()
    ((node, sent),) = host.mail.take(Sync)
    assert (node, sent.term, sent.base, made.copy.state) == ("b1", NEW_TERM, 5, State.PREPARING)
    made.on_synced("b2", Synced(HOME, NEW_TERM, 0, True))
    assert made.copy.state is State.PREPARING
    made.on_synced("b1", Synced(HOME, NEW_TERM, 0, True))
    assert made.settled
    assert made.copy.record.confirmed == NEW_TERM


def test_at_level_1_a_broker_agrees_with_itself() -> None:
    host = FakeHost(brokers=1)
    made = replica(host, "b0", "", level=1)
    made.review()
    assert made.settled
    assert host.mail.sent == []


def test_at_level_2_a_broker_alone_does_not_lead() -> None:
    made = replica(FakeHost(brokers=1), "b0", "")
    made.begin()
    assert made.copy.state is State.PREPARING


@pytest.mark.parametrize(("term", "base"), [(4, 5), (5, 5), (NEW_TERM, 4)])
def test_an_old_primary_is_refused(term: int, base: int) -> None:
    host = FakeHost()
    made = replica(host, "b1", "b0")
    made.on_sync("b2", sync(term, base=base))
    assert host.mail.take(Refused) == [("b2", Refused(HOME, 5, 5))]
    assert made.copy.record.term == 5


def test_a_follower_that_missed_terms_drops_what_they_made_wrong_and_catches_up() -> None:
    host = FakeHost()
    made = replica(host, "b1", "b0")
    terms = (TermStart(5, 10), TermStart(7, 15), TermStart(8, 30))
    made.on_sync("b1", sync(8, base=7, terms=terms))
    assert host.mail.sent == [("b1", Synced(HOME, 8, 30, False)), ("b1", Pull(HOME, 15, 30))]


def test_an_answer_that_was_lost_is_repeated() -> None:
    host = FakeHost()
    made = following(host)
    made.on_sync("b1", sync(NEW_TERM, base=5))
    assert host.mail.take(Synced) == [("b1", Synced(HOME, NEW_TERM, 0, True))]


def test_a_follower_takes_over_when_its_primary_is_dead() -> None:
    host = FakeHost()
    made = following(host)
    host.kill("b1")
    made.review()
    assert made.copy.state is State.PREPARING
    ((node, sent),) = host.mail.take(Sync)
    assert (node, sent.base) == ("b2", NEW_TERM)


@pytest.mark.parametrize(("level", "catch_up"), [(2, False), (3, True)])
def test_only_level_3_copies_all_to_the_replacement_of_a_dead_broker(
    level: int, catch_up: bool
) -> None:
    host = FakeHost()
    made = leading(host, level=level)
    host.kill("b1")
    made.review()
    ((node, sent),) = host.mail.take(Sync)
    assert (node, sent.catch_up) == ("b2", catch_up)


def test_a_primary_that_is_refused_by_a_newer_term_becomes_unsure() -> None:
    host = FakeHost()
    made = leading(host)
    made.on_refused("b1", Refused(HOME, NEW_TERM + 1, NEW_TERM + 1))
    assert made.copy.state is State.UNSURE
    made.replication.replicate()
    assert host.mail.take(Replicate) == []


def test_a_secondary_that_lost_its_disk_gets_a_new_term() -> None:
    host = FakeHost()
    made = leading(host)
    made.on_refused("b1", Refused(HOME, 0, 0))
    assert made.copy.record.term == NEW_TERM + 1
    assert made.copy.state is State.PREPARING


def test_a_primary_yields_to_a_closer_secondary_that_has_everything() -> None:
    host = FakeHost()
    made = leading(host)
    closer = host.members["b1"].coordinate
    host.members.revive(host.members.me.__class__("b0", closer, "", 2))
    host.members.merge([host.members["b1"].__class__("b1", HOME.coordinate, "", 2)])
    made.review()
    assert made.copy.state is State.YIELDING
    assert host.mail.take(Lead) == [("b1", Lead(HOME, NEW_TERM))]
    host.now += RETRY_S
    made.review()
    assert len(host.mail.take(Lead)) == 1


def test_a_secondary_leads_when_asked_unless_it_is_catching_up() -> None:
    host = FakeHost()
    made = following(host)
    made.catch_up.fetch_from("b1", 0, 5)
    made.on_lead("b1", Lead(HOME, NEW_TERM))
    assert made.copy.state is State.FOLLOWING
    made.catch_up.stop()
    made.on_lead("b1", Lead(HOME, NEW_TERM))
    assert made.copy.state is State.PREPARING


def check(confirmed: int, *, since: int = 0, unsure: bool = False) -> Check:
    return Check(HOME, confirmed, since, unsure, "")


def test_an_old_copy_is_dismissed_once_all_copies_are_made() -> None:
    host = FakeHost()
    made = leading(host)
    assert made.on_check("b3", check(3)) == ""
    assert host.mail.take(Dismissed) == [("b3", Dismissed(HOME, NEW_TERM))]


def test_an_old_copy_that_has_what_we_lack_is_pulled_first() -> None:
    host = FakeHost()
    made = leading(host, since=10)
    made.on_check("b3", check(3, since=2))
    assert host.mail.take(Pull) == [("b3", Pull(HOME, 2, 10))]


def test_a_secondary_that_returned_gets_a_new_term() -> None:
    made = leading(FakeHost())
    made.on_check("b1", check(NEW_TERM, unsure=True))
    assert made.copy.state is State.PREPARING


def test_a_follower_sends_an_old_holder_on_to_its_primary() -> None:
    made = following(FakeHost())
    assert made.on_check("b3", check(3)) == "b1"
    assert made.on_check("b3", check(NEW_TERM)) == ""


def test_a_copy_is_deleted_only_when_a_newer_term_says_so() -> None:
    host = FakeHost()
    made = following(host)
    assert not made.may_delete("b3", Dismissed(HOME, NEW_TERM))
    assert made.may_delete("b1", Dismissed(HOME, NEW_TERM))
    assert made.may_delete("b3", Dismissed(HOME, NEW_TERM + 1))
    assert not leading(FakeHost()).may_delete("b3", Dismissed(HOME, NEW_TERM + 1))


def test_an_unsure_copy_leads_when_nobody_is_ahead_and_else_waits() -> None:
    for newest, state in ((4, State.PREPARING), (9, State.UNSURE)):
        host = FakeHost(brokers=2)
        made = replica(host)
        made.review()
        made.on_known("b1", Known(HOME, newest, "b1"))
        assert made.copy.state is state
        assert bool(host.mail.take(Check)) is (state is State.UNSURE)


def test_doubt_ends_what_was_under_way() -> None:
    host = FakeHost()
    made = leading(host)
    made.catch_up.fetch_from("b1", 0, 5)
    made.doubt()
    assert made.catch_up.fetching is None
    assert not made.settled
