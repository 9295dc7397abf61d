"""Monitoring: a report when the range switches, and a heartbeat."""

from __future__ import annotations

from math import nan

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evenflow.autonomic.monitor.monitors import Cause, MonitoringService, OperationRanges
from evenflow.errors import ConfigError

CPU = {"cpu": OperationRanges((30.0, 70.0))}


def causes(readings: list[float], *, period_s: float = 2.0, heartbeat_s: float = 10.0) -> str:
    """First letters of the causes of the reports, a dot where nothing was reported."""
    service = MonitoringService(CPU, heartbeat_s)
    letters = []
    for step, value in enumerate(readings):
        reports = service.observe({"cpu": value}, step * period_s)
        letters.append(reports[0].cause.value[0] if reports else ".")
    return "".join(letters)


def test_only_switches_and_heartbeats_are_reported() -> None:
    assert causes([10, 12, 29.9, 30, 50, 71, 99, 20]) == "f..s.s.s"
    assert causes([10] * 12) == "f....h....h."
    assert causes([10, 10, 10, 50, 50, 50, 50, 50, 50]) == "f..s....h"


def test_ranges_include_their_lower_bound() -> None:
    ranges = OperationRanges((30.0, 70.0))
    assert [ranges.range_of(value) for value in (0, 29.9, 30, 69.9, 70, 1000)] == [0, 0, 1, 1, 2, 2]


@pytest.mark.parametrize("bounds", [(70.0, 30.0), (30.0, 30.0), (nan,)])
def test_bounds_must_rise(bounds: tuple[float, ...]) -> None:
    with pytest.raises(ConfigError, match="rise"):
        OperationRanges(bounds)


def test_heartbeat_must_be_above_zero() -> None:
    with pytest.raises(ConfigError, match="heartbeat_s"):
        MonitoringService(CPU, 0.0)


def test_what_is_no_reading_is_counted_and_skipped() -> None:
    service = MonitoringService(CPU)
    assert service.observe({"cpu": nan, "unheard_of": 1.0}, 0.0) == []
    assert service.refused == 2
    assert service.observe({"cpu": 5.0}, 1.0)[0].cause is Cause.FIRST


@given(st.lists(st.floats(min_value=0.0, max_value=100.0), min_size=1, max_size=60))
def test_the_last_report_always_names_the_present_range(readings: list[float]) -> None:
    service = MonitoringService(CPU, heartbeat_s=7.0)
    known = None
    silent_since = 0.0
    for step, value in enumerate(readings):
        for report in service.observe({"cpu": value}, float(step)):
            known, silent_since = report.range, float(step)
        assert known == CPU["cpu"].range_of(value)
        assert step - silent_since < 7.0
