"""``bridge --part load``: thousands of devices on one bridge, which publish once a second each.

Bridge, devices and a reader are real, in a network namespace of their own. The bridge's process is
held to one core; told are its time on it, its memory, and how many of the samples that are due in
a round it wrote into the domain.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any, Final

from evenflow_experiments.bridge.baseline import C_DDSB
from evenflow_experiments.bridge.stage import Stage
from evenflow_experiments.faults.hosts import require
from evenflow_experiments.parts import Part
from evenflow_experiments.report import print_table

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from evenflow_experiments.options import Given
    from evenflow_experiments.report import Progress

QUICK: Final = (200,)
FULL: Final = (1_000, 2_500, 5_000)
ROUNDS: Final = 30


def measure(given: Given, progress: Progress) -> list[dict[str, Any]]:
    """Each number of devices on a bridge of its own."""
    require()
    rows = []
    for devices in QUICK if given.quick else FULL:
        progress(f"{devices} devices on one bridge")
        with Stage(C_DDSB, 1, devices) as stage:
            stage.hold_to_one_core()
            rows.append(row_of(stage, devices, 3 if given.quick else ROUNDS))
    return rows


def row_of(stage: Stage, devices: int, rounds: int) -> dict[str, Any]:
    """Connect, publish, look."""
    began = time.monotonic()
    stage.connect(rounds)
    connected_s = time.monotonic() - began
    before = stage.look()
    stage.publish()
    after = stage.look()
    [bridge], [was] = after.bridges, before.bridges
    took = after.at - before.at
    sent = sum(after.crowd["sent"].values()) - sum(before.crowd["sent"].values())
    received = after.crowd["received"] - before.crowd["received"]
    return {
        "devices": devices,
        "connected_s": round(connected_s, 1),
        "seconds": round(took, 1),
        "datagrams_s": round((sent + received) / took),
        "published": devices * rounds,
        "relayed": bridge["relayed"] - was["relayed"],
        "cpu_percent": round(100 * (bridge["cpu_s"] - was["cpu_s"]) / took, 1),
        "mib": round(bridge["kib"] / 1024),
        "served_at_the_end": sum(after.crowd["bridges"].values()),
    }


def show(rows: list[dict[str, Any]]) -> list[str]:
    """Print the table; return what should not be."""
    keys = ("devices", "connected_s", "datagrams_s", "published", "relayed", "cpu_percent", "mib")
    print_table(
        "Devices on one bridge, a sample a second each",
        ["devices", "connected after, s", "datagrams/s", "published", "relayed",
         "CPU, % of a core", "MiB"],
        [[row[key] for key in keys] for row in rows],
        note="samples of devices are best effort",
    )  # fmt: skip
    return [
        f"{row['devices']} devices: {row['served_at_the_end']} are served at the end"
        for row in rows
        if row["served_at_the_end"] != row["devices"]
    ]


def draw(rows: list[dict[str, Any]], axes: Axes) -> None:
    """CPU by devices."""
    axes.plot([row["devices"] for row in rows], [row["cpu_percent"] for row in rows], "o-")
    axes.set_xlabel("devices on one bridge")
    axes.set_ylabel("% of a core")


PART: Final = Part("load", measure, show, draw)
