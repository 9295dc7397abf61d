"""Sensors: where the readings of a node come from.

The machine's own (``psutil``: CPU, memory, network), those of the process the sensors run in, and
any property an operator or a program adds with a callable. A sensor that raises an error or gives
no number is skipped and counted; it does not keep the others from being read.

CPU and network are rates over the time since the last look, so the first look gives no reading for
them.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from math import isfinite

import psutil

from evenflow.autonomic.monitor.properties import MACHINE
from evenflow.errors import ConfigError

Sensor = Callable[[], float]


@dataclass(slots=True)
class Sensors:
    """Reads every property of a node."""

    failures: dict[str, int] = field(default_factory=dict)
    """How often each sensor failed."""
    _added: dict[str, Sensor] = field(default_factory=dict)
    _process: psutil.Process = field(default_factory=psutil.Process)
    _last: tuple[float, float, float] | None = None
    """Time, CPU seconds of the process and network bytes at the last look."""

    @property
    def properties(self) -> tuple[str, ...]:
        """The names of all properties."""
        return (*MACHINE, *self._added)

    def add(self, name: str, sensor: Sensor) -> None:
        """Add a property.

        Raises:
            ConfigError: The name is taken or cannot stand in an expression.
        """
        if name in self.properties:
            raise ConfigError("monitor.property", name, "there is a property of this name already")
        if not name.isidentifier():
            raise ConfigError("monitor.property", name, "must be a name: letters, digits, _")
        self._added[name] = sensor

    def read(self, now: float) -> dict[str, float]:
        """One reading of everything that can be read now."""
        readings = self._machine(now)
        for name, sensor in self._added.items():
            try:
                value = float(sensor())
            except Exception:  # noqa: BLE001  a user's callable may raise anything
                self._count_failure(name)
                continue
            if isfinite(value):
                readings[name] = value
            else:
                self._count_failure(name)
        return readings

    def _machine(self, now: float) -> dict[str, float]:
        times = self._process.cpu_times()
        busy_s = times.user + times.system
        cards = psutil.net_io_counters(pernic=True).values()
        octets = float(sum(card.bytes_sent + card.bytes_recv for card in cards))
        cpu = psutil.cpu_percent(interval=None)
        readings = {
            "memory": psutil.virtual_memory().percent,
            "process_memory_bytes": float(self._process.memory_info().rss),
        }
        if self._last is not None and now > self._last[0]:
            elapsed = now - self._last[0]
            readings["cpu"] = cpu
            readings["process_cpu"] = 100.0 * (busy_s - self._last[1]) / elapsed
            readings["network_bytes"] = max(0.0, octets - self._last[2]) / elapsed
        self._last = (now, busy_s, octets)
        return readings

    def _count_failure(self, name: str) -> None:
        self.failures[name] = self.failures.get(name, 0) + 1
