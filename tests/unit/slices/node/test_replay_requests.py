"""When a node asks which publisher for what."""

from __future__ import annotations

from evenflow.slices.node.replay_requests import ReplayRequests

GRACE, RETRY = 0.03, 0.3
WRITER, OTHER = 1, 2


def replay_requests() -> ReplayRequests:
    return ReplayRequests(GRACE, RETRY)


def test_a_position_is_asked_for_at_once() -> None:
    requests = replay_requests()
    requests.at_once(WRITER, [5], now=10.0)
    assert requests.poll(10.0) == [(WRITER, [5])]


def test_missing_numbers_get_a_time_of_grace() -> None:
    requests = replay_requests()
    requests.soon(WRITER, 5, now=10.0)
    assert requests.poll(10.0 + GRACE - 0.001) == []
    assert requests.poll(10.0 + GRACE) == [(WRITER, [5])]


def test_more_missing_numbers_do_not_prolong_the_grace() -> None:
    requests = replay_requests()
    requests.soon(WRITER, 5, now=10.0)
    requests.soon(WRITER, 5, now=10.02)
    assert requests.poll(10.0 + GRACE) == [(WRITER, [5])]


def test_a_question_is_repeated_until_it_is_on_replay_answer() -> None:
    requests = replay_requests()
    requests.at_once(WRITER, [5], now=10.0)
    requests.poll(10.0)
    assert requests.poll(10.0 + RETRY - 0.001) == []
    assert requests.poll(10.0 + RETRY) == [(WRITER, [5])]
    requests.resolve(WRITER, 5)
    assert requests.poll(99.0) == []


def test_what_is_due_at_one_publisher_is_one_question() -> None:
    requests = replay_requests()
    requests.at_once(WRITER, [3, 1, 2], now=10.0)
    requests.at_once(OTHER, [1], now=10.0)
    requests.soon(WRITER, 9, now=10.0)
    questions = {writer: sorted(slices) for writer, slices in requests.poll(10.0)}
    assert questions == {WRITER: [1, 2, 3], OTHER: [1]}


def test_asking_at_once_overtakes_a_waiting_question() -> None:
    requests = replay_requests()
    requests.at_once(WRITER, [5], now=10.0)
    requests.poll(10.0)
    requests.at_once(WRITER, [5], now=10.1)
    assert requests.poll(10.1) == [(WRITER, [5])]


def test_slices_and_writers_are_forgotten() -> None:
    requests = replay_requests()
    for writer in (WRITER, OTHER):
        requests.at_once(writer, [1, 2], now=10.0)
    requests.forget_writer(OTHER)
    requests.forget_slices({2, 7})
    assert requests.poll(10.0) == [(WRITER, [1])]


def test_open_tells_of_the_slices_asked_for() -> None:
    requests = replay_requests()
    requests.soon(WRITER, 1, now=10.0)
    assert requests.is_pending(frozenset({1, 2}))
    assert not requests.is_pending(frozenset({2}))
    requests.resolve(WRITER, 1)
    assert not requests.is_pending(frozenset({1, 2}))


def test_what_is_pending_is_counted_when_it_no_longer_is() -> None:
    requests = replay_requests()
    requests.at_once(WRITER, [1, 2, 3], now=10.0)
    requests.at_once(OTHER, [], now=10.0)
    assert set(requests.pending_of(WRITER)) == {1, 2, 3}
    assert not requests.pending_of(OTHER)
    requests.resolve(WRITER, 1)
    requests.resolve(WRITER, 1)
    requests.forget_slices(frozenset({2, 9}))
    requests.forget_writer(WRITER)
    assert requests.resolved == 3


def test_an_answer_to_nothing_does_no_harm() -> None:
    requests = replay_requests()
    requests.resolve(WRITER, 1)
    requests.at_once(WRITER, [2], now=10.0)
    requests.resolve(WRITER, 1)
    assert requests.poll(10.0) == [(WRITER, [2])]


def test_a_publisher_whose_replay_comes_in_is_not_asked_again_meanwhile() -> None:
    requests = replay_requests()
    requests.at_once(WRITER, [5], now=10.0)
    requests.poll(10.0)
    requests.on_replay(WRITER, (5,), now=10.2)
    assert requests.poll(10.0 + RETRY) == []
    assert requests.poll(10.2 + RETRY) == [(WRITER, [5])]


def test_where_numbers_start_is_asked_also_while_a_replay_comes_in() -> None:
    requests = replay_requests()
    requests.soon(WRITER, 5, now=10.0)
    requests.on_replay(WRITER, (5,), now=10.1)
    requests.at_once(WRITER, [6], now=10.1)
    assert requests.poll(10.1) == [(WRITER, [5, 6])]
    requests.on_replay(WRITER, (5,), now=10.2)
    assert requests.poll(10.45) == []


def test_who_is_in_a_hurry_does_not_wait_for_the_end_of_a_replay() -> None:
    requests = replay_requests()
    requests.hurry(WRITER, now=10.0)
    assert requests.poll(10.0) == []
    requests.soon(WRITER, 5, now=10.0)
    requests.on_replay(WRITER, [5], now=10.1)
    assert requests.poll(10.2) == []
    requests.hurry(WRITER, now=10.2)
    assert requests.poll(10.2) == [(WRITER, [5])]


def test_what_was_not_asked_for_lack_of_room_is_due_as_soon_as_before() -> None:
    requests = replay_requests()
    requests.soon(WRITER, 5, now=10.0)
    now = 10.0 + GRACE
    for _ in range(10):
        assert requests.poll(now) == [(WRITER, [5])]
        requests.not_asked(WRITER)
        now += RETRY
