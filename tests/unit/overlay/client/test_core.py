"""A client's side of a topic: what is asked, again, elsewhere, and never twice too often."""

from __future__ import annotations

from itertools import pairwise

from evenflow.overlay.client.core import (
    MOST_DOUBLINGS,
    NOW,
    REJOIN_AFTER,
    RETRY_S,
    Publishing,
    Reading,
    Request,
)
from evenflow.overlay.protocol.messages import (
    Failed,
    Fetch,
    Fetched,
    Join,
    Joined,
    Message,
    Publish,
    Published,
    Redirect,
    Waiting,
)
from evenflow.overlay.space.coordinate import Coordinate, geographic_hash
from evenflow.overlay.space.delegation import DelegateList

HOME = geographic_hash("meters")
AWAY = Coordinate(0.9, 0.9)
LIST = DelegateList.at_home(HOME)


def joined_publisher() -> Publishing:
    publishing = Publishing("meters", 7, 2)
    question = publishing.poll(0.0)
    assert question is not None
    assert isinstance(question.body, Join)
    publishing.on_reply(question.number, Joined(2, LIST, 5), 0.0)
    return publishing


def test_a_client_joins_through_the_home_first() -> None:
    publishing = Publishing("meters", 7, 3)
    question = publishing.poll(0.0)
    assert question is not None
    assert question.target == HOME
    assert question.body == Join(question.body.shelf, 3)
    assert publishing.poll(RETRY_S / 2) is None
    again = publishing.poll(RETRY_S)
    assert again == question


def test_one_batch_is_open_at_a_time_and_repeated_unchanged() -> None:
    publishing = joined_publisher()
    publishing.add(b"a")
    first = publishing.poll(1.0)
    assert first is not None
    publishing.add(b"b")
    again = publishing.poll(1.0 + RETRY_S)
    assert again is not None
    assert isinstance(again.body, Publish)
    assert again.body.payloads == (b"a",)
    assert publishing.on_reply(again.number, Published(7, 1, 5), 2.0)
    assert (publishing.acknowledged, publishing.accepted, publishing.unacknowledged_bytes) == (
        1,
        2,
        1,
    )
    following = publishing.poll(2.0)
    assert following is not None
    assert (following.body.first, following.body.payloads) == (2, (b"b",))
    # The answer to the first question comes again: it is no answer to this one.
    assert not publishing.on_reply(first.number, Published(7, 1, 5), 2.0)
    assert publishing.acknowledged == 1


def test_a_publisher_that_is_sent_elsewhere_goes_there() -> None:
    publishing = joined_publisher()
    publishing.add(b"a")
    question = publishing.poll(0.0)
    assert question is not None
    assert question.target == HOME
    publishing.on_reply(question.number, Redirect(LIST.delegate(AWAY, 10)), 0.0)
    question = publishing.poll(0.0)
    assert question is not None
    assert question.target == AWAY


def test_a_client_that_gets_no_answer_joins_anew() -> None:
    publishing = joined_publisher()
    publishing.add(b"a")
    asked = [publishing.poll(number * RETRY_S) for number in range(1, REJOIN_AFTER + 2)]
    kinds = [type(question.body) for question in asked if question is not None]
    assert kinds == [Publish] * REJOIN_AFTER + [Join]


def ask_until_joined_anew(publishing: Publishing) -> tuple[Request, float]:
    """Ask in vain; return the request to join, and when that was."""
    now = 1.0
    while True:
        request = publishing.poll(now)
        if request is not None and isinstance(request.body, Join):
            return request, now
        now = publishing.due()


def test_an_answer_that_comes_after_the_topic_was_joined_anew_counts() -> None:
    """Home is quick and the delegate is slow: no answer would ever be in time otherwise."""
    publishing = joined_publisher()
    publishing.add(b"a")
    asked = publishing.poll(0.5)
    assert asked is not None
    for _ in range(3):
        join, now = ask_until_joined_anew(publishing)
        for _ in range(2):  # also when it is answered twice
            publishing.on_reply(join.number, Joined(2, LIST, 5), now)
        again = publishing.poll(now)
        assert again == asked
    publishing.on_reply(asked.number, Published(7, 1, 5), now)
    assert publishing.acknowledged == 1


def test_a_client_without_an_answer_asks_less_and_less_often() -> None:
    publishing = joined_publisher()
    publishing.add(b"a")
    times = []
    now = 1.0
    while len(times) < 12:
        request = publishing.poll(now)
        assert request is not None
        times.append(now)
        if isinstance(request.body, Join):
            publishing.on_reply(request.number, Joined(2, LIST, 5), now)
        else:
            now = publishing.due()
    pauses = [after - before for before, after in pairwise(times) if after > before]
    assert pauses == sorted(pauses)
    assert pauses[:3] == [RETRY_S] * 3
    assert pauses[-1] == RETRY_S * (1 << MOST_DOUBLINGS)


def test_a_topic_that_has_moved_meanwhile_is_asked_anew() -> None:
    publishing = joined_publisher()
    publishing.add(b"a")
    asked = publishing.poll(0.5)
    join, now = ask_until_joined_anew(publishing)
    publishing.on_reply(join.number, Joined(2, LIST.delegate(AWAY, 10), 5), now)
    again = publishing.poll(now)
    assert asked is not None
    assert again is not None
    assert again.target == AWAY
    assert again.number != asked.number


def test_a_reader_goes_from_tenure_to_tenure() -> None:
    reading = Reading("meters", 0, 1, until=30)
    question = reading.poll(0.0)
    assert question is not None
    reading.on_reply(question.number, Joined(2, LIST.delegate(AWAY, 10), 15), 0.0)
    question = reading.poll(0.0)
    assert question is not None
    assert (question.target, question.body.after) == (HOME, 0)
    message = Message(4, 7, 1, b"x")
    reading.on_reply(question.number, Fetched((message,), 9), 0.0)
    assert list(reading.found) == [message]
    question = reading.poll(0.0)
    assert question is not None
    assert isinstance(question.body, Fetch)
    assert (question.target, question.body.after) == (AWAY, 9)
    reading.on_reply(question.number, Fetched((), 29), 0.0)
    assert reading.done
    assert reading.poll(9.0) is None


def test_a_late_answer_does_not_set_a_reader_back() -> None:
    reading = Reading("meters", 0, 1)
    question = reading.poll(0.0)
    assert question is not None
    reading.on_reply(question.number, Joined(2, LIST, 5), 0.0)
    old = reading.poll(0.0)
    assert old is not None
    reading.on_reply(old.number, Fetched((Message(4, 7, 1, b"x"),), 4), 0.0)
    reading.on_reply(old.number, Fetched((Message(4, 7, 1, b"x"),), 4), 0.0)
    assert len(reading.found) == 1
    assert reading.cursor == 4


def test_what_the_store_cannot_do_is_told() -> None:
    publishing = joined_publisher()
    publishing.on_reply(publishing.number, Failed("no reserved"), 0.0)
    assert publishing.failure == "no reserved"


def test_a_new_connection_makes_the_question_due_at_once() -> None:
    publishing = joined_publisher()
    publishing.add(b"a")
    assert publishing.poll(0.0) is not None
    assert publishing.poll(0.1) is None
    publishing.retry_now()
    assert publishing.poll(0.1) is not None


def test_now_is_what_the_topic_says_and_not_what_a_clock_says() -> None:
    reading = Reading("meters", 0, NOW, NOW)
    question = reading.poll(0.0)
    assert question is not None
    reading.on_reply(question.number, Redirect(LIST), 0.0)
    assert reading.delegates is None  # only who joins is told
    question = reading.poll(1.0)
    assert question is not None
    assert isinstance(question.body, Join)
    reading.on_reply(question.number, Joined(2, LIST, 77), 1.0)
    assert (reading.cursor, reading.until, reading.done) == (76, 77, True)


def test_a_topic_that_waits_is_asked_again_and_the_reason_kept() -> None:
    reading = Reading("meters", 0, 1)
    question = reading.poll(0.0)
    assert question is not None
    reading.on_reply(question.number, Waiting("for b1"), 0.0)
    assert reading.waiting == "for b1"
    assert reading.poll(1.0) is not None
    reading.on_reply(reading.number, Joined(2, LIST, 5), 1.0)
    assert reading.waiting == ""
