"""A subscriber takes each message once and in order, whoever pushes it and however often."""

from __future__ import annotations

import random

from evenflow.overlay.client.core import BATCH_MESSAGES, RETRY_S
from evenflow.overlay.client.following import RENEW_S, Following
from evenflow.overlay.protocol.messages import (
    Fetch,
    Fetched,
    FetchInstead,
    Join,
    Joined,
    Message,
    Pushed,
    Redirect,
    Resubscribe,
    Subscribe,
    Subscribed,
    Taken,
    Unsubscribe,
)
from evenflow.overlay.space.coordinate import Coordinate, geographic_hash
from evenflow.overlay.space.delegation import DelegateList

HOME = geographic_hash("meters")
AWAY = Coordinate(0.9, 0.9)
LIST = DelegateList.at_home(HOME)


def message(time: int) -> Message:
    return Message(time, 1, time, b"x")


def pushed(after: int, *times: int) -> Pushed:
    return Pushed(7, after, tuple(map(message, times)), times[-1] if times else after)


def subscribed(start: int = 1, delegates: DelegateList = LIST) -> Following:
    following = Following("meters", 2, start, 7)
    question = following.poll(0.0)
    assert question is not None
    assert isinstance(question.body, Join)
    following.on_reply(question.number, Joined(2, delegates, 5), 0.0)
    question = following.poll(0.0)
    assert question is not None
    assert question.body == Subscribe(question.body.shelf, 7, start - 1)
    following.on_reply(question.number, Subscribed(7), 0.0)
    return following


def times(following: Following) -> list[int]:
    found = [each.time for each in following.found]
    following.found.clear()
    return found


def test_nothing_is_asked_while_it_is_pushed_to_but_that_it_is_there() -> None:
    following = subscribed()
    following.on_push(pushed(0, 3, 5), 1.0)
    assert times(following) == [3, 5]
    assert following.poll(RENEW_S - 0.1) is None
    renewal = following.poll(RENEW_S)
    assert renewal is not None
    assert renewal.body == Subscribe(renewal.body.shelf, 7, 5)
    assert following.poll(RENEW_S + RETRY_S) is not None  # no answer: again


def test_what_comes_again_is_dropped_and_what_is_missing_is_asked_for() -> None:
    following = subscribed()
    following.on_push(pushed(0, 3, 5), 1.0)
    following.on_push(pushed(3, 5, 6), 1.0)
    assert times(following) == [3, 5, 6]
    following.on_push(pushed(8, 9), 1.0)
    assert times(following) == []
    question = following.poll(1.0)
    assert question is not None
    assert question.body.after == 6
    following.on_push(pushed(9, 11), 1.0)  # pushed before we were heard
    assert following.poll(1.1) is None


def test_any_mixture_of_pushes_gives_each_message_once_and_in_order() -> None:
    rng = random.Random(3)
    for _ in range(300):
        following, now, seen = subscribed(), 1.0, []
        while following.cursor < 40:
            begin = rng.randrange(max(1, following.cursor + 4))
            found = list(range(begin + 1, rng.randrange(begin + 1, begin + 9)))
            following.on_push(pushed(begin, *found), now)
            question = following.poll(now)
            if question is not None and isinstance(question.body, Join):
                following.on_reply(question.number, Joined(2, LIST, 5), now)
            elif question is not None:
                assert question.body.after == following.cursor
                if rng.random() < 0.5:
                    following.on_reply(question.number, Subscribed(7), now)
            seen += times(following)
            now += 0.1
        assert seen == list(range(1, following.cursor + 1))


def test_who_is_behind_fetches_and_subscribes_again_when_it_has_caught_up() -> None:
    following = subscribed()
    following.on_push(pushed(0, 3), 1.0)
    following.on_push(FetchInstead(7, 0), 1.0)
    question = following.poll(1.0)
    assert question is not None
    assert isinstance(question.body, Fetch)
    assert question.body.after == 3
    following.on_push(pushed(3, 4), 1.0)  # was under way
    many = tuple(message(4 + number) for number in range(BATCH_MESSAGES))
    following.on_reply(question.number, Fetched(many, many[-1].time), 1.0)
    assert times(following) == [3, *(each.time for each in many)]
    question = following.poll(1.0)
    assert question is not None
    assert isinstance(question.body, Fetch)
    following.on_reply(question.number, Fetched((message(999),), 999), 1.0)
    question = following.poll(1.0)
    assert question is not None
    assert question.body == Subscribe(question.body.shelf, 7, 999)


def test_who_finds_no_room_fetches_for_a_while() -> None:
    following = subscribed()
    following.on_push(FetchInstead(7, 10_000), 1.0)
    question = following.poll(1.0)
    for now, kind in ((1.0, Fetch), (5.0, Fetch), (11.0, Subscribe)):
        assert question is not None
        assert isinstance(question.body, Fetch)
        following.on_reply(question.number, Fetched((), 0), now)
        question = following.poll(now)
        assert question is not None
        assert isinstance(question.body, kind)


def test_it_goes_where_the_topic_went_and_fetches_first_what_stayed_behind() -> None:
    following = subscribed()
    following.on_push(pushed(0, 3), 1.0)
    following.on_push(Resubscribe(7, LIST.delegate(AWAY, 10)), 1.0)
    question = following.poll(1.0)
    assert question is not None
    assert (type(question.body), question.target) == (Fetch, HOME)
    following.on_reply(question.number, Fetched((message(4),), 9), 1.0)
    question = following.poll(1.0)
    assert question is not None
    assert (type(question.body), question.target) == (Subscribe, AWAY)
    # An older broker that has not heard of the move does not bring it back.
    following.on_push(Resubscribe(7, LIST), 1.0)
    assert following.poll(1.0) is None  # it has asked there already
    question = following.poll(1.0 + RETRY_S)
    assert question is not None
    assert question.target == AWAY
    following.on_reply(question.number, Redirect(LIST.delegate(AWAY, 10)), 2.0)
    assert not following.subscribed
    # One whose broker was handed what past ones had is newer, and begins earlier.
    following.on_push(Resubscribe(7, LIST.delegate(AWAY, 6)), 1.0)
    assert following.delegates == LIST.delegate(AWAY, 6)


def test_the_broker_hears_what_the_application_has_taken() -> None:
    following = subscribed()
    first = following.acknowledge()
    assert first is not None  # the broker knows of nothing yet
    following.on_push(pushed(0, 3, 5), 1.0)
    assert following.acknowledge() is None  # the application has not taken them
    following.on_push(pushed(5), 2.0)  # the broker asks
    word = following.acknowledge()
    assert word is not None
    assert word.body == Taken(word.body.shelf, 7, 2)
    assert times(following) == [3, 5]
    word = following.acknowledge()
    assert word is not None
    assert word.body == Taken(word.body.shelf, 7, 5)
    assert following.acknowledge() is None
    end = following.leave()
    assert end is not None
    assert isinstance(end.body, Unsubscribe)


def test_an_application_that_takes_nothing_is_not_subscribed_again() -> None:
    following = subscribed()
    following.on_push(pushed(0, *range(1, BATCH_MESSAGES + 1)), 1.0)
    assert following.poll(RENEW_S + 1) is None
    following.on_push(pushed(BATCH_MESSAGES), 5.0)
    assert following.acknowledge() is not None  # but the broker hears that it is there


def reading_what_was_handed_on() -> Following:
    """A subscriber that reads at a past delegate, which has handed all on and is gone."""
    following = Following("meters", 2, 11, 7)
    question = following.poll(0.0)
    assert question is not None
    delegates = LIST.delegate(Coordinate(0.6, 0.3), 10).delegate(AWAY, 20)
    following.on_reply(question.number, Joined(2, delegates, 30), 0.0)
    question = following.poll(0.0)
    assert question is not None
    assert question.target == Coordinate(0.6, 0.3)
    return following


def test_a_list_in_which_messages_were_handed_on_is_news() -> None:
    following = reading_what_was_handed_on()
    following.on_push(Resubscribe(7, LIST.delegate(AWAY, 10)), 1.0)
    question = following.poll(1.0)
    assert question is not None
    assert question.target == AWAY
    assert isinstance(question.body, Subscribe)


def test_one_that_is_asked_where_it_is_every_second_joins_anew_in_the_end() -> None:
    """Who asks names another place, whose time begins earlier than all that it knows."""
    following = reading_what_was_handed_on()
    elsewhere = LIST.delegate(Coordinate(0.2, 0.8), 10)
    asked = []
    for second in range(60):
        following.on_push(Resubscribe(7, elsewhere), float(second))
        question = following.poll(float(second))
        if question is not None:
            asked.append(question.body)
        if asked and isinstance(asked[-1], Join):
            following.on_reply(question.number, Joined(2, elsewhere, 30), float(second))
    assert isinstance(asked[-1], Subscribe)
    assert asked[-1].shelf.coordinate == Coordinate(0.2, 0.8)
