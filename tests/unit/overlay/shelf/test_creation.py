"""A shelf is made when it is new, and only then."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec.structs import replace
from tests.unit.overlay.hosts import AWAY, HOME, FakeHost, config, envelope, label

from evenflow.overlay.protocol.messages import (
    Accepted,
    Adopt,
    Agreed,
    Ballot,
    Check,
    Decided,
    Dismissed,
    Failed,
    Join,
    Lead,
    Prepare,
    Promise,
    Propose,
    Refused,
    ShelfId,
    Sync,
    TermStart,
    Waiting,
)
from evenflow.overlay.replica.copy import RETRY_S
from evenflow.overlay.replica.states import State
from evenflow.overlay.replica.votes import LOWEST
from evenflow.overlay.shelf.creation import SETTLE_S, ShelfCreation
from evenflow.overlay.shelf.shelf import Shelf
from evenflow.overlay.space.coordinate import Coordinate


class Creating:
    """A broker without shelves, among three."""

    def __init__(self, brokers: int = 3) -> None:
        self.host = FakeHost(brokers=brokers)
        self.shelves: dict[ShelfId, Shelf] = {}
        self.creation = ShelfCreation(self.host, self.shelves)
        self.host.now += SETTLE_S

    def take(self, body: Any, origin: str = "b1", client: int = 0) -> list[str]:
        """Take a message; return who is asked whether the topic is new."""
        self.creation.handle(envelope(origin, client), body)
        return [node for node, _ in self.host.mail.take(Prepare)]

    def promise(self, sender: str, *accepted: Accepted) -> None:
        ballot, base = Ballot(1, "b0"), config("b0", term=0, primary="")
        self.creation.on_answer(sender, HOME, Promise(HOME, ballot, base, accepted))

    def agree(self, sender: str) -> None:
        ballot, base = Ballot(1, "b0"), config("b0", term=0, primary="")
        self.creation.on_answer(sender, HOME, Agreed(HOME, ballot, base))


def sync(**fields: Any) -> Sync:
    found = config("b1", "b0", term=9, **({"in_sync": ("b1",)} | fields))
    return Sync(HOME, found, True, 0, 10, (TermStart(9, 10),), label(), ())


def test_a_new_topic_is_made_when_nearly_all_know_nothing_of_it() -> None:
    creating = Creating()
    assert creating.take(Join(HOME, 2)) == ["b1", "b2"]
    creating.promise("b2")
    creating.agree("b2")
    copy = creating.shelves[HOME].replica.copy
    assert (copy.state, copy.label.level) == (State.LEADING, 2)
    assert copy.record.since == creating.host.wall


def test_while_too_many_are_away_it_is_not_made() -> None:
    creating = Creating()
    creating.host.kill("b1")
    creating.host.kill("b2")
    creating.take(Join(HOME, 2))
    creating.host.now += 10
    creating.creation.review()
    assert creating.shelves == {}


def test_a_topic_that_another_is_making_is_not_made_twice() -> None:
    creating = Creating()
    creating.take(Join(HOME, 2), client=3)
    theirs = config("b2", term=1)
    creating.promise("b2", Accepted(Ballot(0, "b2"), theirs))
    proposed = {body.config for _, body in creating.host.mail.take(Propose)}
    assert proposed == {theirs}
    creating.agree("b2")
    assert creating.shelves == {}
    assert creating.host.votes.known(HOME) == theirs
    assert [to for _, to in creating.host.mail.forwarded] == ["b2"]


def test_a_topic_that_exists_is_not_made_though_its_copies_are_away() -> None:
    creating = Creating()
    creating.take(Join(HOME, 2))
    creating.creation.on_decided(HOME, config("gone", "away"))
    creating.host.mail.replies.clear()
    assert creating.take(Join(HOME, 2), client=3) == []
    (answer,) = creating.host.mail.answers()
    assert isinstance(answer, Waiting)
    assert "gone, away" in answer.reason
    assert creating.shelves == {}


def test_who_only_reads_is_told_that_there_is_no_such_topic() -> None:
    creating = Creating()
    assert creating.take(Join(HOME, 0), client=3) == ["b1", "b2"]
    for sender in ("b1", "b2"):
        assert creating.host.mail.answers() == []
        base = config("b0", term=0, primary="")
        creating.creation.on_answer(sender, HOME, Promise(HOME, LOWEST, base, ()))
    (answer,) = creating.host.mail.answers()
    assert isinstance(answer, Failed)
    assert HOME.topic in answer.reason
    assert creating.shelves == {}


def test_who_only_reads_is_sent_on_when_another_knows_the_topic() -> None:
    creating = Creating()
    creating.take(Join(HOME, 0), client=3)
    creating.creation.on_decided(HOME, config("b2", "b1"))
    assert creating.host.mail.answers() == []
    assert [to for _, to in creating.host.mail.forwarded] == ["b2"]


def test_who_waits_for_brokers_that_are_away_is_told_for_which() -> None:
    creating = Creating()
    gone = creating.host.members["b1"]
    creating.host.members.merge([replace(gone, address="h:1", alive=False, left=True)])
    creating.take(Join(HOME, 0), client=3)
    (answer,) = creating.host.mail.answers()
    assert isinstance(answer, Waiting)
    assert "b0, b2 know no topic 'meters'" in answer.reason
    assert "b1 at h:1 (has left)" in answer.reason


def test_who_writes_waits_only_while_too_many_are_away_and_is_told_which() -> None:
    creating = Creating()
    creating.host.kill("b1")
    creating.take(Join(HOME, 2), client=3)
    assert creating.host.mail.answers() == []
    creating.host.kill("b2")
    creating.take(Join(HOME, 2), client=3)
    (answer,) = creating.host.mail.answers()
    assert isinstance(answer, Waiting)
    assert "b1 at  (not heard), b2 at  (not heard)" in answer.reason


@pytest.mark.parametrize("unsure", ["a broker has just come", "it is made now"])
def test_who_only_reads_waits_while_the_topic_may_be_somewhere(unsure: str) -> None:
    creating = Creating()
    if unsure == "a broker has just come":
        creating.creation.on_members_changed()
    else:
        creating.take(Join(HOME, 2), client=4)
    creating.take(Join(HOME, 0), client=3)
    assert creating.host.mail.answers() == []


def test_one_that_died_before_it_made_its_topic_makes_it_when_asked_again() -> None:
    creating = Creating()
    creating.host.votes.learn(HOME, config("b0", term=1))
    creating.take(Join(HOME, 2))
    assert creating.shelves[HOME].replica.copy.leading


def test_nothing_is_made_for_readers_that_do_not_want_to_nor_by_brokers_farther_away() -> None:
    assert Creating().take(Join(ShelfId("meters", Coordinate(0.9, 0.9)), 2)) == []
    farther = Creating()
    farther.host.members.revive(type(farther.host.members.me)("b0", Coordinate(0.9, 0.9), "", 2))
    assert farther.take(Join(HOME, 2)) == []
    stranger = Creating()
    stranger.host.joined = False
    assert stranger.take(Join(HOME, 2)) == []


def test_a_delegate_is_made_with_the_list_of_home() -> None:
    creating = Creating(brokers=1)
    creating.creation.handle(envelope(), Adopt(AWAY, 4, 5, label(1, ticket=9), (), 0))
    copy = creating.shelves[AWAY].replica.copy
    assert (copy.label.ticket, copy.record.birth) == (4, 4)  # its own, not that of home's label
    assert not copy.verified  # until home says that it is one


def test_a_delegate_is_made_only_by_the_broker_that_home_names() -> None:
    creating = Creating()
    adopt = Adopt(AWAY, 4, 5, label(2), (), 0)
    creating.creation.handle(replace(envelope(), node=""), adopt)
    delegates = label(2).delegates.delegate(AWAY.coordinate, 20, 3)
    there = Adopt(AWAY, 4, 5, label(2, delegates=delegates), (), 0)
    creating.creation.handle(envelope(), there)  # it lies somewhere already
    creating.creation.handle(
        envelope(), replace(adopt, disk=7)
    )  # made once, on a disk that is lost
    assert creating.shelves == {}


def test_after_a_broker_joined_new_shelves_wait() -> None:
    creating = Creating()
    creating.creation.on_members_changed()
    assert creating.take(Join(HOME, 2)) == []
    creating.host.now += SETTLE_S
    creating.creation.review()
    assert len(creating.host.mail.take(Prepare)) == 2


def test_those_that_do_not_answer_are_asked_again() -> None:
    creating = Creating()
    creating.take(Join(HOME, 2))
    creating.creation.review()
    assert creating.host.mail.take(Prepare) == []
    creating.host.now += RETRY_S
    creating.creation.review()
    assert len(creating.host.mail.take(Prepare)) == 2


def test_a_member_that_is_not_in_sync_takes_a_copy() -> None:
    creating = Creating()
    creating.take(sync())
    assert creating.shelves[HOME].replica.copy.state is State.FOLLOWING


def test_one_that_should_be_in_sync_and_has_nothing_says_so() -> None:
    creating = Creating()
    creating.creation.handle(envelope(), sync(in_sync=("b1", "b0")))
    assert creating.host.mail.take(Refused) == [("b1", Refused(HOME))]
    assert creating.shelves == {}


def test_one_that_was_in_sync_before_it_lost_its_disk_takes_a_copy() -> None:
    creating = Creating()
    creating.take(sync(in_sync=("b1", "b0"), disks=(0, 7)))
    assert creating.shelves[HOME].replica.copy.state is State.FOLLOWING


def test_a_topic_that_was_ours_to_make_is_not_made_on_another_disk() -> None:
    """It may have been made, with copies elsewhere by now."""
    creating = Creating()
    creating.host.votes.learn(HOME, config("b0", term=1, disks=(7,)))
    assert creating.take(Join(HOME, 2)) == []
    assert creating.shelves == {}


def test_a_primary_that_missed_a_decision_hears_of_it() -> None:
    creating = Creating()
    newer = config("b2", "b1", term=12)
    creating.host.votes.learn(HOME, newer)
    creating.creation.handle(envelope(), sync())
    assert creating.host.mail.take(Decided) == [("b1", Decided(HOME, newer))]
    assert creating.shelves == {}


@pytest.mark.parametrize("body", [Check(HOME, config("b0"), False), Lead(HOME, 3)])
def test_who_believes_that_we_have_a_copy_hears_that_we_have_none(body: Any) -> None:
    creating = Creating()
    creating.creation.handle(envelope(), body)
    assert creating.host.mail.take(Refused) == [("b1", Refused(HOME))]
    creating.host.votes.learn(HOME, config("b0", term=9))
    creating.host.votes.end(HOME)
    creating.creation.handle(envelope(), body)
    assert len(creating.host.mail.take(Dismissed)) == 1
