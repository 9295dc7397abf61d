"""A copy that lacks messages of earlier terms pulls them from one that has them."""

from __future__ import annotations

from typing import Any

from tests.unit.overlay.hosts import HOME, FakeHost, label, record

from evenflow.overlay.protocol.messages import Inquire, Known, Message, Pull, Pulled, Synced
from evenflow.overlay.replica import catch_up as module
from evenflow.overlay.replica.catch_up import CatchUp, Fetching
from evenflow.overlay.replica.copy import RETRY_S, Copy
from evenflow.overlay.replica.states import State


def part(host: FakeHost, state: State, **fields: Any) -> tuple[Copy, CatchUp]:
    roles = ("b1", "b0") if state is State.FOLLOWING else ("b0", "b1")
    copy = Copy(host, record(host, *roles, **fields), 9, lambda: None)
    copy.state = state
    return copy, CatchUp(copy)


def message(time: int) -> Message:
    return Message(time, 1, time, b"x")


def test_a_follower_pulls_what_its_primary_wants_it_to_have() -> None:
    host = FakeHost()
    copy, catch_up = part(host, State.FOLLOWING, since=10)
    catch_up.follow(2)
    assert host.mail.sent == [("b1", Synced(HOME, 5, 10, False)), ("b1", Pull(HOME, 2, 10))]
    host.mail.sent.clear()
    catch_up.on_pulled("b1", Pulled(HOME, 2, 6, (message(3), message(5))))
    assert host.mail.sent == [("b1", Pull(HOME, 6, 10))]
    host.mail.sent.clear()
    catch_up.on_pulled("b1", Pulled(HOME, 6, 10, ()))
    assert copy.record.since == 2
    assert [each.time for each in copy.between(0, 99)] == [3, 5]
    assert host.mail.sent == [("b1", Synced(HOME, 5, 2, True))]


def test_a_part_that_was_not_asked_for_is_not_written() -> None:
    host = FakeHost()
    copy, catch_up = part(host, State.FOLLOWING, since=10)
    catch_up.on_pulled("b1", Pulled(HOME, 2, 6, (message(3),)))
    catch_up.follow(2)
    catch_up.on_pulled("b2", Pulled(HOME, 2, 10, (message(3),)))
    catch_up.on_pulled("b1", Pulled(HOME, 4, 10, (message(5),)))
    assert copy.between(0, 99) == []


def test_a_request_is_repeated_and_given_up_when_the_source_dies() -> None:
    host = FakeHost()
    _, catch_up = part(host, State.LEADING, since=10)
    catch_up.fetch_from("b2", 0, 10)
    catch_up.pull()
    assert len(host.mail.take(Pull)) == 1
    host.now += RETRY_S
    catch_up.pull()
    assert len(host.mail.take(Pull)) == 1
    host.kill("b2")
    catch_up.pull()
    assert catch_up.fetching is None


def test_a_primary_pulls_what_its_secondary_has_from_before() -> None:
    host = FakeHost()
    copy, catch_up = part(host, State.LEADING, since=10)
    catch_up.lead()
    catch_up.on_partner_since(4)
    assert catch_up.fetching == Fetching("b1", 4, 10, 4, asked=host.now)
    catch_up.on_pulled("b1", Pulled(HOME, 4, 10, (message(4),)))
    assert copy.record.since == 4


def test_a_primary_asks_the_former_broker_for_what_it_lacks() -> None:
    host = FakeHost()
    copy, catch_up = part(host, State.LEADING, since=10, former="b2")
    assert catch_up.lacking
    catch_up.pull()
    assert host.mail.take(Inquire) == [("b2", Inquire(HOME))]
    catch_up.on_former_known("b2", Known(HOME, 3, "b2"))
    assert host.mail.take(Pull) == [("b2", Pull(HOME, 0, 10))]
    host.kill("b2")
    catch_up.pull()
    assert not catch_up.lacking
    catch_up.on_former_known("b2", Known(HOME, 0, ""))  # it has no copy any more
    assert copy.record.former == ""


def test_what_is_lacking_has_expired_with_the_floor() -> None:
    _, catch_up = part(FakeHost(), State.LEADING, since=10, former="b2", label=label(floor=10))
    assert not catch_up.lacking


def test_a_copy_that_missed_terms_keeps_what_they_did_not_change() -> None:
    _, catch_up = part(FakeHost(), State.UNSURE, since=3)
    assert catch_up.rejoin("b1", wrong=8, start=20) == 20
    assert catch_up.fetching == Fetching("b1", 8, 20, 3)
    catch_up.stop()
    assert catch_up.rejoin("b1", wrong=20, start=20) == 3  # nothing is between
    assert catch_up.rejoin("b1", wrong=2, start=20) == 20  # all that it has is wrong
    assert catch_up.fetching is None


def test_parts_are_cut_where_the_batch_ends(monkeypatch: Any) -> None:
    monkeypatch.setattr(module, "BATCH", 2)
    host = FakeHost()
    copy, catch_up = part(host, State.LEADING)
    copy.write([message(time) for time in (1, 3, 5)])
    catch_up.on_pull("b1", Pull(HOME, 0, 9))
    ((_, pulled),) = host.mail.take(Pulled)
    assert ([each.time for each in pulled.messages], pulled.end) == ([1, 3], 5)
    catch_up.on_pull("b1", Pull(HOME, 5, 9))
    ((_, pulled),) = host.mail.take(Pulled)
    assert ([each.time for each in pulled.messages], pulled.end) == ([5], 9)
