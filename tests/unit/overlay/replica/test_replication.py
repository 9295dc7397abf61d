"""Messages within a term: none is skipped, and what an older term left is not kept."""

from __future__ import annotations

from msgspec.structs import replace
from tests.unit.overlay.hosts import HOME, FakeHost, config, label, lead, record

from evenflow.overlay.protocol.messages import Decided, Message, Replicate, Replicated
from evenflow.overlay.replica.copy import RETRY_S, Copy
from evenflow.overlay.replica.replica import Replica
from evenflow.overlay.replica.replication import MOST_UNDER_WAY, Replication
from evenflow.overlay.replica.states import State


def primary(host: FakeHost, secondary: str = "b1") -> tuple[Copy, Replication]:
    level = 2 if secondary else 1
    made = Replica(host, record(host, "b0", secondary, level=level), 9, lambda: None)
    lead(made)
    return made.copy, made.replication


def follower(host: FakeHost) -> tuple[Copy, Replication]:
    copy = Copy(host, record(host, "b1", "b0"), 9, lambda: None)
    copy.state = State.FOLLOWING
    replication = Replication(copy)
    replication.follow_from(10, ())
    return copy, replication


def message(time: int, sequence: int, publisher: int = 1) -> Message:
    return Message(time, publisher, sequence, b"x")


def test_messages_are_committed_when_the_secondary_has_them() -> None:
    host = FakeHost()
    copy, replication = primary(host)
    replication.append([message(11, 1), message(12, 2)])
    ((node, sent),) = host.mail.take(Replicate)
    assert (node, sent.previous, len(sent.messages), copy.committed) == ("b1", 9, 2, 9)
    replication.on_replicated("b1", Replicated(HOME, 5, 12, 1, 1))
    assert copy.committed == 12


def test_alone_at_level_1_they_are_committed_at_once() -> None:
    host = FakeHost()
    copy, replication = primary(host, secondary="")
    replication.append([message(11, 1)])
    assert copy.committed == 11
    assert host.mail.sent == []


def test_one_is_under_way_at_a_time_and_is_repeated() -> None:
    host = FakeHost()
    _, replication = primary(host)
    replication.append([message(11, 1)])
    replication.append([message(12, 2)])
    assert len(host.mail.take(Replicate)) == 1
    host.now += RETRY_S
    replication.replicate()
    ((_, sent),) = host.mail.take(Replicate)
    assert [each.time for each in sent.messages] == [11, 12]


def test_answers_of_others_or_of_other_terms_count_for_nothing() -> None:
    host = FakeHost()
    copy, replication = primary(host)
    replication.append([message(11, 1)])
    replication.on_replicated("b2", Replicated(HOME, 5, 11, 1, 1))
    replication.on_replicated("b1", Replicated(HOME, 4, 11, 1, 1))
    assert copy.committed == 9


def test_a_label_is_kept_when_the_secondary_has_it() -> None:
    host = FakeHost()
    copy, replication = primary(host)
    replication.relabel(replace(copy.label, ticket=3))
    assert not replication.label_kept
    ((_, sent),) = host.mail.take(Replicate)
    assert sent.label[0].ticket == 3
    replication.on_replicated("b1", Replicated(HOME, 5, 9, sent.label[0].revision, 1))
    assert replication.label_kept


def test_a_follower_writes_in_order_and_says_how_far() -> None:
    host = FakeHost()
    copy, replication = follower(host)
    replication.on_replicate("b1", Replicate(HOME, 5, 9, (message(11, 1),), 9, (), (), 4))
    assert host.mail.take(Replicated) == [("b1", Replicated(HOME, 5, 11, 1, 4))]
    replication.on_replicate("b1", Replicate(HOME, 5, 12, (message(13, 3),), 11, (), (), 4))
    # 12 is missing: the primary hears from where on to send.
    assert host.mail.take(Replicated) == [("b1", Replicated(HOME, 5, 11, 1, 4))]
    replication.on_replicate("b1", Replicate(HOME, 5, 11, (message(12, 2),), 11, (), (), 4))
    assert (copy.last, copy.committed) == (12, 11)


def test_what_an_older_term_left_under_the_time_of_another_message_can_be_sent_again() -> None:
    """Clocks that follow one another may give one time twice; the second message replaces it."""
    host = FakeHost()
    copy, replication = follower(host)
    copy.write([message(12, 1, publisher=7)])
    copy.last = 12
    replication.on_replicate("b1", Replicate(HOME, 5, 9, (message(12, 1),), 9, (), (), 4))
    assert [each.publisher for each in copy.between(0, 99)] == [1]
    assert copy.publishers[7].sequence == 0


def test_what_an_older_term_left_between_is_deleted_and_can_be_sent_again() -> None:
    host = FakeHost()
    copy, replication = follower(host)
    copy.write([message(11, 1, publisher=7)])
    copy.last = 11
    replication.on_replicate("b1", Replicate(HOME, 5, 9, (message(12, 1),), 9, (), (), 4))
    assert [each.time for each in copy.between(0, 99)] == [12]
    assert copy.publishers[7].sequence == 0


def test_an_old_primary_is_refused() -> None:
    host = FakeHost()
    copy, replication = follower(host)
    replication.on_replicate("b2", Replicate(HOME, 4, 9, (message(11, 1),), 9, (), (), 4))
    assert host.mail.take(Decided) == [("b2", Decided(HOME, copy.config))]
    assert copy.between(0, 99) == []


def test_a_floor_on_the_label_expires_the_followers_messages_too() -> None:
    host = FakeHost()
    copy, replication = follower(host)
    copy.write([message(11, 1)])
    newer = replace(label(floor=12), revision=2)
    replication.on_replicate("b1", Replicate(HOME, 5, 9, (), 9, (newer,), (), 4))
    assert copy.between(0, 99) == []
    assert copy.label == newer


def test_whoever_is_still_primary_hears_it_from_those_in_sync() -> None:
    host = FakeHost()
    _, replication = primary(host)
    host.now += 1
    asked = host.now
    assert not replication.confirmed(asked)
    ((_, sent),) = host.mail.take(Replicate)
    replication.on_replicated("b1", Replicated(HOME, 5, 9, 1, sent.round + 7))  # to another
    assert not replication.confirmed(asked)
    replication.on_replicated("b1", Replicated(HOME, 5, 9, 1, sent.round))
    assert replication.confirmed(asked)


def test_a_member_that_has_caught_up_is_waited_for_before_that_is_decided() -> None:
    host = FakeHost()
    made = Replica(host, record(host, "b0", "b1"), 9, lambda: None)
    made.copy.config = config("b0", "b1", "b2", in_sync=("b0", "b1"))
    lead(made)
    assert made.replication.caught_up() == {"b1", "b2"}
    made.replication.append([message(11, 1)])
    made.replication.on_replicated("b1", Replicated(HOME, 5, 11, 1, 1))
    assert made.copy.committed == 9
    made.replication.on_replicated("b2", Replicated(HOME, 5, 11, 1, 2))
    assert made.copy.committed == 11


def test_every_copy_in_sync_is_waited_for_though_fewer_disks_would_do() -> None:
    host = FakeHost()
    made = Replica(host, record(host, "b0", "b1"), 9, lambda: None)
    made.copy.config = config("b0", "b1", "b2", in_sync=("b0", "b1", "b2"))
    lead(made)
    made.replication.append([message(11, 1)])
    made.replication.on_replicated("b1", Replicated(HOME, 5, 11, 1, 1))
    assert made.copy.committed == 9
    made.replication.on_replicated("b2", Replicated(HOME, 5, 11, 1, 2))
    assert made.copy.committed == 11


def test_what_was_taken_under_another_time_before_is_not_kept_twice() -> None:
    host = FakeHost()
    copy, replication = follower(host)
    copy.write([message(14, 1), message(15, 2)])
    copy.last = 15
    replication.on_replicate("b1", Replicate(HOME, 5, 9, (message(11, 1),), 9, (), (), 4))
    assert [each.time for each in copy.between(0, 99)] == [11]
    assert copy.publishers[1].sequence == 1


def test_times_that_are_absurd_or_do_not_rise_are_refused_and_counted() -> None:
    host = FakeHost()
    copy, replication = follower(host)
    falling = (message(12, 1), message(11, 2))
    replication.on_replicate("b1", Replicate(HOME, 5, 9, falling, 9, (), (), 4))
    late = (message(1 << 62, 1),)
    replication.on_replicate("b1", Replicate(HOME, 5, 9, late, 9, (), (), 4))
    assert copy.between(0, 1 << 62) == []
    assert (host.counters.damaged, host.counters.skewed) == (1, 1)


def asked_three_times(host: FakeHost) -> tuple[Copy, Replication, list[tuple[float, int]]]:
    """Return a primary that was not answered in time, and when it sent which round."""
    copy, replication = primary(host)
    replication.append([message(11, 1)])
    rounds = []
    for _ in range(3):
        ((_, sent),) = host.mail.take(Replicate)
        rounds.append((host.now, sent.round))
        host.now += RETRY_S * 8
        replication.replicate()
    host.mail.take(Replicate)
    return copy, replication, rounds


def test_an_answer_that_comes_after_a_repeat_counts_as_of_its_own_question() -> None:
    host = FakeHost()
    copy, replication, rounds = asked_three_times(host)
    asked, number = rounds[1]
    replication.on_replicated("b1", Replicated(HOME, 5, 11, 1, number))
    assert copy.committed == 11
    assert replication.confirmed(asked)
    assert not replication.confirmed(rounds[2][0]), "it may have gone over to another by then"


def test_an_answer_counts_once_and_an_older_one_takes_nothing_back() -> None:
    host = FakeHost()
    copy, replication, rounds = asked_three_times(host)
    replication.append([message(12, 2)])
    replication.on_replicated("b1", Replicated(HOME, 5, 11, 1, rounds[2][1]))
    replication.on_replicated("b1", Replicated(HOME, 5, 9, 0, rounds[0][1]))
    assert (copy.committed, replication.members["b1"].last) == (11, 11)
    assert replication.confirmed(rounds[2][0])


def test_a_late_answer_of_an_earlier_term_or_life_confirms_nothing() -> None:
    host = FakeHost()
    _, replication, rounds = asked_three_times(host)
    replication.on_replicated("b1", Replicated(HOME, 4, 11, 1, rounds[2][1]))
    assert not replication.confirmed(rounds[1][0])
    replication.resync("b1").synced = True
    replication.on_replicated("b1", Replicated(HOME, 5, 9, 0, rounds[2][1]))
    assert not replication.confirmed(rounds[1][0])


def test_only_few_unanswered_are_remembered_and_each_waits_for_its_time() -> None:
    host = FakeHost()
    _, replication = primary(host)
    replication.append([message(11, 1)])
    for _ in range(3 * MOST_UNDER_WAY):
        assert host.now < replication.due() <= host.now + RETRY_S * 8
        host.now = replication.due()
        host.mail.take(Replicate)
        replication.replicate()
        assert len(host.mail.take(Replicate)) == 1
    assert len(replication.members["b1"].under_way) == MOST_UNDER_WAY
