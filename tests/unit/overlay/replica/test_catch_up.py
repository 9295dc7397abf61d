"""A member gets what it lacks from before its term, and only what it asked for."""

from __future__ import annotations

from tests.unit.overlay.hosts import HOME, FakeHost, lead, record

from evenflow.overlay.protocol.messages import Message, Pull, Pulled, Synced
from evenflow.overlay.replica.catch_up import CatchUp
from evenflow.overlay.replica.copy import RETRY_S, Copy
from evenflow.overlay.replica.replica import Replica
from evenflow.overlay.replica.states import State


def following(host: FakeHost, since: int = 10) -> tuple[Copy, CatchUp]:
    copy = Copy(host, record(host, "b1", "b0", since=since), 9, lambda: None)
    copy.state = State.FOLLOWING
    return copy, CatchUp(copy)


def message(time: int) -> Message:
    return Message(time, 1, time, b"x")


def test_what_is_lacking_is_pulled_piece_by_piece_and_reported() -> None:
    host = FakeHost()
    copy, catch_up = following(host)
    catch_up.follow(0)
    assert host.mail.sent == [
        ("b1", Synced(HOME, 5, 10, False, 0)),
        ("b1", Pull(HOME, 5, 0, 10)),
    ]
    host.mail.sent.clear()
    catch_up.on_pulled("b1", Pulled(HOME, 5, 0, 4, (message(2),)))
    assert host.mail.take(Pull) == [("b1", Pull(HOME, 5, 4, 10))]
    catch_up.on_pulled("b1", Pulled(HOME, 5, 4, 10, (message(5),)))
    assert host.mail.take(Synced) == [("b1", Synced(HOME, 5, 0, True, 0))]
    assert (copy.record.since, [m.time for m in copy.between(0, 99)]) == (0, [2, 5])


def test_a_pull_without_an_answer_is_repeated() -> None:
    host = FakeHost()
    _, catch_up = following(host)
    catch_up.follow(0)
    host.mail.sent.clear()
    catch_up.pull()
    assert host.mail.sent == []
    host.now += RETRY_S
    catch_up.pull()
    assert len(host.mail.take(Pull)) == 1


def test_pieces_of_others_of_other_terms_or_out_of_turn_are_ignored() -> None:
    host = FakeHost()
    copy, catch_up = following(host)
    catch_up.follow(0)
    catch_up.on_pulled("b2", Pulled(HOME, 5, 0, 10, (message(2),)))
    catch_up.on_pulled("b1", Pulled(HOME, 4, 0, 10, (message(2),)))
    catch_up.on_pulled("b1", Pulled(HOME, 5, 3, 10, (message(5),)))
    catch_up.on_pulled("b1", Pulled(HOME, 5, 0, 0, ()))
    assert catch_up.fetching is not None
    assert (catch_up.fetching.next, copy.between(0, 99)) == (0, [])


def test_a_primary_gives_pieces_and_says_how_far_they_go() -> None:
    host = FakeHost()
    made = Replica(host, record(host), 9, lambda: None)
    made.copy.write([message(3), message(7)])
    made.catch_up.on_pull("b1", Pull(HOME, 5, 0, 10))
    assert host.mail.sent == []  # it does not lead
    lead(made)
    made.catch_up.on_pull("b1", Pull(HOME, 5, 0, 10))
    assert host.mail.take(Pulled) == [("b1", Pulled(HOME, 5, 0, 10, (message(3), message(7))))]


def test_one_that_rejoins_pulls_what_may_be_wrong_if_that_closes_the_gap() -> None:
    host = FakeHost()
    _, catch_up = following(host, since=2)
    assert catch_up.rejoin(5, 5) == 2
    assert catch_up.rejoin(5, 20) == 20
    assert catch_up.fetching is not None
    assert (catch_up.fetching.next, catch_up.fetching.end, catch_up.fetching.since) == (5, 20, 2)
    _, nothing = following(host, since=9)
    assert nothing.rejoin(5, 20) == 20
    assert nothing.fetching is None
