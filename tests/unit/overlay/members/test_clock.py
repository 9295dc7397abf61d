"""The clock goes forward, follows others, and is not dragged along by one that is absurd."""

from __future__ import annotations

from evenflow.overlay.members.clock import AHEAD_NS, HybridClock

S = 10**9


def test_it_never_goes_back() -> None:
    clock = HybridClock(100 * S)
    clock.advance(1.0, 40 * S)
    assert clock.time == 100 * S
    clock.advance(2.0, 130 * S)
    assert clock.time == 130 * S


def test_it_follows_what_others_say() -> None:
    clock = HybridClock(100 * S)
    assert clock.follow("b1", 160 * S)
    assert clock.time == 160 * S
    assert clock.follow("b2", 90 * S)
    assert clock.time == 160 * S


def test_an_absurd_time_is_not_followed_and_is_told_apart() -> None:
    clock = HybridClock(100 * S)
    assert not clock.follow("b1", 101 * S + AHEAD_NS)
    assert clock.time == 100 * S
    assert clock.plausible(100 * S + AHEAD_NS)
    assert not clock.plausible(101 * S + AHEAD_NS)


def test_who_is_far_ahead_of_another_knows() -> None:
    clock = HybridClock(100 * S + AHEAD_NS)
    clock.advance(5.0, 100 * S + AHEAD_NS)
    assert clock.in_step("b1")  # never heard of
    clock.follow("b1", 90 * S)
    assert not clock.in_step("b1")
    clock.advance(15.0, 100 * S + AHEAD_NS)
    assert clock.in_step("b1")
