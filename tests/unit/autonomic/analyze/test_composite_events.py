"""Composite events: A at x and B at y, sequences within a window, nesting."""

from __future__ import annotations

from itertools import combinations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evenflow.autonomic.analyze.composite_events import (
    MOST_RAISES,
    Composite,
    Composites,
    Operand,
    Way,
)
from evenflow.autonomic.analyze.distributed_events import CompositeDetector, Quorum
from evenflow.autonomic.analyze.local_events import EventNotification, Phase
from evenflow.errors import ConfigError


def combined(name: str, way: Way, *operands: str, within_s: float = 0.0) -> Composite:
    return Composite(name, way, tuple(map(Operand.of, operands)), within_s)


def told(event: str, source: str, now: float, phase: Phase = Phase.RAISED) -> EventNotification:
    return EventNotification(event, source, (), phase, now)


class Watch:
    """A detector that is told of events and says what begins (+) and ends (-)."""

    def __init__(self, *definitions: Composite | Quorum) -> None:
        self.detector = CompositeDetector(definitions, ("cpu",))

    def raised(self, event: str, source: str, now: float) -> list[str]:
        return self._words(self.detector.notified(told(event, source, now), now))

    def cleared(self, event: str, source: str, now: float) -> list[str]:
        return self._words(self.detector.notified(told(event, source, now, Phase.CLEARED), now))

    def gone(self, source: str, now: float) -> list[str]:
        return self._words(self.detector.gone(source, now))

    def look(self, now: float) -> list[str]:
        return self._words(self.detector.look(now))

    @staticmethod
    def _words(found: list[EventNotification]) -> list[str]:
        return [f"{'+' if each.phase is Phase.RAISED else '-'}{each.event_id}" for each in found]


def test_a_at_x_and_b_at_y() -> None:
    watch = Watch(combined("both", Way.ALL, "hot@x", "full@y"))
    assert watch.raised("hot", "y~1", 1.0) == []
    assert watch.raised("full", "x~1", 2.0) == []
    assert watch.raised("hot", "x~1", 3.0) == []
    assert watch.raised("full", "y~1", 4.0) == ["+both"]
    assert watch.cleared("hot", "x~1", 5.0) == ["-both"]


def test_within_a_window_what_has_cleared_still_counts() -> None:
    watch = Watch(combined("both", Way.ALL, "hot@x", "full@y", within_s=10.0))
    watch.raised("hot", "x", 1.0)
    watch.cleared("hot", "x", 2.0)
    assert watch.raised("full", "y", 9.0) == ["+both"]
    assert watch.look(11.5) == ["-both"]


def test_any_of_them_and_patterns() -> None:
    watch = Watch(combined("one", Way.ANY, "hot@north-*", "late@query/*/*"))
    assert watch.raised("hot", "south-1", 1.0) == []
    assert watch.raised("late", "query/items/audit", 2.0) == ["+one"]
    assert watch.raised("hot", "north-2", 3.0) == []
    assert watch.cleared("late", "query/items/audit", 4.0) == []
    assert watch.cleared("hot", "north-2", 5.0) == ["-one"]


def test_a_sequence_has_an_order_and_a_window() -> None:
    watch = Watch(combined("first-a-then-b", Way.SEQUENCE, "a@x", "b@y", within_s=10.0))
    watch.raised("b", "y", 1.0)
    watch.cleared("b", "y", 2.0)
    assert watch.raised("a", "x", 3.0) == []
    assert watch.raised("b", "y", 4.0) == ["+first-a-then-b"]
    assert watch.cleared("a", "x", 5.0) == []  # it happened, whatever came afterwards
    assert watch.look(13.5) == ["-first-a-then-b"]
    watch.cleared("b", "y", 14.0)
    watch.raised("a", "x", 20.0)
    assert watch.raised("b", "y", 31.0) == []  # too late


def test_what_is_told_again_while_it_is_on_was_raised_once() -> None:
    watch = Watch(combined("twice", Way.SEQUENCE, "a", "a", within_s=10.0))
    assert watch.raised("a", "x", 1.0) == []
    assert watch.raised("a", "x", 2.0) == []
    assert watch.raised("a", "y", 2.0) == ["+twice"]


def test_they_nest_and_inner_ones_come_first() -> None:
    watch = Watch(
        combined("outer", Way.ALL, "inner", "many-hot"),
        Quorum("many-hot", ("hot",), need=2),
        combined("inner", Way.SEQUENCE, "hot@x", "full@y", within_s=60.0),
    )
    watch.raised("hot", "x", 1.0)
    assert watch.raised("full", "y", 2.0) == ["+inner"]
    assert watch.raised("hot", "z", 3.0) == ["+many-hot", "+outer"]
    assert watch.cleared("hot", "z", 4.0) == ["-many-hot", "-outer"]


def test_what_was_on_at_a_process_that_is_gone_is_on_no_more() -> None:
    watch = Watch(combined("both", Way.ALL, "hot@x", "full@y"))
    watch.raised("hot", "x", 1.0)
    watch.raised("full", "y", 1.0)
    assert watch.gone("x", 2.0) == ["-both"]
    assert watch.raised("hot", "x", 3.0) == ["+both"]
    assert watch.look(60.0) == ["-both"]  # nobody was heard for long


def test_a_duration_is_waited_for() -> None:
    definition = Composite("long", Way.ALL, (Operand("hot"),), duration_s=5.0)
    watch = Watch(definition)
    assert watch.raised("hot", "x", 1.0) == []
    assert watch.look(5.9) == []
    assert watch.look(6.0) == ["+long"]


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (lambda: combined("s", Way.SEQUENCE, "a", "b"), "needs a window"),
        (lambda: combined("s", Way.ALL), "at least one event"),
        (lambda: combined("s", Way.ALL, "a", within_s=float("nan")), "from 0 up"),
        (lambda: Composites([combined("s", Way.ALL, "s")], 30.0), "in a circle"),
        (
            lambda: Composites([combined("a", Way.ALL, "b"), combined("b", Way.ANY, "a")], 30.0),
            "in a circle",
        ),
        (lambda: Composites([combined("a", Way.ALL, "x")] * 2, 30.0), "two events have this name"),
    ],
)
def test_what_makes_no_sense_is_refused(make: object, said: str) -> None:
    with pytest.raises(ConfigError, match=said):
        make()  # type: ignore[operator]


def test_a_flood_of_events_takes_no_more_room() -> None:
    watched = Composites([combined("s", Way.SEQUENCE, "a", "b", within_s=3_600.0)], 30.0)
    for number in range(5 * MOST_RAISES):
        for phase in (Phase.RAISED, Phase.CLEARED):
            watched.take(told("a", "x", float(number), phase), float(number))
    (sightings, _) = watched._watched[0].sightings.values()
    assert len(sightings.raises) == MOST_RAISES
    assert not sightings.on


@given(st.lists(st.tuples(st.sampled_from("abc"), st.integers(0, 4)), max_size=9))
def test_a_sequence_is_found_exactly_when_there_is_one(steps: list[tuple[str, int]]) -> None:
    """Beside all ways to choose three raises in their order."""
    watched = Composites([combined("s", Way.SEQUENCE, "a", "b", "c", within_s=5.0)], 1e9)
    now, raises, on = 0.0, [], False
    for number, (event, pause) in enumerate(steps):
        now += pause
        watched.take(told(event, f"node-{number}", now), now)
        raises.append((event, now))
        for each in watched.look(now):
            on = each.phase is Phase.RAISED
        recent = [event for event, time in raises if time >= now - 5.0]
        assert on == (("a", "b", "c") in set(combinations(recent, 3)))
