"""A simulated fleet: vehicles that follow planned routes, most of the time.

A route is a straight road at a planned latitude, driven from west to east and back. Now and then a
vehicle stops where it should not, or leaves its road, and stays so until it is told. What really
happened is remembered: a trouble counts as *planted* once the reports show it for as long as the
pipeline's rules ask (:meth:`Fleet.books`), and as *found* when its vehicle was told.

Times are microseconds since 1970 and come from the caller.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np

from evenflow.fleet.rules import (
    DEVIATION,
    FIRST_LATITUDE,
    LANE_DEGREES,
    LATE_S,
    ROUTES,
    STOP,
    TROUBLES,
    WINDOW_S,
)

if TYPE_CHECKING:
    from numpy.typing import NDArray

CRUISE_M_S: Final = 14.0
"""Speed of a vehicle that drives."""
ROAD_M: Final = 10_000.0
"""Length of a road."""
SHIFT_DEGREES: Final = 0.004
"""How far a vehicle that left its road is away from it."""
NOISE_DEGREES: Final = 0.0002
"""How exactly a vehicle knows where it is."""
DELAYS: Final = 10_000
"""Of how many answers the delay is remembered."""
REMEMBERED: Final = 4
"""How many troubles of a vehicle are remembered."""
RECENT: Final = 5
"""How many alerts are remembered for those who watch."""
SECOND: Final = 1_000_000


@dataclass(slots=True)
class Trouble:
    """One vehicle's trouble."""

    vehicle: str
    kind: str
    well: int
    """When the vehicle last reported that all was well."""
    told: int = 0
    """When it was told; 0 before that."""
    over: int = 0
    """When it next reported that all was well; 0 before that."""

    def covers(self, kind: str, until: int) -> bool:
        """Whether the pipeline must have seen it in the window that ended then."""
        began = until - WINDOW_S * SECOND
        return kind == self.kind and began > self.well and not 0 < self.over < until

    def due(self) -> int:
        """When reports of this time have come, the pipeline must have found it."""
        first_window = self.well // SECOND + 1
        return (first_window + WINDOW_S + LATE_S) * SECOND


@dataclass(frozen=True, slots=True)
class Alert:
    """The first answer to a trouble."""

    trouble: Trouble
    after_s: float
    """Seconds from the beginning of the trouble to the answer."""


@dataclass(frozen=True, slots=True)
class RoundTrip:
    """How long an answer took, from the newest report that it is about."""

    whole_s: float
    asked_s: float
    """What the rules ask for: until the window had ended, and late reports had had their time.

    Who keeps the rules cannot answer sooner; the rest is the pipeline's own.
    """

    @property
    def own_s(self) -> float:
        """What the pipeline took beyond that."""
        return self.whole_s - self.asked_s


@dataclass(frozen=True, slots=True)
class FleetBooks:
    """What happened to a fleet."""

    reports: int
    planted: int
    """Troubles that were reported for long enough to be found."""
    found: int
    """Troubles whose vehicle was told."""
    false: int
    """Answers to vehicles that were not in that trouble."""
    answers: int
    round_trips: tuple[RoundTrip, ...]
    """Of the latest answers."""


@dataclass(frozen=True, slots=True)
class Reports:
    """Reports of some vehicles, as columns."""

    payloads: list[bytes]
    senders: list[str]
    ids: list[int]
    """Each vehicle counts its reports, from 1."""
    times: list[int]
    places: list[tuple[float, float]]
    """Latitude and longitude."""


class Fleet:
    """The vehicles. Used by one thread at a time."""

    def __init__(self, size: int, reports_per_s: float, seed: int = 1, *, first: int = 1) -> None:
        self.names = [f"vehicle-{number:03}" for number in range(first, first + size)]
        self.recent: deque[Alert] = deque(maxlen=RECENT)
        self._number = {name: number for number, name in enumerate(self.names)}
        self._random = np.random.default_rng(seed)
        self._step_m = CRUISE_M_S / reports_per_s
        self._route = np.arange(size) % ROUTES
        self._position = self._random.uniform(0, 2 * ROAD_M, size)
        self._count = np.zeros(size, np.int64)
        self._well = np.zeros(size, np.int64)
        self._standing = np.zeros(size, bool)
        self._astray = np.zeros(size, bool)
        self._troubles: list[deque[Trouble]] = [deque(maxlen=REMEMBERED) for _ in range(size)]
        """The newest troubles of each vehicle; answers to one may come when the next has begun."""
        self._newest = 0
        self._answers = self._found = self._false = 0
        self._round_trips: deque[RoundTrip] = deque(maxlen=DELAYS)

    def report(self, chosen: NDArray[np.int64], now: int) -> Reports:
        """Let some vehicles drive on for one step and report."""
        well = ~(self._standing[chosen] | self._astray[chosen])
        self._well[chosen[well]] = now
        for number in chosen[well].tolist():
            troubles = self._troubles[number]
            if troubles and not troubles[-1].over:
                troubles[-1].over = now
        self._count[chosen] += 1
        self._newest = now
        speed = np.where(self._standing[chosen], 0.0, CRUISE_M_S)
        self._position[chosen] += np.where(self._standing[chosen], 0.0, self._step_m)
        off = self._random.normal(0, NOISE_DEGREES, len(chosen))
        off[self._astray[chosen]] += SHIFT_DEGREES
        latitude = FIRST_LATITUDE + self._route[chosen] * LANE_DEGREES + off
        longitude = 11.0 + np.abs(self._position[chosen] % (2 * ROAD_M) - ROAD_M) * 1e-5
        columns = (self._route[chosen], latitude, longitude, speed)
        payloads = [
            b'{"route":%d,"lat":%.6f,"lon":%.6f,"speed":%.1f}' % row
            for row in zip(*(column.tolist() for column in columns), strict=True)
        ]
        return Reports(
            payloads,
            [self.names[number] for number in chosen],
            self._count[chosen].tolist(),
            [now] * len(chosen),
            list(zip(latitude.tolist(), longitude.tolist(), strict=True)),
        )

    def make_trouble(self) -> None:
        """Let a vehicle that is well and has reported stand still, or leave its road."""
        ready = np.flatnonzero(~self._standing & ~self._astray & (self._well > 0))
        if not len(ready):
            return
        number = int(self._random.choice(ready))
        kind = str(self._random.choice(TROUBLES))
        self._troubles[number].append(Trouble(self.names[number], kind, int(self._well[number])))
        self._standing[number] = kind == STOP
        self._astray[number] = kind == DEVIATION

    def tell(self, vehicle: str, kind: str, until: int, reported: int, now: int) -> None:
        """A vehicle is told of a trouble that lasted until some moment; it mends it.

        Args:
            vehicle: Its name.
            kind: The trouble.
            until: End of the window in which the pipeline saw it.
            reported: The newest report in that window.
            now: When the answer arrived.
        """
        self._answers += 1
        asked = until + LATE_S * SECOND - reported
        self._round_trips.append(RoundTrip((now - reported) / SECOND, asked / SECOND))
        number = self._number.get(vehicle)
        troubles = () if number is None else self._troubles[number]
        trouble = next((one for one in troubles if one.covers(kind, until)), None)
        if trouble is None:
            self._false += 1
        elif not trouble.told:
            trouble.told = now
            self._found += 1
            self._standing[number] = self._astray[number] = False
            self.recent.append(Alert(trouble, (now - trouble.well) / SECOND))

    @property
    def in_trouble(self) -> int:
        """How many vehicles are in trouble now."""
        return int(np.count_nonzero(self._standing | self._astray))

    @property
    def size(self) -> int:
        """How many vehicles there are."""
        return len(self.names)

    def books(self) -> FleetBooks:
        """What happened so far."""
        open_troubles = [one[-1] for one in self._troubles if one and not one[-1].told]
        due = sum(one.due() <= self._newest for one in open_troubles)
        return FleetBooks(
            reports=int(self._count.sum()),
            planted=self._found + due,
            found=self._found,
            false=self._false,
            answers=self._answers,
            round_trips=tuple(self._round_trips),
        )
