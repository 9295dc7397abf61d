"""How far another gateway is: asked, answered when it is on disk, and never by an older word."""

from __future__ import annotations

from tests.unit.mobile.gateway.harness import (
    OTHER_RUN,
    RUN,
    WALL,
    Harness,
    closed,
    sent,
    written,
)

from evenflow.mobile.gateway.events import Forget, NotHeard, TimeOfDay
from evenflow.mobile.link import frames
from evenflow.model.messages import GatewayReport, SettleAnswer, SettleRequest


def report(name: str, *, forgotten: tuple[str, ...] = ()) -> GatewayReport:
    return GatewayReport(name, (f"quic://{name}:1",), 0, 10, False, forgotten)


def asked(connection: int = 2, topic: str = "items") -> SettleRequest:
    return SettleRequest("g2", "car-1", RUN, connection, topic)


def test_an_answer_waits_for_the_disk_and_ends_the_older_connection():
    gateway = Harness()
    link = gateway.attach(connection=1)
    gateway.publish(link, 1, b"a", b"b")
    actions = gateway.hear(asked())
    assert closed(actions, link) is not None
    assert not written(actions, SettleAnswer)
    assert gateway.publish(link, 3, b"late") == []
    answers = written(gateway.settle(), SettleAnswer)
    assert answers == [SettleAnswer("g1", "car-1", RUN, 2, "items", 2)]
    assert gateway.accepted["car-1", RUN, "items"] == [b"a", b"b"]


def test_after_the_answer_the_older_connection_is_not_let_in():
    gateway = Harness()
    (answer,) = written(gateway.hear(asked(connection=7)), SettleAnswer)
    assert answer.number == 0
    late = gateway.attach(connection=6)
    assert closed(gateway.log, late) is not None


def test_a_repeated_request_is_answered_again_and_the_same():
    gateway = Harness()
    gateway.marks["car-1", RUN]["items"] = 5
    first = written(gateway.hear(asked()), SettleAnswer)
    assert first == written(gateway.hear(asked()), SettleAnswer)


def test_a_request_of_an_older_connection_is_not_answered():
    """The node has come back since: it sends more, and an answer would not hold."""
    gateway = Harness()
    gateway.attach(connection=3)
    assert not written(gateway.hear(asked(connection=2)), SettleAnswer)
    assert gateway.core.sessions.clients == 1


def test_a_request_about_another_run_is_answered_whatever_the_numbers_of_this_one():
    """A client that lost its memory may number from the clock, and that may have been ahead."""
    gateway = Harness()
    gateway.marks["car-1", RUN]["items"] = 5
    ahead = gateway.attach(connection=1_000_000, run=OTHER_RUN)
    actions = gateway.hear(asked(connection=2))
    assert [one.number for one in written(actions, SettleAnswer)] == [5]
    assert closed(actions, ahead) is None


def test_a_request_that_waits_for_the_disk_is_not_answered_when_the_node_came_back():
    gateway = Harness()
    link = gateway.attach(connection=1)
    gateway.publish(link, 1, b"a")
    gateway.hear(asked(connection=2))
    gateway.attach(connection=3)
    assert not written(gateway.settle(), SettleAnswer)


def test_a_question_is_asked_when_the_other_gateway_is_heard_and_repeated():
    gateway = Harness()
    link = gateway.attach(connection=4)
    assert not written(gateway.say(link, frames.Settle("g2", "items")), SettleRequest)
    heard = written(gateway.hear(report("g2")), SettleRequest)
    assert heard == [SettleRequest("g1", "car-1", RUN, 4, "items")]
    gateway.now += 1.0
    again = gateway.handle(TimeOfDay(WALL, frozenset()))
    assert written(again, SettleRequest) == heard
    gateway.handle(NotHeard(GatewayReport, "g2"))
    gateway.now += 1.0
    assert not written(gateway.handle(TimeOfDay(WALL, frozenset())), SettleRequest)
    assert written(gateway.hear(report("g2")), SettleRequest) == heard


def test_an_answer_goes_to_the_connection_that_asked_and_once():
    gateway = Harness()
    gateway.hear(report("g2"))
    link = gateway.attach(connection=4)
    gateway.say(link, frames.Settle("g2", "items"))
    assert not sent(gateway.hear(SettleAnswer("g2", "car-1", RUN, 3, "items", 9)), link)
    good = SettleAnswer("g2", "car-1", RUN, 4, "items", 9)
    assert sent(gateway.hear(good), link) == [frames.Settled("g2", "items", 9)]
    assert not sent(gateway.hear(good), link)


def test_an_answer_is_not_passed_on_to_a_newer_connection():
    gateway = Harness()
    gateway.hear(report("g2"))
    gateway.say(gateway.attach(connection=4), frames.Settle("g2", "items"))
    new = gateway.attach(connection=5)
    gateway.say(new, frames.Settle("g2", "items"))
    assert not sent(gateway.hear(SettleAnswer("g2", "car-1", RUN, 4, "items", 9)), new)


def test_what_a_given_up_gateway_had_is_sent_again():
    gateway = Harness()
    link = gateway.attach()
    gateway.say(link, frames.Settle("g9", "items"))
    actions = gateway.handle(Forget("g9"))
    assert sent(actions, link) == [frames.Settled("g9", "items", 0)]
    assert sent(gateway.say(link, frames.Settle("g9", "logs")), link) == [
        frames.Settled("g9", "logs", 0)
    ]
    told = written(gateway.wait(1.0), GatewayReport)
    assert told[-1].forgotten == ("g9",)


def test_who_is_given_up_is_known_everywhere_and_takes_no_more_nodes():
    gateway = Harness()
    gateway.hear(report("g2", forgotten=("g1", "g7")))
    assert gateway.core.acceptance.settling.forgotten == {"g1", "g7"}
    link = gateway.attach()
    refused = closed(gateway.log, link)
    assert refused is not None
    assert refused.retry


def test_about_this_gateway_it_says_what_it_said_in_welcome():
    gateway = Harness()
    gateway.marks["car-1", RUN]["items"] = 3
    link = gateway.attach()
    gateway.publish(link, 4, b"x")
    gateway.settle()
    answer = sent(gateway.say(link, frames.Settle("g1", "items")), link)
    assert answer == [frames.Settled("g1", "items", 3)]


def test_too_many_questions_end_the_connection():
    gateway = Harness()
    link = gateway.attach()
    for number in range(64):
        gateway.say(link, frames.Settle(f"x{number}", "items"))
    assert closed(gateway.say(link, frames.Settle("x64", "items")), link) is not None
