"""Publishing is idempotent, reading is complete, and clients are sent where the topic is."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec.structs import replace
from tests.unit.overlay.hosts import AWAY, HOME, WALL, FakeHost, envelope, lead, record

from evenflow.overlay.members.clock import AHEAD_NS
from evenflow.overlay.protocol.messages import (
    LONGEST_PAYLOAD,
    Failed,
    Fetch,
    Fetched,
    Join,
    Joined,
    Publish,
    Published,
    Redirect,
    Replicate,
    Replicated,
    Waiting,
)
from evenflow.overlay.replica.replica import Replica
from evenflow.overlay.replica.states import State
from evenflow.overlay.shelf.clients import Clients
from evenflow.overlay.space.delegation import DelegateList

CLIENT = envelope(client=3)


class Served:
    """A shelf of one broker (or of two), which leads."""

    def __init__(self, secondary: str = "", **fields: Any) -> None:
        self.host = FakeHost()
        made = record(self.host, "b0", secondary, level=2 if secondary else 1, **fields)
        self.replica = Replica(self.host, made, 9, lambda: None)
        lead(self.replica, 9)
        self.clients = Clients(self.replica, self.host)
        self.replica.copy.on_progress = self.clients.progress

    def ask(self, body: Any) -> list[Any]:
        self.clients.handle(CLIENT, body)
        return self.host.mail.answers()

    def set_label(self, **fields: Any) -> None:
        copy = self.replica.copy
        copy.record = replace(copy.record, label=replace(copy.label, **fields))


def publish(first: int, *payloads: bytes) -> Publish:
    return Publish(HOME, 7, first, payloads)


def test_a_client_that_joins_hears_level_and_delegates() -> None:
    assert Served().ask(Join(HOME, 2)) == [Joined(1, DelegateList.at_home(HOME.coordinate), 10)]


def test_messages_get_times_of_their_own_and_are_acknowledged() -> None:
    served = Served()
    assert served.ask(publish(1, b"a", b"b")) == [Published(7, 2, WALL + 1)]
    assert served.ask(publish(3, b"c")) == [Published(7, 3, WALL + 2)]


def test_what_comes_again_is_acknowledged_and_not_stored_again() -> None:
    served = Served()
    served.ask(publish(1, b"a", b"b"))
    assert served.ask(publish(1, b"a", b"b")) == [Published(7, 2, WALL + 1)]
    assert served.ask(publish(2, b"b", b"c")) == [Published(7, 3, WALL + 2)]
    stored = served.host.store.read(HOME, 0, WALL + 99, 99)
    assert [(each.sequence, each.payload) for each in stored] == [(1, b"a"), (2, b"b"), (3, b"c")]


def test_nothing_is_acknowledged_before_the_secondary_has_it() -> None:
    served = Served("b1")
    assert served.ask(publish(1, b"a")) == []
    served.replica.replication.on_replicated("b1", Replicated(HOME, 5, WALL, 1, 1))
    assert served.host.mail.answers() == [Published(7, 1, WALL)]


def test_a_message_that_is_too_long_is_refused() -> None:
    (answer,) = Served().ask(publish(1, bytes(LONGEST_PAYLOAD + 1)))
    assert isinstance(answer, Failed)
    assert str(LONGEST_PAYLOAD) in answer.reason


def fetch(after: int, *, until: int = 0, wait_ms: int = 0) -> Fetch:
    return Fetch(HOME, after, until, 10, wait_ms)


def test_a_reader_gets_what_is_committed_and_no_more() -> None:
    served = Served("b1")
    served.ask(publish(1, b"a"))
    assert served.ask(fetch(0, wait_ms=1000)) == []
    served.replica.replication.on_replicated("b1", Replicated(HOME, 5, WALL, 1, 1))
    acknowledged, fetched = served.host.mail.answers()
    assert isinstance(acknowledged, Published)
    assert ([each.payload for each in fetched.messages], fetched.cursor) == ([b"a"], WALL)


def test_a_reader_that_waited_long_enough_hears_that_there_is_nothing() -> None:
    served = Served()
    assert served.ask(fetch(WALL, wait_ms=500)) == []
    served.host.now += 0.5
    served.clients.progress()
    assert served.host.mail.answers() == [Fetched((), WALL)]


def test_a_range_that_lies_in_the_past_is_read_to_its_end() -> None:
    assert Served().ask(fetch(0, until=8)) == [Fetched((), 7)]


def test_after_a_move_publishers_and_later_readers_are_sent_on() -> None:
    served = Served()
    served.ask(publish(1, b"a"))
    delegates = DelegateList.at_home(HOME.coordinate).delegate(AWAY.coordinate, WALL + 5)
    served.set_label(delegates=delegates)
    assert served.ask(publish(2, b"b")) == [Redirect(delegates)]
    assert served.ask(fetch(WALL + 4)) == [Redirect(delegates)]
    (fetched,) = served.ask(fetch(0))
    assert [each.payload for each in fetched.messages] == [b"a"]


def test_while_the_topic_is_moved_publishers_wait_and_readers_do_not() -> None:
    served = Served()
    served.ask(publish(1, b"a"))
    served.set_label(ticket=4)
    assert served.ask(publish(2, b"b")) == []
    (fetched,) = served.ask(fetch(0))
    assert len(fetched.messages) == 1
    served.set_label(ticket=0)
    served.clients.progress()
    assert served.host.mail.answers() == [Published(7, 2, WALL + 1)]


def test_what_now_is_and_that_nothing_more_comes_is_said_by_a_primary_for_sure() -> None:
    served = Served("b1")
    served.host.now += 1
    assert served.ask(Join(HOME, 2)) == []
    assert served.ask(fetch(0, until=8)) == []
    ((_, asked),) = served.host.mail.take(Replicate)
    served.replica.replication.on_replicated("b1", Replicated(HOME, 5, 9, 1, asked.round))
    joined, fetched = served.host.mail.answers()
    assert (joined.now, fetched) == (10, Fetched((), 7))


def test_while_too_few_follow_publishers_wait_and_hear_why() -> None:
    served = Served("b1")
    served.replica.replication.members["b1"].synced = False
    (answer,) = served.ask(publish(1, b"a"))
    assert isinstance(answer, Waiting)
    assert "second copy" in answer.reason


def test_a_clock_that_is_far_ahead_stamps_nothing() -> None:
    served = Served("b1")
    served.host.clock.follow("b1", WALL - 2 * AHEAD_NS)
    (answer,) = served.ask(publish(1, b"a"))
    assert "clock" in answer.reason


@pytest.mark.parametrize("first", [0, 1 << 53, 1 << 62])
def test_a_count_that_cannot_be_is_refused(first: int) -> None:
    served = Served()
    assert [type(body) for body in served.ask(publish(first, b"a"))] == [Failed]
    assert served.host.counters.refused == 1
    assert [type(body) for body in served.ask(publish(1, b"a"))] == [Published]


@pytest.mark.parametrize("fault", ["not verified", "not leading"])
def test_a_copy_that_may_be_superseded_says_nothing(fault: str) -> None:
    served = Served("b1")
    if fault == "not verified":
        served.replica.copy.verified = False
    else:
        served.replica.copy.state = State.UNSURE
    assert served.ask(Join(HOME, 2)) == []
    assert served.ask(fetch(0, until=8)) == []


def test_what_waits_is_forgotten_when_another_leads() -> None:
    served = Served("b1")
    served.ask(publish(1, b"a"))
    served.replica.copy.state = State.FOLLOWING
    served.clients.progress()
    served.replica.copy.state = State.LEADING
    served.replica.replication.on_replicated("b1", Replicated(HOME, 5, WALL, 1, 1))
    assert served.host.mail.answers() == []
