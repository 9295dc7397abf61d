"""What a process tells of itself at each look."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from evenflow.autonomic.agent import Observations
from evenflow.autonomic.design import NODE, design
from evenflow.config import Config, EventConfig, MonitorConfig
from evenflow.model.messages import EventNotice, PropertyReport
from evenflow.slices.node.sensors import Vitals, node_sensors

if TYPE_CHECKING:
    from collections.abc import Iterable

HOT = EventConfig("hot", "cpu > 70", duration_s=6)
WALL = 1_000_000.0


def observations(*events: EventConfig) -> Observations:
    monitor = MonitorConfig(heartbeat_s=10, ranges={"cpu": (30, 70)})
    return Observations("n~1", design(Config(monitor=monitor, events=events)))


def told(
    watched: Observations, cpus: Iterable[float], period_s: float = 2.0
) -> list[PropertyReport | EventNotice]:
    """Everything that is told while the CPU takes these values, one each period."""
    return [
        message
        for number, cpu in enumerate(cpus)
        for message in watched.look({"cpu": cpu}, number * period_s, WALL + number * period_s)
    ]


def test_a_report_comes_first_then_at_a_switch_of_range_then_as_heartbeat() -> None:
    reports = told(observations(), [10, 20, 50, 60, 60, 60, 60, 60])
    assert reports == [
        PropertyReport("n~1", WALL, ("cpu",), (10,), (0,)),
        PropertyReport("n~1", WALL + 4, ("cpu",), (50,), (1,)),
        PropertyReport("n~1", WALL + 14, ("cpu",), (60,), (1,)),
    ]


def test_a_report_holds_the_newest_value_of_every_property() -> None:
    watched = observations()
    watched.look({"cpu": 10, "memory": 40}, 0, WALL)
    watched.look({"memory": 41}, 2, WALL + 2)
    [report] = watched.look({"cpu": 99}, 4, WALL + 4)
    assert isinstance(report, PropertyReport)
    assert dict(zip(report.names, report.values, strict=True)) == {"cpu": 99, "memory": 41}


def test_a_peak_shorter_than_the_duration_raises_nothing() -> None:
    messages = told(observations(HOT), [10, 90, 90, 90, 10, 90, 90, 10])
    assert not [m for m in messages if isinstance(m, EventNotice)]


def test_a_longer_one_raises_the_event_once_with_what_was_seen() -> None:
    messages = told(observations(HOT), [10, *[90] * 8, 10])
    raised, cleared = (m for m in messages if isinstance(m, EventNotice))
    assert (raised.raised, raised.time, raised.values) == (True, WALL + 8, (90,))
    assert (cleared.raised, cleared.time) == (False, WALL + 18)
    assert raised.times == (WALL + 8,)


class Counting:
    """A node that counts what it is told to."""

    def __init__(self) -> None:
        self.now = Vitals(0, 0, 0.0, 0, 0, None, 0.0, 3)

    def vitals(self) -> Vitals:
        return self.now


def test_a_node_shows_rates_backlog_and_delay() -> None:
    one, two = Counting(), Counting()
    clock = [0.0]
    sensors = node_sensors([one, two], lambda: clock[0], lambda: 1_060.0)
    assert set(sensors) == set(NODE)
    one.now = Vitals(400, 4_000, 1.0, 5, 50, 1_000.0, 0.25, 3)
    two.now = Vitals(100, 1_000, 0.5, 7, 70, 1_030.0, 0.5, 4)
    clock[0] = 2.0
    assert {name: sensor() for name, sensor in sensors.items()} == {
        "items": 250.0,
        "payload_bytes": 2_500.0,
        "busy": 75.0,
        "backlog_items": 12,
        "backlog_bytes": 120,
        "backlog_s": 60.0,
        "delay_s": 0.5,
        "slices": 7,
    }
    clock[0] = 4.0
    assert sensors["items"]() == 0.0


def test_without_backlog_nothing_has_waited() -> None:
    sensors = node_sensors([Counting()], lambda: 0.0, lambda: 1_060.0)
    assert sensors["backlog_s"]() == 0.0
    assert sensors["items"]() == pytest.approx(0.0)
