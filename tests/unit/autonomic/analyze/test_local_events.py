"""Local events: raised once, after the whole duration, and not by a short peak."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evenflow.autonomic.analyze.local_events import EventDefinition, EventDetector, Phase
from evenflow.errors import ConfigError, ExpressionError

OVERLOAD = EventDefinition("overload", "cpu > 70", duration_s=6.0)


def detector(*definitions: EventDefinition, stale_s: float = 10.0) -> EventDetector:
    return EventDetector("node-1", definitions or (OVERLOAD,), ("cpu", "memory"), stale_s=stale_s)


def story(holds: str, *, period_s: float = 2.0) -> str:
    """What is told after each reading: R raised, C cleared. An ``x`` is a reading above 70."""
    watched = detector()
    told = []
    for step, each in enumerate(holds):
        found = watched.observe({"cpu": 90.0 if each == "x" else 10.0}, step * period_s)
        told.append(found[0].phase.value[0].upper() if found else ".")
    return "".join(told)


def test_a_peak_shorter_than_the_duration_raises_nothing() -> None:
    assert story(".xxx..xxx.x.xx") == ".............."


def test_a_longer_one_raises_one_event_and_can_come_again() -> None:
    assert story(".xxxxxxx.....xxxxx") == "....R...C.......R."


def test_what_was_seen_is_told() -> None:
    watched = detector(EventDefinition("overload", "cpu > 70"))
    (told,) = watched.observe({"cpu": 90.0, "memory": 5.0}, 100.0)
    assert (told.event_id, told.source_id, told.phase) == ("overload", "node-1", Phase.RAISED)
    assert [(each.name, each.value, each.time) for each in told.properties] == [
        ("cpu", 90.0, 100.0),
        ("memory", 5.0, 100.0),
    ]


def test_a_pause_in_the_readings_breaks_the_run() -> None:
    watched = detector(stale_s=5.0)
    assert watched.observe({"cpu": 90.0}, 0.0) == []
    assert watched.observe({"cpu": 90.0}, 7.0) == []
    assert watched.observe({"cpu": 90.0}, 11.0) == []
    assert [each.phase for each in watched.observe({"cpu": 90.0}, 13.0)] == [Phase.RAISED]
    assert [each.phase for each in watched.observe({"cpu": 90.0}, 30.0)] == [Phase.CLEARED]


def test_an_unmeasured_property_is_no_event() -> None:
    watched = detector(EventDefinition("full", "memory > 1"))
    assert watched.observe({"cpu": 90.0}, 0.0) == []
    assert watched.unanswered == 1


def test_faulty_definitions_are_refused_at_the_start() -> None:
    with pytest.raises(ExpressionError, match=r"event\.bad\.expression"):
        detector(EventDefinition("bad", "cpu >"))
    with pytest.raises(ConfigError, match="two events"):
        detector(OVERLOAD, OVERLOAD)
    with pytest.raises(ConfigError, match="duration_s"):
        EventDefinition("late", "cpu > 1", duration_s=-1.0)
    with pytest.raises(ConfigError, match="name"):
        EventDefinition("", "cpu > 1")


@given(st.lists(st.tuples(st.booleans(), st.floats(min_value=0.1, max_value=5.0)), max_size=60))
def test_raised_exactly_when_it_has_held_for_the_whole_duration(
    readings: list[tuple[bool, float]],
) -> None:
    watched = detector()
    now, run_began, on = 0.0, None, False
    for holds, pause in readings:
        now += pause
        run_began = (now if run_began is None else run_began) if holds else None
        found = [each.phase for each in watched.observe({"cpu": 90.0 if holds else 1.0}, now)]
        should_be_on = run_began is not None and now - run_began >= OVERLOAD.duration_s
        if should_be_on == on:
            assert found == []
        else:
            assert found == [Phase.RAISED if should_be_on else Phase.CLEARED]
        on = should_be_on
