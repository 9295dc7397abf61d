"""The home side of a move: freeze, adopt, commit, tell, and give up when nobody answers."""

from __future__ import annotations

from typing import Any

from tests.unit.overlay.hosts import AWAY, HOME, WALL, FakeHost, envelope, label, lead, record

from evenflow.overlay.protocol.messages import (
    Adopt,
    Adopted,
    AskList,
    Emptied,
    Failed,
    Freeze,
    Frozen,
    ListIs,
    MoveDone,
    MoveTopic,
    PublisherState,
    Relieve,
    Replicated,
    ShelfId,
)
from evenflow.overlay.replica.copy import RETRY_S
from evenflow.overlay.replica.replica import Replica
from evenflow.overlay.replica.states import State
from evenflow.overlay.shelf.home import PATIENCE_S, Home
from evenflow.overlay.space.coordinate import Coordinate
from evenflow.overlay.space.delegation import DelegateList

FARTHER = ShelfId("meters", Coordinate(0.1, 0.9))
STATES = (PublisherState(7, 3, 40),)


class AtHome:
    """A home shelf that leads."""

    def __init__(self, secondary: str = "", **fields: Any) -> None:
        self.host = FakeHost()
        made = record(self.host, "b0", secondary, level=2 if secondary else 1, **fields)
        self.replica = Replica(self.host, made, 9, lambda: None)
        lead(self.replica)
        self.home = Home(self.replica, self.host)
        self.replica.copy.on_progress = self.home.progress

    def begin(self, to: ShelfId = AWAY) -> int:
        """Begin a move; return its ticket."""
        self.home.on_move(envelope(), MoveTopic(HOME, to.coordinate))
        (sent,) = self.mailed(Freeze)
        ticket: int = sent[1].ticket
        return ticket

    def mailed(self, kind: type) -> list[tuple[Coordinate, Any]]:
        found = [(to, body) for to, body in self.host.mail.sent_to if isinstance(body, kind)]
        self.host.mail.sent_to.clear()
        return found

    @property
    def delegates(self) -> DelegateList:
        return self.replica.copy.label.delegates


def nearest(at: AtHome) -> str:
    return at.host.members.closest(AWAY.coordinate, 1)[0]


def test_a_move_goes_from_freeze_to_the_new_list() -> None:
    at = AtHome()
    ticket = at.begin()
    at.home.on_frozen(Frozen(HOME, ticket, 50, STATES, 12))
    ((to, adopt),) = at.host.mail.take(Adopt)  # one broker alone makes the shelf
    assert (to, adopt.publishers, adopt.load) == (nearest(at), STATES, 12)
    assert at.delegates.current == HOME.coordinate
    at.home.on_adopted(Adopted(AWAY, ticket, 7))
    assert at.delegates.current == AWAY.coordinate
    assert (at.delegates.entries[-1].start, at.delegates.birth(AWAY.coordinate)) == (51, 7)
    assert at.host.mail.answers() == [MoveDone(at.delegates)]
    ((to, told),) = at.mailed(ListIs)
    assert (to, told.version, told.pending) == (AWAY.coordinate, ticket, False)


def test_the_commit_decides_and_needs_both_disks() -> None:
    at = AtHome("b1")
    ticket = at.begin()
    at.home.on_frozen(Frozen(HOME, ticket, 50, (), 0))
    at.home.on_adopted(Adopted(AWAY, ticket, 0))
    assert at.host.mail.answers() == []
    at.home.on_ask(envelope(), AskList(AWAY, ticket))
    assert at.host.mail.answers() == []  # not decided yet
    revision = at.replica.copy.label.revision
    at.replica.replication.on_replicated("b1", Replicated(HOME, 5, 9, revision, 1))
    assert at.host.mail.answers() == [MoveDone(at.delegates)]


def test_answers_to_another_ticket_or_out_of_turn_count_for_nothing() -> None:
    at = AtHome()
    ticket = at.begin()
    at.home.on_adopted(Adopted(AWAY, ticket, 0))
    at.home.on_frozen(Frozen(HOME, ticket - 1, 50, (), 0))
    assert at.mailed(Adopt) == []
    assert at.delegates.current == HOME.coordinate


def test_a_step_is_repeated_and_given_up_in_the_end() -> None:
    at = AtHome()
    at.begin()
    at.host.now += RETRY_S
    at.home.progress()
    assert len(at.mailed(Freeze)) == 1
    at.host.now += PATIENCE_S
    at.home.progress()
    (answer,) = at.host.mail.answers()
    assert isinstance(answer, Failed)
    assert at.home.ongoing is None


def test_a_move_ends_with_the_term_that_began_it() -> None:
    at = AtHome()
    at.begin()
    at.replica.copy.state = State.UNSURE
    at.home.progress()
    assert at.home.ongoing is None


def test_one_move_at_a_time_and_none_to_where_the_topic_is() -> None:
    at = AtHome()
    at.begin()
    at.home.on_move(envelope(), MoveTopic(HOME, FARTHER.coordinate))
    (answer,) = at.host.mail.answers()
    assert "another move" in answer.reason
    at = AtHome()
    at.home.on_move(envelope(), MoveTopic(HOME, HOME.coordinate))
    assert at.host.mail.answers() == [MoveDone(at.delegates)]


def test_a_broker_is_relieved_only_if_it_knows_how_things_are() -> None:
    at = AtHome(label=label(1, version=WALL - 5 * 10**9))
    wrong = Relieve(HOME, AWAY.coordinate, FARTHER.coordinate, 0)
    soon = Relieve(HOME, HOME.coordinate, AWAY.coordinate, 6 * 10**9)
    for relieve, reason in ((wrong, "meanwhile"), (soon, "short while ago")):
        at.home.on_relieve(envelope(), relieve)
        (answer,) = at.host.mail.answers()
        assert reason in answer.reason
    at.home.on_relieve(envelope(), Relieve(HOME, HOME.coordinate, AWAY.coordinate, 4 * 10**9))
    assert at.home.ongoing is not None


def test_a_delegate_hears_which_list_is_in_force_and_what_is_pending() -> None:
    at = AtHome()
    ticket = at.begin()
    at.home.on_ask(envelope(), AskList(AWAY, 0))
    at.home.on_ask(envelope(), AskList(FARTHER, 0))
    first, second = at.host.mail.answers()
    assert (first.pending, second.pending) == (True, False)
    assert first.version < ticket


def test_an_emptied_delegate_is_taken_off_the_list() -> None:
    away = DelegateList.at_home(HOME.coordinate).delegate(AWAY.coordinate, 20)
    at = AtHome(label=label(1, delegates=away.delegate(HOME.coordinate, 30)))
    at.home.on_emptied(envelope(), Emptied(AWAY, 29))
    assert len(at.delegates.entries) == 3  # not all of its time has expired
    at.home.on_emptied(envelope(), Emptied(AWAY, 30))
    assert at.delegates == DelegateList.at_home(HOME.coordinate)
