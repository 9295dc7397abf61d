"""What a copy holds and writes."""

from __future__ import annotations

from typing import Any

from tests.unit.overlay.hosts import HOME, WALL, FakeHost, label, record

from evenflow.overlay.protocol.messages import Message, PublisherState, ShelfId
from evenflow.overlay.replica import copy as copy_module
from evenflow.overlay.replica.copy import REPEATED_NS, Copy
from evenflow.overlay.replica.states import State, Trigger
from evenflow.overlay.space.coordinate import Coordinate
from evenflow.overlay.space.delegation import DelegateList


def copy_of(host: FakeHost, committed: int = 0, **fields: Any) -> Copy:
    return Copy(host, record(host, **fields), committed, lambda: None)


def messages(*times: int, publisher: int = 1) -> list[Message]:
    return [Message(time, publisher, number + 1, b"x") for number, time in enumerate(times)]


def test_a_copy_from_disk_is_unsure_and_knows_what_it_has() -> None:
    host = FakeHost()
    first = copy_of(host)
    first.write(messages(11, 14))
    again = Copy(host, first.record, 11, lambda: None)
    assert (again.state, again.committed, again.last) == (State.UNSURE, 11, 14)
    assert again.publishers == {1: PublisherState(1, 2, 14)}


def test_an_empty_copy_is_committed_up_to_its_term() -> None:
    assert (copy_of(FakeHost()).committed, copy_of(FakeHost()).last) == (9, 9)


def test_one_broker_is_wanted_at_level_1_and_two_at_the_others() -> None:
    host = FakeHost()
    assert copy_of(host, level=1).wanted() == ("b0",)
    assert copy_of(host, level=3).wanted() == ("b0", "b1")


def test_a_publisher_is_stored_as_far_as_its_newest_message() -> None:
    copy = copy_of(FakeHost())
    copy.write(messages(11, 12))
    copy.take_publishers([PublisherState(1, 1, 5), PublisherState(2, 9, 6)])
    assert copy.publishers == {1: PublisherState(1, 2, 12), 2: PublisherState(2, 9, 6)}
    assert copy.host.store.publishers(HOME) == copy.publishers


def test_publishers_before_a_time_leave_out_what_replication_will_bring() -> None:
    copy = copy_of(FakeHost())
    copy.write(messages(11, 12, 13))
    copy.last = 13
    assert copy.publishers_before(12) == (PublisherState(1, 1, 11),)


def test_a_message_that_was_never_acknowledged_can_be_sent_again() -> None:
    copy = copy_of(FakeHost())
    copy.write(messages(11, 12))
    copy.last = 12
    copy.unwrite(copy.between(12, 13), 12, [PublisherState(1, 1, 11)])
    assert [message.time for message in copy.between(0, 99)] == [11]
    assert copy.publishers[1].sequence == 1


def test_truncation_takes_messages_and_publishers_back() -> None:
    copy = copy_of(FakeHost())
    copy.write(messages(11, 12, 13))
    copy.truncate(12, [PublisherState(1, 1, 11)])
    assert copy.last == 11
    assert copy.publishers == copy.host.store.publishers(HOME) == {1: PublisherState(1, 1, 11)}


def test_expiry_forgets_publishers_that_were_silent_since() -> None:
    copy = copy_of(FakeHost())
    copy.write(messages(11))
    copy.write(messages(15, publisher=2))
    copy.expire(12)
    assert [message.time for message in copy.between(0, 99)] == [15]
    assert set(copy.publishers) == {2}


def test_who_may_still_repeat_is_remembered_though_what_it_published_has_expired() -> None:
    copy = copy_of(FakeHost())
    at = copy.host.wall - REPEATED_NS
    copy.write(messages(at + 1))
    copy.expire(at + 2)
    assert list(copy.between(0, at + 2)) == []
    assert set(copy.publishers) == {1}
    copy.write(messages(at + 20, publisher=2))
    copy.host.wall += 10
    copy.expire(at + 30)
    assert set(copy.publishers) == {2}


def test_with_too_many_publishers_the_most_silent_are_forgotten(monkeypatch: Any) -> None:
    monkeypatch.setattr(copy_module, "MOST_PUBLISHERS", 20)
    copy = copy_of(FakeHost())
    for publisher in range(21):
        copy.write(messages(11 + publisher, publisher=publisher))
    assert set(copy.publishers) == set(range(2, 21))


def test_a_topic_brings_its_load_along_until_that_has_expired() -> None:
    host = FakeHost(age_s=10.0)
    shelf = ShelfId("meters", Coordinate(0.9, 0.1))
    delegates = DelegateList.at_home(HOME.coordinate).delegate(shelf.coordinate, WALL)
    moved = copy_of(host, shelf=shelf, label=label(inherited=1000, delegates=delegates))
    moved.write(messages(WALL + 1))
    loads = []
    for seconds in (0, 5, 10, 20):
        host.wall = WALL + seconds * 10**9
        loads.append(moved.topic_load())
    assert loads == [1001, 501, 1, 1]


def test_a_topic_counts_no_more_than_a_shelf_keeps() -> None:
    copy = copy_of(FakeHost(shelf_bytes=2))
    copy.write(messages(11, 12, 13))
    assert copy.topic_load() == 2


def test_state_changes_follow_the_table_and_are_reported() -> None:
    seen: list[State] = []
    host = FakeHost()
    copy = Copy(host, record(host), 0, lambda: seen.append(copy.state))
    copy.change_state(Trigger.FOLLOW)
    copy.change_state(Trigger.LEAD)
    assert seen == [State.FOLLOWING, State.LEADING]
    assert copy.leading


def test_what_follows_an_unacknowledged_message_of_a_publisher_goes_with_it() -> None:
    copy = copy_of(FakeHost())
    copy.write(messages(11, 12, 14))
    copy.write(messages(13, publisher=2))
    copy.last = 14
    copy.unwrite(copy.between(12, 13), 11, [])
    assert [message.time for message in copy.between(0, 99)] == [11, 13]
    assert copy.publishers[1] == PublisherState(1, 1, 11)


def test_what_a_past_delegate_had_may_be_newer_than_all_that_was_taken_here() -> None:
    copy = copy_of(FakeHost())
    copy.insert(5, messages(8, 20))
    assert (copy.last, copy.record.since) == (20, 0)
    copy.insert(5, messages(6, 7))
    copy.insert(5, [])
    assert copy.last == 20


def test_a_broker_in_place_of_a_dead_one_has_only_what_is_new_at_level_2() -> None:
    host = FakeHost()
    assert not copy_of(host).stand_in("b1")
    assert copy_of(host).stand_in("b2")
    assert not copy_of(host, level=3).stand_in("b2")
