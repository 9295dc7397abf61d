"""The delegate side of a move: freeze, adopt, and ask home until it says what is in force."""

from __future__ import annotations

from typing import Any

from tests.unit.overlay.hosts import AWAY, HOME, FakeHost, envelope, label, lead, record

from evenflow.overlay.protocol.messages import (
    Adopt,
    Adopted,
    AskList,
    Emptied,
    Freeze,
    Frozen,
    ListIs,
    Message,
    PublisherState,
    Replicated,
)
from evenflow.overlay.replica.copy import RETRY_S
from evenflow.overlay.replica.replica import Replica
from evenflow.overlay.replica.states import State
from evenflow.overlay.shelf.delegate import Delegate
from evenflow.overlay.space.delegation import DelegateList

AT_HOME = DelegateList.at_home(HOME.coordinate)
HERE = AT_HOME.delegate(AWAY.coordinate, 20)


class AtDelegate:
    """A delegate's shelf that leads."""

    def __init__(self, secondary: str = "", **fields: Any) -> None:
        self.host = FakeHost()
        fields = {"shelf": AWAY, "label": label(1, delegates=HERE, version=3)} | fields
        made = record(self.host, "b0", secondary, **fields)
        self.replica = Replica(self.host, made, 9, lambda: None)
        self.copy = self.replica.copy
        lead(self.replica)
        self.copy.verified = True
        self.delegate = Delegate(self.replica, self.host)
        self.copy.on_progress = self.delegate.progress

    def asked(self) -> list[Any]:
        found = [body for to, body in self.host.mail.sent_to if to == HOME.coordinate]
        self.host.mail.sent_to.clear()
        return found


def list_is(ticket: int, delegates: DelegateList, version: int, *, pending: bool = False) -> ListIs:
    return ListIs(AWAY, ticket, pending, 5, version, delegates)


def test_a_frozen_delegate_tells_what_it_took() -> None:
    at = AtDelegate()
    at.replica.replication.append([Message(25, 7, 1, b"abc")])
    at.delegate.on_freeze(envelope(), Freeze(AWAY, 4, 5))
    assert at.copy.label.ticket == 4
    assert at.host.mail.answers() == [Frozen(AWAY, 4, 25, (PublisherState(7, 1, 25),), 3)]


def test_freezing_is_reported_when_it_is_on_both_disks() -> None:
    at = AtDelegate("b1", label=label(2, delegates=HERE, version=3))
    at.delegate.on_freeze(envelope(), Freeze(AWAY, 4, 5))
    assert at.host.mail.answers() == []
    revision = at.copy.label.revision
    at.replica.replication.on_replicated("b1", Replicated(AWAY, 5, 9, revision, 1))
    assert [type(body) for body in at.host.mail.answers()] == [Frozen]


def test_old_tickets_and_old_home_terms_freeze_nothing() -> None:
    at = AtDelegate(label=label(1, delegates=HERE, version=3, ticket_term=5))
    at.delegate.on_freeze(envelope(), Freeze(AWAY, 3, 5))  # older than the list
    at.delegate.on_freeze(envelope(), Freeze(AWAY, 4, 4))  # from a home that was replaced
    assert at.copy.label.ticket == 0


def test_an_adopting_delegate_takes_publishers_and_load_over() -> None:
    at = AtDelegate(label=label(1, delegates=AT_HOME))
    adopt = Adopt(AWAY, 4, 5, label(1, delegates=AT_HOME), (PublisherState(7, 9, 19),), 100)
    at.delegate.on_adopt(envelope(), adopt)
    assert at.host.mail.answers() == [Adopted(AWAY, 4, 0)]
    assert at.copy.publishers[7].sequence == 9
    assert (at.copy.label.inherited, at.copy.label.ticket) == (100, 4)


def test_a_delegate_with_a_ticket_asks_home_again_and_again() -> None:
    at = AtDelegate()
    at.delegate.on_freeze(envelope(), Freeze(AWAY, 4, 5))
    assert at.asked() == [AskList(AWAY, 4)]
    at.delegate.progress()
    assert at.asked() == []
    at.host.now += RETRY_S
    at.delegate.progress()
    assert at.asked() == [AskList(AWAY, 4)]


def test_home_opens_a_frozen_delegate_again_when_the_move_was_given_up() -> None:
    at = AtDelegate()
    at.delegate.on_freeze(envelope(), Freeze(AWAY, 4, 5))
    assert not at.delegate.on_list(list_is(4, HERE, 3, pending=True))
    assert at.copy.label.ticket == 4
    assert not at.delegate.on_list(list_is(4, HERE, 3))
    assert (at.copy.label.ticket, at.copy.label.delegates) == (0, HERE)


def test_a_newer_list_is_taken_and_an_older_one_is_not() -> None:
    at = AtDelegate()
    back = HERE.delegate(HOME.coordinate, 30)
    at.delegate.on_list(list_is(0, back, 5))
    assert at.copy.label.delegates == back
    at.delegate.on_list(list_is(0, HERE, 4))
    assert at.copy.label.delegates == back


def test_a_delegate_that_is_on_no_list_is_not_needed() -> None:
    assert AtDelegate().delegate.on_list(list_is(0, AT_HOME, 5))


def test_a_past_delegate_says_when_all_of_its_messages_have_expired() -> None:
    back = HERE.delegate(HOME.coordinate, 30)
    at = AtDelegate(label=label(1, delegates=back, version=5, floor=29))
    at.delegate.progress()
    assert at.asked() == []
    at.replica.replication.expire(30)
    assert at.asked() == [Emptied(AWAY, 30)]


def test_a_copy_that_does_not_lead_reports_nothing() -> None:
    at = AtDelegate("b1", label=label(2, delegates=HERE, version=3))
    at.delegate.on_freeze(envelope(), Freeze(AWAY, 4, 5))
    at.copy.state = State.UNSURE
    at.delegate.progress()
    at.copy.state = State.LEADING
    at.replica.replication.on_replicated("b1", Replicated(AWAY, 5, 9, at.copy.label.revision, 1))
    assert at.host.mail.answers() == []
