"""A shelf hands each message to the part it concerns, or to the broker that can answer it."""

from __future__ import annotations

from typing import Any

from tests.unit.overlay.hosts import AWAY, HOME, WALL, FakeHost, config, envelope, label, record

from evenflow.overlay.protocol.messages import (
    Check,
    Decided,
    Dismissed,
    Fetch,
    Fetched,
    Join,
    Joined,
    ListIs,
    Message,
    Publish,
    Published,
    Waiting,
)
from evenflow.overlay.replica.states import State
from evenflow.overlay.shelf.shelf import Shelf
from evenflow.overlay.space.delegation import DelegateList

HERE = DelegateList.at_home(HOME.coordinate).delegate(AWAY.coordinate, 20)


def shelf(host: FakeHost, state: State, *roles: str, **fields: Any) -> Shelf:
    made = Shelf(host, record(host, *(roles or ("b0", "")), level=1, **fields), 9)
    made.replica.copy.state, made.replica.copy.verified = state, True
    return made


def test_a_secondary_forwards_what_only_its_primary_can_answer() -> None:
    host = FakeHost()
    made, asked = shelf(host, State.FOLLOWING, "b1", "b0"), envelope(client=3)
    made.handle(asked, Join(HOME, 1))
    assert host.mail.forwarded == [(asked, "b1")]


def test_requests_wait_until_the_copy_leads() -> None:
    host = FakeHost(brokers=1)
    made = shelf(host, State.UNSURE)
    made.handle(envelope(client=3), Join(HOME, 1))
    assert [type(body) for body in host.mail.answers()] == [Waiting]
    made.review()  # alone at level 1: it may lead
    assert [type(body) for body in host.mail.answers()] == [Joined]


def test_home_sends_clients_that_join_on_to_the_delegate() -> None:
    host = FakeHost()
    made = shelf(host, State.LEADING, label=label(1, delegates=HERE))
    made.handle(envelope(client=3), Join(HOME, 1))
    ((_, body),) = host.mail.readdressed
    assert body == Join(AWAY, 0)
    assert host.mail.replies == []


def test_a_question_for_another_primary_is_answered_with_who_that_is() -> None:
    host = FakeHost()
    made = shelf(host, State.FOLLOWING, "b1", "b0")
    made.handle(envelope("b3"), Check(HOME, config("b3", term=3), False))
    assert host.mail.take(Decided) == [("b3", Decided(HOME, config("b1", "b0")))]


def test_clients_of_a_topic_that_waits_hear_why() -> None:
    host = FakeHost()
    made = shelf(host, State.FOLLOWING, "b1", "b0")
    host.kill("b1")
    made.handle(envelope(client=3), Join(HOME, 1))
    assert [type(body) for body in host.mail.answers()] == [Waiting]


def test_a_dismissed_copy_is_deleted_once_and_does_nothing_more() -> None:
    host = FakeHost()
    made = shelf(host, State.FOLLOWING, "b1", "b0")
    for _ in range(2):
        made.handle(envelope("b2"), Dismissed(HOME, config("b2", "b3", term=9)))
    assert host.deleted == [HOME]
    made.handle(envelope(), Check(HOME, config("b3", term=3), False))
    assert host.mail.take(Decided) == []


def test_a_delegate_on_no_list_is_deleted_with_its_secondary() -> None:
    host = FakeHost()
    made = shelf(
        host, State.LEADING, "b0", "b1", shelf=AWAY, label=label(2, delegates=HERE, version=3)
    )
    gone = ListIs(AWAY, 0, False, 5, 4, DelegateList.at_home(HOME.coordinate))
    made.handle(envelope(), gone)
    assert host.deleted == [AWAY]
    told = dict(host.mail.take(Dismissed))
    assert told["b1"].config.ended


def expired(store_floor: int, **settings: Any) -> list[int]:
    """Return the times that are left after expiry at a time of day of 100 seconds."""
    host = FakeHost(**settings)
    made = shelf(host, State.LEADING)
    copy = made.replica.copy
    times = [10**9 * second for second in (20, 50, 80)]
    copy.write([Message(time, 1, n + 1, bytes(10)) for n, time in enumerate(times)])
    copy.last, copy.committed = times[-1], store_floor
    host.wall = 100 * 10**9
    made.expire()
    return [message.time // 10**9 for message in copy.between(0, WALL)]


def test_messages_expire_by_age_and_by_size_when_they_are_committed() -> None:
    everything = 80 * 10**9
    assert expired(everything) == [20, 50, 80]
    assert expired(everything, age_s=60.0) == [50, 80]
    assert expired(everything, shelf_bytes=10) == [80]
    assert expired(20 * 10**9 - 1, age_s=30.0) == [20, 50, 80]  # nothing of it is committed


def test_a_published_message_is_served_to_a_reader_that_waits() -> None:
    host = FakeHost(brokers=1)
    made = shelf(host, State.UNSURE)
    made.review()
    made.handle(envelope(client=3), Fetch(HOME, WALL - 1, 0, 10, 1000))
    made.handle(envelope(client=4), Publish(HOME, 7, 1, (b"a",)))
    answers = host.mail.answers()
    assert Published(7, 1, WALL) in answers
    assert Fetched((Message(WALL, 7, 1, b"a"),), WALL) in answers
