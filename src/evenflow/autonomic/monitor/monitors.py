"""Monitoring: one monitor for each property, reporting when it changes its operation range.

MAPE-SDDL's Monitoring Service (section III.B.1). Each property has operation ranges set by the
operator, for example CPU 0-30-70-100 %. A monitor takes readings and says something only when a
reading falls into another range than the last one, and, so that silence can be told from death,
once every ``heartbeat_s``. Event-driven reports cost less than periodic ones when little
happens, and react as fast (section II.C).

Inside a node every reading also reaches the event detector
(:mod:`evenflow.autonomic.analyze.local_events`), by a plain call; what leaves the node are the
reports.
"""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import dataclass, field
from enum import Enum
from math import isnan
from typing import TYPE_CHECKING

from evenflow.errors import ConfigError

if TYPE_CHECKING:
    from collections.abc import Mapping


class Cause(Enum):
    """Why a report is made."""

    FIRST = "first"
    SWITCH = "switch"
    HEARTBEAT = "heartbeat"


@dataclass(frozen=True, slots=True)
class OperationRanges:
    """Bounds that cut the values of a property into ranges, numbered from 0."""

    bounds: tuple[float, ...]
    """For example ``(30, 70)``: below 30, from 30 to below 70, from 70 up."""

    def __post_init__(self) -> None:
        if any(isnan(bound) for bound in self.bounds) or sorted(set(self.bounds)) != list(
            self.bounds
        ):
            raise ConfigError("monitor.ranges", self.bounds, "bounds must rise from left to right")

    def range_of(self, value: float) -> int:
        """Which range the value falls into."""
        return bisect_right(self.bounds, value)


@dataclass(frozen=True, slots=True)
class Report:
    """What a monitor tells the outside."""

    property: str
    value: float
    time: float
    range: int
    """The range the value is in."""
    cause: Cause


@dataclass(slots=True)
class _Monitor:
    ranges: OperationRanges
    range: int | None = None
    reported: float = 0.0


@dataclass(slots=True)
class MonitoringService:
    """The monitors of one node."""

    ranges: Mapping[str, OperationRanges]
    """Operation ranges of every property that is monitored."""
    heartbeat_s: float = 10.0
    """A property is reported at least this often."""
    refused: int = 0
    """Readings that were not numbers, or of properties nobody monitors."""
    values: dict[str, float] = field(default_factory=dict)
    """The newest reading of every property."""
    _monitors: dict[str, _Monitor] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if not self.heartbeat_s > 0:
            raise ConfigError("monitor.heartbeat_s", self.heartbeat_s, "must be above 0")
        self._monitors = {name: _Monitor(ranges) for name, ranges in self.ranges.items()}

    def observe(self, readings: Mapping[str, float], now: float) -> list[Report]:
        """Take readings; returns what has to be told."""
        reports = (self._observe(name, value, now) for name, value in readings.items())
        return [report for report in reports if report is not None]

    def _observe(self, name: str, value: float, now: float) -> Report | None:
        monitor = self._monitors.get(name)
        if monitor is None or isnan(value):
            self.refused += 1
            return None
        self.values[name] = value
        place = monitor.ranges.range_of(value)
        if monitor.range is None:
            cause = Cause.FIRST
        elif place != monitor.range:
            cause = Cause.SWITCH
        elif now - monitor.reported >= self.heartbeat_s:
            cause = Cause.HEARTBEAT
        else:
            return None
        monitor.range, monitor.reported = place, now
        return Report(name, value, now, place, cause)
