"""What calls for a plan, and when it is told."""

from __future__ import annotations

from evenflow.autonomic.analyze.balancer_events import BalancerEvent
from evenflow.slices.balancer.changes import LONGEST_PAUSE, Changes, found_by_a_new_balancer
from evenflow.slices.balancer.owners import Owners


def told(changes: Changes, now: float) -> list[tuple[BalancerEvent, str]]:
    return [(change.event, change.node) for change in changes.due(now)]


def test_a_join_waits_and_a_leave_does_not() -> None:
    changes = Changes(join_after=0.5, retry_after=0.25)
    changes.joined("a~1", 10.0)
    changes.leaving("b~1", 10.0)
    assert told(changes, 10.0) == [(BalancerEvent.NODE_LEAVING, "b~1")]
    assert told(changes, 10.4) == []
    assert told(changes, 10.5) == [(BalancerEvent.NODE_JOINED, "a~1")]
    assert told(changes, 99.0) == []


def test_what_a_dead_node_wanted_is_void() -> None:
    changes = Changes(0.5, 0.25)
    changes.joined("a~1", 10.0)
    changes.died("a~1", "a died", 10.1)
    assert told(changes, 99.0) == [(BalancerEvent.NODE_DIED, "a~1")]


def test_the_same_change_is_told_once() -> None:
    changes = Changes(0.5, 0.25)
    for _ in range(3):
        changes.joined("a~1", 10.0)
    assert len(told(changes, 99.0)) == 1


def test_each_failure_in_a_row_waits_twice_as_long_up_to_a_bound() -> None:
    changes = Changes(0.5, 0.25)
    now, pauses = 0.0, []
    for _ in range(12):
        changes.plan_failed("", now)
        pause = next(p for p in (0.25 * 2**n for n in range(12)) if changes.due(now + min(p, 30.0)))
        pauses.append(min(pause, LONGEST_PAUSE))
        now += 100.0
    assert pauses == [0.25, 0.5, 1.0, 2.0, 4.0, 8.0, 16.0, *[LONGEST_PAUSE] * 5]
    changes.handover_done()
    changes.plan_failed("", now)
    assert told(changes, now + 0.25) == [(BalancerEvent.HANDOVER_FAILED, "")]


def test_a_join_whose_plan_failed_is_a_join_again() -> None:
    changes = Changes(0.5, 0.25)
    changes.plan_failed("a~1", 10.0)
    assert told(changes, 10.25) == [(BalancerEvent.NODE_JOINED, "a~1")]


def test_nodes_without_slices_have_joined_a_new_balancer() -> None:
    changes = Changes(0.5, 0.25)
    changes.begin_with([], ["a~1"], 10.0)
    assert told(changes, 10.5) == [(BalancerEvent.NODE_JOINED, "a~1")]


def test_a_new_balancer_forgets_what_it_heard_while_it_listened() -> None:
    changes = Changes(0.5, 0.25)
    changes.joined("a~1", 10.0)
    changes.begin_with([], [], 11.0)
    assert told(changes, 99.0) == []
    changes.begin_with(["slices had no owner", "a leaves"], [], 12.0)
    [change] = changes.due(12.0)
    assert (change.event, change.why) == (
        BalancerEvent.BALANCER_RECOVERED,
        "slices had no owner, a leaves",
    )


def test_the_very_beginning_is_no_recovery() -> None:
    owners = Owners(4)
    assert list(found_by_a_new_balancer({}, owners, {})) == []
    owners.give([0, 1], "a~1", 1, 0.0)
    assert list(found_by_a_new_balancer({}, owners, {})) == ["slices had no owner"]
