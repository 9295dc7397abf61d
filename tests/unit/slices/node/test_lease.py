"""A lease under virtual time: silence, stalls, and what ends them."""

from __future__ import annotations

from itertools import permutations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evenflow.slices.node.lease import Lease

LENGTH, STALL = 30.0, 1.0
MAP = {0: 5, 1: 7}
"""Versions of the pages of the slice map that the node knows."""
NAMED = (5, 7)
"""The same as a beat names them."""


def running(until: float, *, since: float = 0.0) -> Lease:
    """A lease whose node ticks often and whose reports nobody confirms."""
    lease = Lease(LENGTH, STALL, since)
    run(lease, since, until)
    return lease


def run(lease: Lease, since: float, until: float) -> None:
    now = since
    while now < until:
        now = min(until, now + STALL / 2)
        assert not lease.tick(now, 1)


def test_a_new_node_may_begin_at_once() -> None:
    assert Lease(LENGTH, STALL, 0.0).holds(0.0, {})


def test_silence_ends_it() -> None:
    assert running(LENGTH).holds(LENGTH, MAP)
    assert not running(LENGTH + 0.1).holds(LENGTH + 0.1, MAP)


def test_it_runs_from_the_moment_the_confirmed_report_was_sent() -> None:
    lease = Lease(LENGTH, STALL, 0.0)
    lease.on_report_sent(1, 10.0)
    run(lease, 0.0, 25.0)
    lease.on_report_confirmed(1, NAMED)
    run(lease, 25.0, 40.0)
    assert lease.holds(40.0, MAP)
    run(lease, 40.0, 40.1)
    assert not lease.holds(40.1, MAP)


def test_an_old_beat_changes_nothing() -> None:
    lease = Lease(LENGTH, STALL, 0.0)
    for number in (1, 2, 3):
        lease.on_report_sent(number, float(number))
    lease.on_report_confirmed(3, NAMED)
    lease.on_report_confirmed(1, NAMED)
    run(lease, 0.0, 33.0)
    assert lease.holds(33.0, MAP)


def test_a_stall_is_noticed_by_the_next_tick_and_holds_nothing_before_it() -> None:
    lease = Lease(LENGTH, STALL, 0.0)
    assert not lease.holds(1.5, MAP)
    assert lease.tick(1.5, next_report=7)
    assert not lease.tick(1.6, next_report=8)


def stalled(*, next_report: int = 7) -> Lease:
    lease = Lease(LENGTH, STALL, 0.0)
    assert lease.tick(5.0, next_report)
    return lease


def test_after_a_stall_a_report_of_before_is_not_enough() -> None:
    lease = stalled(next_report=7)
    lease.on_report_confirmed(6, NAMED)
    assert not lease.holds(5.0, MAP)
    lease.on_report_confirmed(7, NAMED)
    assert lease.holds(5.0, MAP)


def test_after_a_stall_the_map_that_the_beat_names_is_needed_too() -> None:
    lease = stalled()
    lease.on_report_confirmed(7, (5, 8))
    assert not lease.holds(5.0, {})
    assert not lease.holds(5.0, MAP)
    assert not lease.holds(5.0, {0: 9, 1: 7})
    assert lease.holds(5.0, {0: 5, 1: 8})


@pytest.mark.parametrize("named", list(permutations([(5, 7), (6, 7), (6, 9)])))
def test_beats_in_any_order_make_it_wait_for_the_newest_pages(
    named: tuple[tuple[int, int], ...],
) -> None:
    lease = stalled()
    for pages in named:
        lease.on_report_confirmed(7, pages)
    assert not lease.holds(5.0, {0: 6, 1: 8})
    assert lease.holds(5.0, {0: 6, 1: 9})


def test_a_stall_that_is_over_is_forgotten() -> None:
    """Maps of later balancers do not stop a node that once stood still."""
    lease = stalled()
    lease.on_report_confirmed(7, NAMED)
    assert lease.holds(5.0, MAP)
    lease.on_report_confirmed(8, (105, 107))
    assert lease.holds(5.0, MAP)


@given(
    confirmations=st.lists(
        st.tuples(st.floats(0.0, 5.0), st.floats(0.0, 20.0), st.booleans()), max_size=30
    )
)
def test_it_never_holds_longer_than_its_length_after_the_last_confirmed_report(
    confirmations: list[tuple[float, float, bool]],
) -> None:
    """Report, wait, confirm or not: whatever happens, only confirmed reports extend it."""
    lease = Lease(LENGTH, STALL, 0.0)
    now = since = 0.0
    for number, (before, after, confirmed) in enumerate(confirmations, 1):
        run(lease, now, now + before)
        now += before
        lease.on_report_sent(number, now)
        sent = now
        run(lease, now, now + after)
        now += after
        if confirmed:
            lease.on_report_confirmed(number, ())
            since = sent
        assert lease.holds(now, {}) == (now - since <= LENGTH)
