"""Which fault is held responsible, the rows, and recovery."""

from __future__ import annotations

import pytest

from evenflow_experiments.faults.books import Sink, Stream, Struck
from evenflow_experiments.faults.figures import BEFORE, Account, Outcome, rows, wrong
from evenflow_experiments.faults.kinds import Action, Fault, Role
from evenflow_experiments.faults.recovery import PROBE, Probe

KILL = Fault(Action.KILL, Role.NODE, "worker-1", 1)
STOP = Fault(Action.STOP, Role.PUBLISHER, "publisher-1", 5)


def stream(number, accepted, **more):
    made = Stream(number)
    made.note("run 1")
    made.note(f"tried {more.get('tried', accepted)}")
    made.note(f"accepted {accepted}")
    made.note(f"safe {more.get('safe', accepted)}")
    return made


def sink(name, source, numbers, time=1.0, where="worker-1"):
    made = Sink(name)
    made.take(where, time, map(source.id_of, numbers))
    return made


def account(outcomes, **changed):
    """Ten items of a stream, all of them there; three messages of the store, all there."""
    items, stored = stream(1, 10), stream(100, 3)
    values = {
        "streams": {1: items},
        "sinks": {1: [sink("application", items, range(1, 11))]},
        "stored": {100: stored},
        "found": {100: sink("100", stored, range(1, 4))},
        "struck": [],
        "outcomes": outcomes,
    }
    return Account(**{**values, **changed})


TWO = [
    Outcome(KILL, 10.0, 0.5, {1: 4, 100: 1}),
    Outcome(STOP, 20.0, 2.5, {1: 8, 100: 2}),
]


def test_nothing_is_wrong():
    found = rows(account(TWO))
    assert [row["fault"] for row in found] == ["kill-node", "stop-publisher"]
    assert [row["published"] for row in found] == [4, 6], "what came last belongs to the last fault"
    assert [row["acked"] for row in found] == [1, 2]
    assert [row["recovered_s_p50"] for row in found] == [0.5, 2.5]
    assert not wrong(found)


def test_an_item_is_lost_by_the_fault_during_which_it_was_under_way():
    items = stream(1, 10)
    sinks = {1: [sink("spark", items, [1, 2, 4, 6, 7, 8]), sink("follower", items, range(2, 11))]}
    found = rows(account(TWO, streams={1: items}, sinks=sinks))
    assert [row["lost"] for row in found] == [2, 3], "once for each consumer"
    assert wrong(found)


def test_a_repeat_is_of_the_time_when_it_came_again():
    made = account(TWO)
    made.sinks[1][0].take("worker-2", 15.0, [made.streams[1].id_of(1)])
    assert [row["repeated"] for row in rows(made)] == [0, 1]
    made.struck = [Struck("worker-1", 0.0, 2.0)]
    found = rows(made)
    assert [row["repeated"] for row in found] == [0, 0]
    assert [row["allowed_repeats"] for row in found] == [0, 1]
    assert not wrong(found)


@pytest.mark.parametrize(
    ("numbers", "name"), [([1, 3], "acked_lost"), ([1, 2, 2, 3], "acked_repeated")]
)
def test_the_store_keeps_what_it_acknowledged_once(numbers, name):
    stored = stream(100, 3)
    found = rows(account(TWO, stored={100: stored}, found={100: sink("100", stored, numbers)}))
    assert [row[name] for row in found] == [0, 1]
    assert wrong(found)


def test_what_was_not_acknowledged_may_be_stored_or_not():
    stored = stream(100, 0, tried=5, safe=3)
    found = rows(account(TWO, stored={100: stored}, found={100: sink("100", stored, range(1, 6))}))
    assert sum(row["acked"] for row in found) == 3
    assert not wrong(found)


def test_kinds_are_put_together():
    outcomes = [
        *TWO,
        Outcome(KILL, 30.0, 1.5, {1: 9, 100: 3}),
        Outcome(KILL, 40.0, 9.5, {1: 10, 100: 3}),
    ]
    (kill, stop) = rows(account(outcomes))
    assert (kill["count"], stop["count"]) == (3, 1)
    assert (kill["recovered_s_p50"], kill["recovered_s_max"]) == (1.5, 9.5)
    assert (kill["published"], stop["published"]) == (6, 4)


def test_a_fault_without_recovery_has_no_time():
    (row,) = rows(account([Outcome(KILL, 10.0, None, {1: 10})]))
    assert row["recovered_s_max"] is None


def test_a_run_without_faults_has_one_row():
    (row,) = rows(account([]))
    assert (row["fault"], row["count"], row["published"]) == (BEFORE, 0, 10)


# -- recovery --------------------------------------------------------------------------------------


def probed(accepted, numbers):
    """What a probe that began at number 10 says."""
    made = stream(1, accepted)
    probe = Probe(5.0, {1: 10})
    return probe.behind({1: made}, {1: [sink("spark", made, numbers)]})


def test_recovered_is_when_the_first_items_after_the_heal_are_through():
    assert probed(10 + PROBE, range(11, 11 + PROBE)) == {}


def test_what_came_before_the_heal_is_not_waited_for():
    assert probed(100, range(11, 101)) == {}


def test_behind_is_who_lacks_one_of_them():
    assert "spark" in probed(10 + PROBE, range(12, 11 + PROBE))


def test_behind_is_a_publisher_that_does_not_publish():
    assert probed(9 + PROBE, range(1, 100)) == {"stream 1": f"{PROBE - 1} of {PROBE} accepted"}


def test_the_store_must_acknowledge_and_have_all_copies():
    probe = Probe(5.0, {100: 7})
    assert "store" in probe.store_behind({100: stream(100, 0, safe=7)}, 6.0)
    assert "store" in probe.store_behind({100: stream(100, 0, safe=8)}, 4.0)
    assert probe.store_behind({100: stream(100, 0, safe=8)}, 6.0) == {}
    assert probe.store_behind({}, 0.0) == {}


def test_the_probe_belongs_to_its_fault():
    probe = Probe.begin(5.0, {1: stream(1, 10), 100: stream(100, 3)})
    assert probe.ends({1: stream(1, 10)}) == {1: 10 + PROBE, 100: 3}
