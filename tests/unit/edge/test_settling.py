"""How far another door is: asked, answered when it is on disk, and never by an older word."""

from __future__ import annotations

from tests.unit.edge.harness import OTHER_RUN, RUN, Harness, written

from evenflow.edge.actions import Remember, TellSettled, Write
from evenflow.edge.sessions import Stage
from evenflow.model.messages import SettleAnswer, SettleRequest


def asked(connection: int = 2, topic: str = "items") -> SettleRequest:
    return SettleRequest("d2", "car-1", RUN, connection, topic)


def test_an_answer_waits_for_the_disk_and_ends_the_older_connection():
    door = Harness()
    car = door.attach(connection=1)
    door.publish(car, 1, b"a", b"b")
    assert door.hear(asked()) == []
    assert not door.is_here(car)
    answers = written(door.settle(), SettleAnswer)
    assert answers == [SettleAnswer("d1", "car-1", RUN, 2, "items", 2)]
    assert door.acceptance.is_empty


def test_nothing_more_is_taken_of_a_connection_that_is_over():
    door = Harness()
    car = door.attach(connection=1)
    door.hear(asked())
    assert door.publish(car, 1, b"late") == []
    assert door.wrong == "this client is here no more"
    assert door.ask(car, "d2") == []
    assert door.acceptance.uplink.is_idle


def test_a_request_does_not_end_a_connection_of_another_run():
    """Who numbers its connections anew in each run has a smaller number, and is newer."""
    door = Harness()
    car = door.attach(connection=1, run=OTHER_RUN)
    door.hear(asked(connection=2))
    assert door.is_here(car)


def test_an_answer_goes_to_who_asked():
    door = Harness()
    (answer,) = door.hear(asked())
    assert answer == Write(SettleAnswer("d1", "car-1", RUN, 2, "items", 0), "d2")


def test_after_the_answer_the_older_connection_is_not_let_in():
    door = Harness()
    door.hear(asked(connection=7))
    known = door.acceptance.sessions.why_old("car-1", RUN, 6)
    assert known == "connection 6 is not newer than 7"
    assert not door.acceptance.sessions.why_old("car-1", RUN, 8)
    assert not door.acceptance.sessions.why_old("car-1", OTHER_RUN, 6)


def test_a_repeated_request_is_answered_again_and_the_same():
    door = Harness()
    door.marks["car-1", RUN]["items"] = 5
    first = written(door.hear(asked()), SettleAnswer)
    assert [one.number for one in first] == [5]
    assert first == written(door.hear(asked()), SettleAnswer)


def test_a_request_of_an_older_connection_is_not_answered():
    """The client has come back since: it sends more, and an answer would not hold."""
    door = Harness()
    car = door.attach(connection=3)
    assert door.hear(asked(connection=2)) == []
    assert door.is_here(car)


def test_a_request_about_another_run_is_answered_whatever_the_numbers_of_this_one():
    """A client that lost its memory may number from the clock, and that may have been ahead."""
    door = Harness()
    door.marks["car-1", RUN]["items"] = 5
    ahead = door.attach(connection=1_000_000, run=OTHER_RUN)
    assert [one.number for one in written(door.hear(asked(connection=2)), SettleAnswer)] == [5]
    assert door.is_here(ahead)


def test_a_request_that_waits_for_the_disk_is_not_answered_when_the_client_came_back():
    door = Harness()
    door.publish(door.attach(connection=1), 1, b"a")
    door.hear(asked(connection=2))
    door.attach(connection=3)
    assert not written(door.settle(), SettleAnswer)


def test_a_question_is_asked_when_the_other_door_is_heard_and_repeated():
    door = Harness(settle_s=1.0)
    car = door.attach(connection=4)
    assert door.ask(car, "d2") == []
    request = Write(SettleRequest("d1", "car-1", RUN, 4, "items"), "d2")
    assert door.meet("d2") == [request]
    assert door.wait(0.5) == []
    assert door.acceptance.settling.awaited == {"d2"}
    assert door.wait(0.5) == [request]
    door.known.clear()
    assert door.wait(1.0) == []
    assert door.meet("d2") == [request]


def test_an_answer_is_told_to_the_connection_that_asked_and_once():
    door = Harness()
    door.meet("d2")
    car = door.attach(connection=4)
    door.ask(car, "d2")
    assert door.hear(SettleAnswer("d2", "car-1", RUN, 3, "items", 9)) == []
    good = SettleAnswer("d2", "car-1", RUN, 4, "items", 9)
    assert door.hear(good) == [TellSettled(car.link, "d2", "items", 9)]
    assert door.hear(good) == []


def test_an_answer_is_not_told_to_a_newer_connection():
    door = Harness()
    door.meet("d2")
    door.ask(door.attach(connection=4), "d2")
    door.ask(door.attach(connection=5), "d2")
    assert door.hear(SettleAnswer("d2", "car-1", RUN, 4, "items", 9)) == []


def test_about_this_door_it_says_what_it_said_in_welcome():
    door = Harness()
    door.marks["car-1", RUN]["items"] = 3
    car = door.attach()
    door.publish(car, 4, b"x")
    door.settle()
    assert door.ask(car, "d1") == [TellSettled(car.link, "d1", "items", 3)]


def test_what_a_given_up_door_had_is_sent_again():
    door = Harness()
    car = door.attach()
    door.ask(car, "d9")
    door.acceptance.settling.forget(("d9",))
    assert door.done() == [Remember(("d9",)), TellSettled(car.link, "d9", "items", 0)]
    assert door.ask(car, "d9", "logs") == [TellSettled(car.link, "d9", "logs", 0)]


def test_a_door_that_was_given_up_lets_nobody_in():
    door = Harness()
    door.acceptance.settling.forget(("d1", "d7"))
    assert door.acceptance.why_closed(door.now) == "door d1 was given up by its operator"


def test_questions_are_bounded():
    door = Harness()
    car = door.attach()
    for number in range(64):
        door.ask(car, f"x{number % 16}", f"t{number // 16}")
        assert not door.wrong
    door.ask(car, "x1", "another")
    assert door.wrong == "more than 64 questions at a time"


def test_a_client_asks_about_few_doors_at_a_time():
    door = Harness()
    car = door.attach()
    for number in range(16):
        door.ask(car, f"x{number}")
    door.ask(car, "x16")
    assert door.wrong == "questions about more than 16 doors at a time"
    door.meet("x0")
    door.hear(SettleAnswer("x0", "car-1", RUN, 1, "items", 9))
    door.ask(car, "x16")
    assert not door.wrong


def test_who_returns_is_let_in_when_its_items_are_on_disk():
    """Being let in settles what it sent over its former connection: it must be known by then."""
    door = Harness()
    car = door.attach(connection=1)
    door.publish(car, 1, b"a", b"b")
    again = door.attach(connection=2)
    assert again.stage is Stage.ARRIVING
    assert door.publish(again, 3, b"c") == []
    assert door.wrong == "this client is let in when its former items are settled"
    assert door.ask(again, "d1") == []
    door.wait()
    assert again.stage is Stage.ARRIVING
    door.sync()
    assert door.let_in == [car, again]
    assert again.welcomed == {"items": 2}
