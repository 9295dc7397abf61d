"""The fleet on the road: reports, makes trouble now and then, hears what it is told."""

from __future__ import annotations

import threading
import time
from typing import TYPE_CHECKING, Any, Final

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from evenflow.fleet.vehicles import Alert, Fleet, FleetBooks, Reports

EAGER: Final = 20
"""One vehicle in this many is eager: with skew it reports more often than the others."""
TICK_S: Final = 0.05
"""About how often some vehicles report: all of them take turns."""


class Traffic:
    """Drives a fleet in a thread until it is parked.

    Args:
        fleet: The vehicles.
        publish: Brings their reports on their way; it may wait.
        reports_per_s: Reports of each vehicle.
        troubles_per_min: Troubles of the whole fleet.
        skew: How many times as often as the others some vehicles report.
    """

    def __init__(
        self,
        fleet: Fleet,
        publish: Callable[[Reports], None],
        reports_per_s: float,
        troubles_per_min: float,
        skew: int = 1,
    ) -> None:
        self._fleet = fleet
        self._publish = publish
        turns = max(1, round(1 / reports_per_s / TICK_S))
        self._tick_s = 1 / reports_per_s / turns
        self._turns = [np.arange(turn, fleet.size, turns) for turn in range(turns)]
        self._eager = [turn[turn % EAGER == 0] for turn in self._turns]
        self._skew = skew
        self._trouble_s = 60 / troubles_per_min if troubles_per_min else 0.0
        self._lock = threading.Lock()
        self._parked = threading.Event()
        self._troubled = threading.Event()
        self._fault: Exception | None = None
        self._thread = threading.Thread(target=self._run, name="traffic", daemon=True)
        self._thread.start()

    def begin_trouble(self) -> None:
        """From now on let vehicles get into trouble, if they are to."""
        if self._trouble_s:
            self._troubled.set()

    def answer(self, vehicle: str, told: Mapping[str, Any], now: int) -> None:
        """A vehicle is told what the pipeline says.

        Args:
            vehicle: Its name.
            told: The trouble, until when it was seen, and when the vehicle last reported it.
            now: Microseconds since 1970.
        """
        with self._lock:
            self._fleet.tell(vehicle, told["trouble"], told["until"], told["reported"], now)

    def books(self) -> FleetBooks:
        """What happened so far."""
        with self._lock:
            return self._fleet.books()

    def recent(self) -> list[Alert]:
        """The latest alerts, newest first."""
        with self._lock:
            return list(reversed(self._fleet.recent))

    @property
    def in_trouble(self) -> int:
        """How many vehicles are in trouble now."""
        with self._lock:
            return self._fleet.in_trouble

    def check(self) -> None:
        """Raise what ended the traffic, if something did."""
        if self._fault is not None:
            raise self._fault

    def park(self) -> None:
        """Report no more."""
        self._parked.set()
        self._thread.join()

    def _run(self) -> None:
        try:
            self._drive()
        except Exception as error:  # noqa: BLE001 - raised again by whoever checks
            self._fault = error

    def _drive(self) -> None:
        due = time.monotonic()
        next_trouble = 0.0
        turn = 0
        while not self._parked.wait(max(0.0, due - time.monotonic())):
            with self._lock:
                reports = self._report(turn)
                if self._troubled.is_set() and time.monotonic() >= next_trouble:
                    next_trouble = time.monotonic() + self._trouble_s
                    self._fleet.make_trouble()
            for each in reports:
                self._publish(each)
            turn = (turn + 1) % len(self._turns)
            due += self._tick_s

    def _report(self, turn: int) -> list[Reports]:
        """Whose turn it is reports once, and the eager among them again and again."""
        now = time.time_ns() // 1_000
        again = [self._eager[turn]] * (self._skew - 1)
        return [self._fleet.report(chosen, now) for chosen in (self._turns[turn], *again)]
