"""``bridge --part balance``: how even the ring is, and how many devices move when a bridge joins.

Three rings: *plain*, one point for each bridge, as the paper has it; *virtual*, 128 points each;
*bounded*, the same with arcs given away until no bridge is above 1.1 times the mean. Each row is
the mean and the worst of several worlds (names of bridges and GUIDs of devices drawn anew). When a
bridge joins, the bounded ring moves what the join moves and what the plan after it moves.
Everything is computed by the code that bridges and the balancer run; nothing is sent.
"""

from __future__ import annotations

import statistics
import time
from dataclasses import dataclass
from math import ceil
from random import Random
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from evenflow.bridge.balancing.bounded import gifts
from evenflow.bridge.ring.arc_table import of_use
from evenflow.bridge.ring.circle import Circle
from evenflow.bridge.ring.identifiers import (
    BITS,
    GUID_BYTES,
    POINTS,
    hashed,
    identifiers_of,
)
from evenflow_experiments.parts import Part
from evenflow_experiments.report import print_table

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from evenflow.bridge.ring.identifiers import Identifiers
    from evenflow_experiments.options import Given
    from evenflow_experiments.report import Progress

FACTOR: Final = 1.1
RINGS: Final = {"plain": (1, False), "virtual": (POINTS, False), "bounded": (POINTS, True)}
"""Points of a bridge, and whether loads are bounded."""
SIZES: Final = ((2, 500), (5, 500), (10, 10_000), (20, 500), (20, 10_000))
"""Bridges and devices."""
SHARE: Final = 1.5
"""Of M + 1 bridges' devices at most this many times 1 / (M + 1) move when one joins."""


@dataclass(slots=True)
class Ring:
    """Bridges and devices by one of the rings, and which arcs were given away."""

    points: int
    bounded: bool
    devices: Identifiers
    given: dict[int, str]

    def settle(self, bridges: list[str]) -> list[str]:
        """Give arcs away if loads are bounded; return the owner of each device."""
        places = {name: _PLACING(name, self.points) for name in bridges}
        circle = Circle(places, self.given)
        if self.bounded:
            counts = circle.count(self.devices)
            arcs: dict[str, dict[int, float]] = {name: {} for name in bridges}
            for end, holder in circle.arcs().items():
                arcs[holder][end] = float(counts.get(end, 0))
            self.given |= {gift.arc: gift.taker for gift in gifts(arcs, FACTOR, unit=1.0)}
            self.given = of_use(places, self.given, BITS)
            circle = Circle(places, self.given)
        return [circle.bridges[holder] for holder in circle.holders_of(self.devices)]


_PLACING: Final = hashed()


def world(ring: str, bridges: int, devices: int, seed: int) -> dict[str, float]:
    """One world: how even it is, what bounded loads have moved, what moves when one joins."""
    random = Random(seed)
    points, bounded = RINGS[ring]
    guids = [random.randbytes(GUID_BYTES) for _ in range(devices)]
    identifiers = identifiers_of(guids)
    names = [f"{seed}-{number}" for number in range(bridges + 1)]
    unbounded = Ring(points, bounded=False, devices=identifiers, given={}).settle(names[:-1])
    made = Ring(points, bounded, identifiers, {})
    before = made.settle(names[:-1])
    after = made.settle(names)
    most = np.unique(before, return_counts=True)[1].max()
    return {
        "max_over_mean": float(most) * bridges / devices,
        "moved_by_bound": _moved(unbounded, before),
        "moved_on_join": _moved(before, after),
    }


def _moved(before: list[str], after: list[str]) -> float:
    """The part of the devices whose owner is another one."""
    pairs = zip(before, after, strict=True)
    return sum(one != other for one, other in pairs) / len(before)


def measure(given: Given, progress: Progress) -> list[dict[str, Any]]:
    """All rings, all sizes."""
    worlds = 5 if given.quick else 30
    rows = []
    for bridges, devices in SIZES:
        for ring in RINGS:
            found = [world(ring, bridges, devices, seed) for seed in range(worlds)]
            row: dict[str, Any] = {"ring": ring, "bridges": bridges, "devices": devices}
            for name in found[0]:
                row[name] = round(statistics.fmean(one[name] for one in found), 4)
                row[f"{name}_worst"] = round(max(one[name] for one in found), 4)
            rows.append({**row, "worlds": worlds, "lookup_ms": lookup_ms(bridges, devices)})
        progress(f"{bridges} bridges, {devices:,} devices")
    return rows


def lookup_ms(bridges: int, devices: int) -> float:
    """CPU time of making the ring anew and finding the owners of all devices by their GUIDs."""
    random = Random(1)
    guids = [random.randbytes(GUID_BYTES) for _ in range(devices)]
    points = {f"b{number}": POINTS for number in range(bridges)}
    took = []
    for _ in range(5):
        began = time.process_time()
        Circle.of(points, _PLACING).owners(guids)
        took.append(time.process_time() - began)
    return round(min(took) * 1e3, 2)


def show(rows: list[dict[str, Any]]) -> list[str]:
    """Print the table; say what is not as it should be."""
    columns = ["ring", "bridges", "devices", "max/mean", "worst", "moved by bound %",
               "on join %", "worst %", "1.5/(M+1) %"]  # fmt: skip
    print_table(
        "Devices on bridges: how even, and how many move when one joins",
        columns,
        [
            (
                row["ring"], row["bridges"], row["devices"], row["max_over_mean"],
                row["max_over_mean_worst"], 100 * row["moved_by_bound"],
                100 * row["moved_on_join"], 100 * row["moved_on_join_worst"],
                100 * SHARE / (row["bridges"] + 1),
            )
            for row in rows
        ],
        note="the plain ring is the paper's; no bound is asked of it",
    )  # fmt: skip
    wrong = []
    for row in rows:
        size = f"{row['bridges']} bridges, {row['devices']:,} devices"
        share = SHARE / (row["bridges"] + 1)
        if row["ring"] == "virtual" and row["moved_on_join_worst"] > share:
            wrong.append(f"{size}: {row['moved_on_join_worst']:.1%} move when one joins")
        if row["ring"] == "bounded" and row["max_over_mean_worst"] > bound(row):
            wrong.append(f"{size}: max/mean is {row['max_over_mean_worst']}")
    return wrong


def bound(row: dict[str, Any]) -> float:
    """What max/mean may be: the factor, or the mean rounded up to a whole device."""
    mean: float = row["devices"] / row["bridges"]
    return max(FACTOR, ceil(mean) / mean) + 1e-9


def draw(rows: list[dict[str, Any]], axes: Axes) -> None:
    """How even each ring is."""
    for number, ring in enumerate(RINGS):
        own = [row for row in rows if row["ring"] == ring]
        at = [place + 0.27 * (number - 1) for place in range(len(own))]
        axes.bar(at, [row["max_over_mean"] for row in own], width=0.25, label=ring)
    sizes = [f"{bridges}\n{devices:,}" for bridges, devices in SIZES]
    axes.set_xticks(range(len(sizes)), sizes)
    axes.set_xlabel("bridges, devices")
    axes.set_ylabel("devices of the fullest bridge / mean")
    axes.legend()


PART: Final = Part("balance", measure, show, draw)
