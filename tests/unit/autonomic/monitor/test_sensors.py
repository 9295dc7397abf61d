"""Sensors: the machine's own readings and added ones."""

from __future__ import annotations

from math import nan

import pytest

from evenflow.autonomic.monitor.properties import MACHINE
from evenflow.autonomic.monitor.sensors import Sensors
from evenflow.errors import ConfigError


def broken() -> float:
    raise RuntimeError("the meter is gone")


def test_rates_need_two_looks() -> None:
    sensors = Sensors()
    assert set(sensors.read(10.0)) == {"memory", "process_memory_bytes"}
    readings = sensors.read(12.0)
    assert set(readings) == set(MACHINE)
    assert 0.0 <= readings["cpu"] <= 100.0
    assert 0.0 < readings["memory"] <= 100.0
    assert readings["process_memory_bytes"] > 1_000_000
    assert readings["process_cpu"] >= 0.0
    assert readings["network_bytes"] >= 0.0


def test_time_that_stands_still_gives_no_rate() -> None:
    sensors = Sensors()
    sensors.read(10.0)
    assert "process_cpu" not in sensors.read(10.0)


def test_added_properties_are_read_and_broken_ones_do_no_harm() -> None:
    sensors = Sensors()
    sensors.add("backlog_items", lambda: 7)
    sensors.add("broken", broken)
    sensors.add("nothing", lambda: nan)
    readings = sensors.read(0.0)
    assert readings["backlog_items"] == 7.0
    assert "broken" not in readings
    assert "nothing" not in readings
    assert sensors.failures == {"broken": 1, "nothing": 1}
    assert sensors.properties[-3:] == ("backlog_items", "broken", "nothing")


@pytest.mark.parametrize("name", ["cpu", "two words", ""])
def test_names_that_are_taken_or_no_names_are_refused(name: str) -> None:
    with pytest.raises(ConfigError, match=r"monitor\.property"):
        Sensors().add(name, lambda: 1.0)
