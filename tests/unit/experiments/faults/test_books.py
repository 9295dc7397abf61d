"""What is owed, what is lost, what came again, and which of that is allowed."""

from __future__ import annotations

import pytest

from evenflow_experiments.faults.books import (
    AFTER_S,
    BEFORE_S,
    Entry,
    Sink,
    Stream,
    Struck,
    entry,
    is_cut,
    lost,
    parse_entry,
    repeats,
    split_id,
    taken_over,
)


def stream(*lines, number=3):
    made = Stream(number)
    for line in lines:
        made.note(line)
    return made


def owed(made, **how):
    return [number for numbers in made.owed(**how) for number in numbers]


def test_of_the_run_that_is_there_what_was_accepted_is_owed():
    made = stream("run 1", "tried 4", "accepted 4", "safe 2", "tried 6")
    assert owed(made) == [1, 2, 3, 4]


def test_of_a_run_that_was_killed_what_was_safe_is_owed():
    made = stream(
        "run 1", "tried 4", "accepted 4", "safe 2", "tried 6", "run 7", "tried 8", "accepted 8"
    )
    assert owed(made) == [1, 2, 7, 8]
    assert made.accepted == 8


def test_of_the_store_what_was_acknowledged_is_owed():
    made = stream("run 1", "tried 5", "safe 3", "run 6", "tried 9", "safe 8")
    assert owed(made, acknowledged=True) == [1, 2, 3, 6, 7, 8]


def test_lines_that_were_cut_off_are_skipped():
    made = stream("run 1", "", "accep", "accepted", "accepted x", "accepted 2")
    assert owed(made) == [1, 2]


def test_a_run_that_published_nothing_owes_nothing():
    assert owed(stream("run 1", "tried 3", "run 4")) == []
    assert stream().accepted == 0


def test_ids_tell_stream_and_number():
    assert split_id(Stream(5).id_of(77)) == (5, 77)


@pytest.mark.parametrize("ids", [[], [1], [1, 2, 3 << 40]])
def test_an_entry_can_be_read_back(ids):
    lines = entry(12.5, ids, "key").splitlines()
    assert [one for one in map(parse_entry, lines) if one] == [Entry(12.5, "key", ids)]


def test_an_entry_that_was_cut_off_anywhere_is_none():
    line = entry(12.5, [1234, 5678]).strip()
    assert parse_entry(line) == Entry(12.5, "-", [1234, 5678])
    assert [parse_entry(line[:length]) for length in range(len(line))] == [None] * len(line)


def test_an_entry_behind_one_that_was_cut_off_is_read():
    text = entry(1.0, [1, 2])[:-4] + entry(2.0, [3])
    assert [one.ids for one in map(parse_entry, text.splitlines()) if one] == [[3]]


def test_lost_is_owed_and_not_there():
    made = stream("run 1", "tried 4", "accepted 4")
    sink = Sink("spark")
    sink.take("spark", 1.0, [made.id_of(1), made.id_of(3), made.id_of(9), Stream(4).id_of(2)])
    assert lost(made, sink) == [2, 4]


def again(*seen):
    """A sink in which one item came at these places and times."""
    sink = Sink("application")
    for where, time in seen:
        sink.take(where, time, [1])
    return sink


def test_an_item_that_comes_once_is_no_repeat():
    assert repeats(again(("a", 1.0)), [Struck("a", 0.0, 2.0)]) == []


def test_nobody_is_excused_who_was_not_struck():
    (found,) = repeats(again(("a", 1.0), ("b", 2.0)), [Struck("c", 0.0, 3.0)])
    assert (found.wrong, found.allowed) == (1, 0)


def test_what_a_struck_node_had_in_hand_may_come_again_elsewhere():
    (found,) = repeats(again(("b", 9.0), ("a", 4.9)), [Struck("a", 5.0, 8.0)])
    assert (found.wrong, found.allowed) == (0, 1)
    assert [seen.where for seen in found.seen] == ["a", "b"]


def test_each_processing_by_a_struck_node_excuses_one_repeat():
    seen = ("a", 5.0), ("b", 6.0), ("c", 7.0)
    (found,) = repeats(again(*seen), [Struck("a", 5.0, 6.0)])
    assert (found.wrong, found.allowed) == (1, 1)


@pytest.mark.parametrize(
    ("time", "allowed"),
    [
        (10 - BEFORE_S - 0.1, 0),
        (10 - BEFORE_S + 0.1, 1),
        (20 + AFTER_S - 0.1, 1),
        (20 + AFTER_S + 0.1, 0),
    ],
)
def test_only_what_was_processed_around_the_fault_is_excused(time, allowed):
    (found,) = repeats(again(("a", time), ("b", 50.0)), [Struck("a", 10.0, 20.0)])
    assert found.allowed == allowed


def test_the_same_node_twice_is_a_repeat_too():
    (found,) = repeats(again(("a", 1.0), ("a", 1.0)), [])
    assert found.wrong == 1


@pytest.mark.parametrize(
    ("line", "node"),
    [
        ("INFO balancer: takeover: 3 slices of items from worker-2~fb to worker-3~b2", "worker-2"),
        ("INFO balancer: takeover: 1 slice of items from worker-2~fb to worker-3~b2", "worker-2"),
        ("INFO balancer: assign: 8 slices of items from nobody to worker-3~b23270 in 2 ms", None),
        ("INFO balancer: plan p-1: 2 slices of items from worker-1~96 to worker-3~b2", None),
        ("", None),
    ],
)
def test_the_log_of_a_balancer_says_whom_it_took_for_dead(line, node):
    assert taken_over(line) == node


def test_the_log_of_a_balancer_says_which_streams_it_cut():
    assert is_cut("WARNING cutting: writer 00a1 is cut: nobody hears it. What lies beyond")
    assert not is_cut("WARNING cutting: writer 00a1 is silent and waited for: node-1 hears it")
