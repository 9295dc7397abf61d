"""A shelf is made when it is new, and only then."""

from __future__ import annotations

from typing import Any

import pytest
from tests.unit.overlay.hosts import AWAY, HOME, FakeHost, envelope, label

from evenflow.overlay.protocol.messages import (
    Adopt,
    Check,
    Inquire,
    Join,
    Known,
    Lead,
    Pull,
    Pulled,
    Refused,
    ShelfId,
    Sync,
    TermStart,
)
from evenflow.overlay.replica.copy import RETRY_S
from evenflow.overlay.replica.states import State
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

    def take(self, body: Any, origin: str = "b1") -> list[str]:
        """Take a message; return who is asked about the shelf."""
        self.creation.handle(envelope(origin), body)
        return [node for node, _ in self.host.mail.take(Inquire)]

    def known(self, sender: str, confirmed: int) -> None:
        self.creation.on_known(sender, Known(HOME, confirmed, ""))


def sync(base: int) -> Sync:
    return Sync(HOME, 9, base, True, 0, "", (TermStart(9, 10),), label(), ())


def test_a_new_topic_is_made_when_nobody_around_has_it() -> None:
    creating = Creating()
    assert creating.take(Join(HOME, 2)) == ["b1", "b2"]
    creating.known("b1", 0)
    assert creating.shelves == {}
    creating.known("b2", 0)
    copy = creating.shelves[HOME].replica.copy
    assert (copy.state, copy.label.level) == (State.PREPARING, 2)
    assert copy.record.since == creating.host.wall


def test_a_topic_that_lies_around_here_comes_by_itself() -> None:
    creating = Creating()
    creating.take(Join(HOME, 2))
    creating.known("b1", 4)
    creating.known("b2", 0)
    assert creating.shelves == {}


def test_nothing_is_made_for_readers_that_do_not_want_to_nor_by_brokers_farther_away() -> None:
    assert Creating().take(Join(HOME, 0)) == []
    assert Creating().take(Join(ShelfId("meters", Coordinate(0.9, 0.9)), 2)) == []
    farther = Creating()
    farther.host.members.revive(type(farther.host.members.me)("b0", Coordinate(0.9, 0.9), "", 2))
    assert farther.take(Join(HOME, 2)) == []


def test_a_delegate_is_made_with_the_list_of_home() -> None:
    creating = Creating(brokers=1)
    creating.creation.handle(envelope(), Adopt(AWAY, 4, 5, label(1, ticket=9), (), 0))
    copy = creating.shelves[AWAY].replica.copy
    assert copy.label.ticket == 4  # its own, not the one on home's label
    assert not copy.verified  # until home says that it is one


def test_after_a_broker_joined_new_shelves_wait() -> None:
    creating = Creating()
    creating.creation.on_members_changed()
    assert creating.take(Join(HOME, 2)) == []
    creating.host.now += SETTLE_S
    creating.creation.review()
    assert len(creating.host.mail.take(Inquire)) == 2


def test_those_that_do_not_answer_are_asked_again() -> None:
    creating = Creating()
    creating.take(Join(HOME, 2))
    creating.creation.review()
    assert creating.host.mail.take(Inquire) == []
    creating.host.now += RETRY_S
    creating.creation.review()
    assert len(creating.host.mail.take(Inquire)) == 2


def test_a_copy_follows_a_primary_that_nobody_contradicts() -> None:
    creating = Creating()
    assert creating.take(sync(base=5)) == ["b2"]  # the sender is not asked
    creating.known("b2", 5)
    assert creating.shelves[HOME].replica.copy.state is State.FOLLOWING


def test_a_primary_that_missed_a_term_is_refused() -> None:
    creating = Creating()
    creating.take(sync(base=5))
    creating.known("b2", 6)
    assert creating.host.mail.take(Refused) == [("b1", Refused(HOME, 0, 6))]
    assert creating.shelves == {}


@pytest.mark.parametrize("body", [Check(HOME, 3, 0, False, ""), Lead(HOME, 3)])
def test_who_believes_that_we_have_a_copy_hears_that_we_have_none(body: Any) -> None:
    creating = Creating()
    creating.creation.handle(envelope(), body)
    assert creating.host.mail.take(Refused) == [("b1", Refused(HOME, 0, 0))]


def test_who_pulls_from_us_hears_that_there_is_nothing() -> None:
    creating = Creating()
    creating.creation.handle(envelope(), Pull(HOME, 3, 9))
    assert creating.host.mail.take(Pulled) == [("b1", Pulled(HOME, 3, 9, ()))]
