"""The agent: the monitoring and local event services of one process.

MAPE-SDDL, sections III.B.1 and III.B.2. One thread reads every property each ``monitor.period_s``,
shows the readings to the monitors and to the local events, and tells the domain what is worth
telling: a :class:`~evenflow.model.messages.PropertyReport` when a property has changed its
operation range or the last report is long ago, an :class:`~evenflow.model.messages.EventNotice`
when an event begins or ends. The report always holds all properties, so the newest one is the whole
state, for late comers too.

:class:`Observations` is what happens at one look, without thread and domain; :class:`Agent` is the
shell. Durations are counted by the clock that never jumps; what is told carries the time of day.
"""

from __future__ import annotations

import logging
import threading
import time
from typing import TYPE_CHECKING

from evenflow.autonomic.analyze.local_events import Phase
from evenflow.autonomic.design import Design, design
from evenflow.autonomic.monitor.monitors import MonitoringService
from evenflow.autonomic.monitor.ping_station import PingStation
from evenflow.autonomic.monitor.sensors import Sensors
from evenflow.closing import Closing
from evenflow.domain.channels import EVENTS, PROPERTIES
from evenflow.errors import ConfigError, did_you_mean
from evenflow.model.messages import EventNotice, PropertyReport

if TYPE_CHECKING:
    from collections.abc import Mapping

    from evenflow.autonomic.analyze.local_events import EventNotification
    from evenflow.autonomic.monitor.sensors import Sensor
    from evenflow.config import Config
    from evenflow.domain.cyclone import Participant

_LOG = logging.getLogger(__name__)


class Observations:
    """The monitors and local events of one process."""

    def __init__(self, source: str, plan: Design) -> None:
        self.source = source
        self._ranges = plan.ranges
        self._monitors = MonitoringService(plan.ranges, plan.heartbeat_s)
        self._events = plan.detector(source)

    def look(
        self, readings: Mapping[str, float], now: float, wall: float
    ) -> list[PropertyReport | EventNotice]:
        """Take one reading of the properties; return what to tell."""
        reports = self._monitors.observe(readings, now)
        values = self._monitors.values
        told: list[PropertyReport | EventNotice] = []
        if reports:
            names = tuple(sorted(values))
            ranges = tuple(self._ranges[name].range_of(values[name]) for name in names)
            told.append(
                PropertyReport(self.source, wall, names, tuple(values[n] for n in names), ranges)
            )
        found = self._events.observe(values, now)
        return [*told, *(notice_of(event, wall - now) for event in found)]


def notice_of(event: EventNotification, offset: float) -> EventNotice:
    """The message that tells of an event; ``offset`` leads from its clock to the time of day."""
    seen = event.properties
    return EventNotice(
        event.source_id,
        event.event_id,
        event.phase is Phase.RAISED,
        event.time + offset,
        tuple(each.name for each in seen),
        tuple(each.value for each in seen),
        tuple(each.time + offset for each in seen),
    )


class Agent(Closing):
    """Watches this process until it is closed.

    Args:
        source: Id under which it reports; a node's id for a node.
        config: The configuration.
        participant: The process's place in the domain.
        sensors: Properties besides those of the machine, by name: anything that gives a number.

    Raises:
        ConfigError: The configuration is faulty, or a sensor has no line in ``[monitor.ranges]``.
    """

    def __init__(
        self,
        source: str,
        config: Config,
        participant: Participant,
        sensors: Mapping[str, Sensor] | None = None,
    ) -> None:
        plan = design(config)
        self._period_s = plan.period_s
        self._observations = Observations(source, plan)
        self.sensors = Sensors()
        for name, sensor in (sensors or {}).items():
            if name not in plan.properties:
                hint = did_you_mean(name, plan.properties)
                raise ConfigError(
                    f"monitor.ranges.{name}", None, f"declare the property: {name} = []{hint}"
                )
            self.sensors.add(name, sensor)
        self._writers = {
            PropertyReport: participant.writer(PROPERTIES),
            EventNotice: participant.writer(EVENTS),
        }
        self._pings = PingStation(source, participant)
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, name=f"{source} agent", daemon=True)
        self._thread.start()

    def _run(self) -> None:
        while not self._stop.is_set():
            now = time.monotonic()
            readings = {**self.sensors.read(now), **self._pings.readings()}
            for message in self._observations.look(readings, now, time.time()):
                if isinstance(message, EventNotice):
                    _LOG.info("event %s %s", message.event, "begins" if message.raised else "ends")
                self._writers[type(message)].write(message)
            self._stop.wait(max(0.0, now + self._period_s - time.monotonic()))

    def close(self) -> None:
        """Stop watching; call it before the participant is closed."""
        self._stop.set()
        self._thread.join()
        self._pings.close()
