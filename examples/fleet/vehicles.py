"""A simulated fleet: vehicles that follow planned routes, most of the time.

A route is a straight road at a planned latitude, driven from west to east and back. Now and then a
vehicle stops where it should not, or leaves its road. What really happened is remembered, so that a
pipeline's findings can be compared with it.
"""

from __future__ import annotations

import random
import threading
import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from evenflow.slices.publisher import Publisher

STEP_S = 0.5
"""How often a vehicle reports."""
ROUTES = 20
LANE_DEGREES = 0.01
"""Distance between the planned latitudes of two routes."""
CRUISE = 14.0
"""Speed of a vehicle that moves, m/s."""
TROUBLE_S = 12.0
"""How long a stop or a deviation lasts."""


def planned_latitude(route: int) -> float:
    """The latitude of a route's road."""
    return 48.0 + route * LANE_DEGREES


@dataclass
class Vehicle:
    """One vehicle and what is the matter with it."""

    name: str
    route: int
    position: float
    trouble: str = ""
    until: float = 0.0

    def report(self, now: float) -> dict[str, float]:
        """Drive on for one step and report."""
        if now >= self.until:
            self.trouble = ""
        speed = 0.0 if self.trouble == "stop" else CRUISE
        self.position += speed * STEP_S
        off = 0.004 if self.trouble == "deviation" else random.gauss(0, 0.0002)
        return {
            "route": self.route,
            "lat": planned_latitude(self.route) + off,
            "lon": 11.0 + abs(self.position % 20_000 - 10_000) * 1e-5,
            "speed": speed,
        }


@dataclass
class Fleet:
    """Vehicles that report to a publisher until they are stopped."""

    publisher: Publisher
    size: int
    seed: int = 1
    troubles: list[tuple[str, str]] = field(default_factory=list)
    """Vehicle and trouble, of every trouble that lasted long enough to be found."""
    reports: int = 0

    def __post_init__(self) -> None:
        self._random = random.Random(self.seed)
        self._vehicles = [
            Vehicle(f"vehicle-{i:03}", i % ROUTES, self._random.uniform(0, 20_000))
            for i in range(self.size)
        ]
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)

    def start(self) -> None:
        """Begin to drive."""
        self._thread.start()

    def make_trouble(self, count: int) -> None:
        """Let some vehicles stop, and some leave their road."""
        until = time.monotonic() + TROUBLE_S
        for vehicle in self._random.sample(self._vehicles, count):
            vehicle.trouble = self._random.choice(["stop", "deviation"])
            vehicle.until = until
            self.troubles.append((vehicle.name, vehicle.trouble))

    def stop(self) -> None:
        """Everybody parks."""
        self._stop.set()
        self._thread.join()

    def _run(self) -> None:
        due = time.monotonic()
        while not self._stop.is_set():
            now = time.monotonic()
            reports = [vehicle.report(now) for vehicle in self._vehicles]
            names = [vehicle.name for vehicle in self._vehicles]
            stamp = time.time_ns() // 1_000
            self.publisher.publish_many(
                reports, senders=names, times=np.full(len(names), stamp).tolist()
            )
            self.reports += len(reports)
            due += STEP_S
            self._stop.wait(max(0.0, due - time.monotonic()))
