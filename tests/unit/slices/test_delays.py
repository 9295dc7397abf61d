"""Why cuts wait: the reasons, since when, and how the pauses grow."""

from __future__ import annotations

from evenflow.slices.ending.delays import (
    AGAIN,
    LONGEST_AGAIN,
    MOST_TOLD,
    REFUSED_AGAIN,
    UNNAMED,
    Delays,
)


def delays(*writers: int, now: float = 10.0) -> Delays:
    found = Delays("items")
    found.keep(set(writers), now)
    return found


def test_what_is_refused_is_tried_less_and_less_often() -> None:
    waiting, now = delays(7), 10.0
    assert waiting.is_due(7, now)
    for pause in (REFUSED_AGAIN, 10.0, 20.0, 40.0, LONGEST_AGAIN, LONGEST_AGAIN):
        waiting.refused(7, "audit is away", now)
        assert not waiting.is_due(7, now + pause - 0.1)
        now += pause
        assert waiting.is_due(7, now)


def test_what_was_disturbed_is_tried_again_soon() -> None:
    waiting = delays(7)
    waiting.refused(7, "audit is away", 10.0)
    waiting.disturbed(7, "a node is gone", 20.0)
    assert not waiting.is_due(7, 20.0)
    assert waiting.is_due(7, 20.0 + AGAIN)
    assert waiting.reason(7) == "a node is gone"


def test_only_another_reason_is_news() -> None:
    waiting = delays(7)
    assert [waiting.refused(7, why, 10.0) for why in ("a", "a", "b")] == [True, False, True]


def test_what_is_told_has_the_time_since_silence_began() -> None:
    waiting = delays(7, now=10.0)
    waiting.refused(7, "audit is away", 15.0)
    waiting.keep({7, 8}, 20.0)
    told = waiting.told(3, 30.0)
    assert told is not None
    assert (told.version, told.writers, told.waited_s) == (3, (7, 8), (20.0, 10.0))
    assert told.reasons == ("audit is away", "")


def test_the_end_is_told_once() -> None:
    waiting = delays()
    assert waiting.told(1, 10.0) is None
    waiting.keep({7}, 10.0)
    assert waiting.told(1, 10.0) is not None
    waiting.keep(set(), 10.0 + UNNAMED + 1.0)
    last = waiting.told(2, 20.0)
    assert last is not None
    assert last.writers == ()
    assert waiting.told(2, 21.0) is None


def test_who_is_not_named_for_a_moment_still_waits() -> None:
    waiting = delays(7, now=10.0)
    waiting.refused(7, "audit is away", 10.0)
    waiting.keep(set(), 10.0 + UNNAMED)
    assert waiting.reason(7) == "audit is away"
    waiting.keep({7}, 10.0 + UNNAMED)
    told = waiting.told(1, 30.0)
    assert told is not None
    assert told.waited_s == (20.0,)


def test_those_that_wait_longest_are_told() -> None:
    waiting = delays(*range(1, MOST_TOLD + 1), now=10.0)
    waiting.keep(set(range(1, MOST_TOLD + 50)), 20.0)
    told = waiting.told(1, 30.0)
    assert told is not None
    assert set(told.writers) == set(range(1, MOST_TOLD + 1))


def test_slices_that_change_hands_hold_up_only_what_is_due() -> None:
    waiting = delays(7, 8)
    waiting.refused(8, "audit is away", 10.0)
    waiting.held_up("slices change hands", 11.0)
    assert waiting.reason(7) == "slices change hands"
    assert waiting.reason(8) == "audit is away"
    waiting.end_pause(8)
    assert waiting.is_due(8, 11.0)
