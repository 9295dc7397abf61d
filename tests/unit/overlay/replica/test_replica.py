"""Who leads, who follows, who waits, and who gives way."""

from __future__ import annotations

from typing import Any

from msgspec.structs import replace
from tests.unit.overlay.hosts import HOME, FakeHost, config, label, lead, record

from evenflow.overlay.protocol.messages import (
    Accepted,
    Agreed,
    AskConfig,
    Ballot,
    Check,
    Config,
    Decided,
    Dismissed,
    Lead,
    Message,
    Prepare,
    Promise,
    Propose,
    Pull,
    Replicated,
    Sync,
    Synced,
    TermStart,
)
from evenflow.overlay.replica.copy import RETRY_S
from evenflow.overlay.replica.replica import Replica
from evenflow.overlay.replica.states import State


def replica(host: FakeHost, *roles: str, **fields: Any) -> Replica:
    return Replica(host, record(host, *roles, **fields), 9, lambda: None)


def leading(host: FakeHost, **fields: Any) -> Replica:
    """A primary b0 whose secondary b1 follows and has everything; b2 is their witness."""
    made = replica(host, "b0", "b1", **fields)
    made.copy.config = config("b0", "b1", voters=("b0", "b1", "b2"))
    lead(made)
    return made


def following(host: FakeHost, **fields: Any) -> Replica:
    """A secondary b0 of b1."""
    made = replica(host, "b1", "b0", **fields)
    made.copy.config = config("b1", "b0", voters=("b1", "b0", "b2"))
    made.copy.state = State.FOLLOWING
    made.copy.next_check = host.now + 1
    return made


def sync(found: Config, *, start: int = 10, **fields: Any) -> Sync:
    values: dict[str, Any] = {
        "shelf": HOME, "config": found, "catch_up": True, "since": 0, "start": start,
        "terms": (TermStart(5, 10), TermStart(found.term, start)), "label": label(),
        "publishers": (),
    } | fields  # fmt: skip
    return Sync(**values)


def decide(host: FakeHost, made: Replica, *others: str) -> Config:
    """Let voters agree to what is proposed; return it."""
    (prepare, *_) = [body for _, body in host.mail.take(Prepare)]
    for name in others:
        made.proposer.handle(name, Promise(HOME, prepare.ballot, prepare.base, ()))
    (propose, *_) = [body for _, body in host.mail.take(Propose)]
    for name in others:
        made.proposer.handle(name, Agreed(HOME, propose.ballot, propose.base))
    found: Config = propose.config
    return found


def test_a_secondary_takes_over_when_its_primary_is_dead_and_the_witness_agrees() -> None:
    host = FakeHost()
    made = following(host)
    host.kill("b1")
    made.review()
    assert made.copy.state is State.FOLLOWING  # not before it is decided
    found = decide(host, made, "b2")
    assert (found.primary, found.in_sync, set(found.members)) == ("b0", ("b0",), {"b0", "b2"})
    assert found.voters == ("b0",)
    assert made.copy.leading
    assert made.waiting  # for its second copy


def test_without_the_witness_it_waits_and_says_so() -> None:
    host = FakeHost()
    made = following(host)
    host.kill("b1")
    made.review()
    host.now += RETRY_S
    made.review()
    assert made.copy.state is State.FOLLOWING
    assert "waits for a copy that is in sync" in made.waiting


def test_a_primary_goes_on_without_its_secondary_after_a_decision() -> None:
    host = FakeHost()
    made = leading(host)
    host.kill("b1")
    made.review()
    assert made.copy.config.term == 5
    found = decide(host, made, "b2")
    assert (found.term, found.in_sync) == (6, ("b0",))
    assert [body.config for name, body in host.mail.sent if isinstance(body, Sync)] == [found]


def test_who_is_not_in_sync_never_leads() -> None:
    host = FakeHost()
    made = following(host)
    made.copy.config = config("b1", "b0", in_sync=("b1",), voters=("b1",))
    host.kill("b1")
    made.review()
    assert host.mail.take(Prepare) == []
    host.now += 10
    made.review()
    assert {name for name, _ in host.mail.take(AskConfig)} == {"b2", "b3"}


def test_a_returning_primary_leads_only_by_a_new_decision() -> None:
    host = FakeHost()
    made = replica(host, "b0", "b1")
    made.copy.config = config("b0", "b1", voters=("b0", "b1", "b2"))
    made.review()
    assert made.copy.state is State.UNSURE
    found = decide(host, made, "b1")
    assert (found.term, found.in_sync) == (6, ("b0", "b1"))
    assert made.copy.leading


def test_what_a_voter_had_accepted_is_decided_instead() -> None:
    host = FakeHost()
    made = following(host)
    host.kill("b1")
    made.review()
    ((_, prepare),) = [item for item in host.mail.take(Prepare) if item[0] == "b2"]
    theirs = config("b1", "b2", term=6, in_sync=("b1",), voters=("b1",))
    accepted = (Accepted(Ballot(1, "b1"), theirs),)
    made.proposer.handle("b2", Promise(HOME, prepare.ballot, prepare.base, accepted))
    ((_, propose),) = [item for item in host.mail.take(Propose) if item[0] == "b2"]
    assert propose.config == theirs
    made.proposer.handle("b2", Agreed(HOME, propose.ballot, propose.base))
    assert made.copy.config == theirs
    assert made.copy.state is State.UNSURE


def test_a_member_joins_those_in_sync_when_it_has_everything() -> None:
    host = FakeHost()
    made = replica(host, "b0", "b1")
    made.copy.config = config("b0", "b1", in_sync=("b0",), voters=("b0",))
    host.votes.learn(HOME, made.copy.config)
    lead(made)
    made.replication.members["b1"].since = 12
    made.review()
    assert made.copy.config.in_sync == ("b0",)
    made.on_synced("b1", Synced(HOME, 5, 0, True, 9))
    assert made.copy.config.in_sync == ("b0", "b1")
    assert made.copy.config.voters == ("b0", "b1", "b2")


def test_a_member_that_missed_terms_drops_what_they_changed_and_catches_up() -> None:
    host = FakeHost()
    made = replica(host, "b1", "b0")
    terms = (TermStart(5, 10), TermStart(7, 15), TermStart(8, 30))
    new = config("b1", "b0", term=8, in_sync=("b1",), voters=("b1",))
    made.on_sync("b1", sync(new, start=30, terms=terms))
    # It has nothing on disk: all from the beginning of what it may lack is pulled.
    assert host.mail.take(Pull) == [("b1", Pull(HOME, 8, 1, 30))]
    assert made.copy.state is State.FOLLOWING


def test_a_copy_in_sync_deletes_nothing_when_it_follows_another_primary() -> None:
    """What it has beyond what it knows to be acknowledged may be, and be nowhere else any more."""
    host = FakeHost()
    made = following(host)
    made.copy.write([Message(11, 1, 1, b"x"), Message(12, 1, 2, b"x")])
    made.copy.last = 12
    new = config("b1", "b0", term=6, in_sync=("b1", "b0"), voters=("b1", "b0", "b2"))
    made.on_sync("b1", sync(new))
    assert (made.copy.state, made.copy.record.term) == (State.FOLLOWING, 6)
    assert [message.time for message in made.copy.between(0, 99)] == [11, 12]


def test_an_older_configuration_is_answered_with_the_newer() -> None:
    host = FakeHost()
    made = following(host)
    made.on_sync("b2", sync(config("b2", "b0", term=4)))
    assert host.mail.take(Decided) == [("b2", Decided(HOME, made.copy.config))]
    assert made.copy.state is State.FOLLOWING


def test_a_primary_that_hears_of_a_newer_configuration_gives_way() -> None:
    host = FakeHost()
    made = leading(host)
    made.on_config(config("b1", "b0", term=6))
    assert made.copy.state is State.UNSURE
    assert not made.settled


def test_a_primary_tells_a_closer_member_to_lead() -> None:
    host = FakeHost()
    made = leading(host)
    me = host.members.me
    host.members.revive(type(me)("b0", host.members["b2"].coordinate, "", 2))
    host.members.merge([type(me)("b1", HOME.coordinate, "", 2)])
    made.copy.config = config("b0", "b1", voters=("b0", "b1", "b2"))
    assert made.copy.wanted()[0] == "b1"
    made.review()
    assert Lead in {type(body) for _, body in host.mail.sent}


def test_who_is_told_to_lead_proposes_itself() -> None:
    host = FakeHost()
    made = following(host)
    made.on_lead("b1", Lead(HOME, 5))
    assert len(host.mail.take(Prepare)) == 2


def test_a_copy_that_is_no_member_is_dismissed_when_all_copies_are_made() -> None:
    host = FakeHost()
    made = leading(host)
    made.on_check("b3", Check(HOME, config("b3", term=3), unsure=True))
    kinds = [type(body) for _, body in host.mail.sent]
    assert kinds == [Decided, Dismissed]
    made.replication.members["b1"].synced = False
    host.mail.sent.clear()
    made.on_check("b3", Check(HOME, config("b3", term=3), unsure=True))
    assert host.mail.take(Dismissed) == []


def test_a_copy_is_deleted_only_by_a_primary_of_others() -> None:
    host = FakeHost()
    made = following(host)
    other = config("b1", "b2", term=6)
    assert not made.may_delete("b3", Dismissed(HOME, other))
    assert not made.may_delete("b1", Dismissed(HOME, config("b1", "b0", term=6)))
    assert not made.may_delete("b1", Dismissed(HOME, config("b1", "b2", term=4)))
    assert made.may_delete("b1", Dismissed(HOME, other))


def test_a_member_that_returns_is_sent_what_is_not_committed() -> None:
    host = FakeHost()
    made = leading(host)
    made.on_check("b1", Check(HOME, made.copy.config, unsure=True))
    ((name, sent),) = host.mail.take(Sync)
    assert (name, sent.start) == ("b1", made.copy.committed + 1)


def test_a_member_that_returns_keeps_its_label_when_an_older_sync_of_the_term_comes_late() -> None:
    """The primary counts the newer one as written there, and would never send it again."""
    host = FakeHost()
    made = replica(host, "b1", "b0", label=replace(label(), revision=4, floor=7))
    made.on_sync("b1", sync(config("b1", "b0", term=5), label=replace(label(), revision=2)))
    assert made.copy.state is State.FOLLOWING
    assert made.copy.label == replace(label(), revision=4, floor=7)


def test_a_member_is_as_far_as_it_says_when_it_follows_anew() -> None:
    """It may have begun at an earlier time; else it would pass for one that has everything."""
    host = FakeHost()
    made = leading(host)
    made.replication.members["b1"].last = 19
    made.on_synced("b1", Synced(HOME, 5, 0, whole=True, last=9))
    assert made.replication.members["b1"].last == 9


def test_what_was_said_in_an_older_term_counts_for_nothing() -> None:
    host = FakeHost()
    made = leading(host)
    made.replication.on_replicated("b1", Replicated(HOME, 4, 99, 1, 1))
    assert made.copy.committed == 9
