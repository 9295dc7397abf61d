"""``qos --part controller``: what a decision costs, how good levels are, and the trade-off of K.

* *Cost*: CPU time of a decision after 10 observations and after 1,000,000; it must not grow.
* *The trade-off of K*: more levels follow the load more closely and switch more often (which the
  paper says and does not measure). The error is the mean distance from the separation that a
  continuous controller would choose, as a share of the largest one.
* *The two readings* of what is clustered, and hysteresis on and off, on the same load.
* *Constant load*: switches on a load that is the same but for noise; there must be none.
* *Other clusterings* on recorded traces (`contenders`).
"""

from __future__ import annotations

import statistics
import time
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

from evenflow.qos.controller import Clustered, Controller, ControllerSettings
from evenflow.qos.use import Use
from evenflow_experiments.parts import Part
from evenflow_experiments.qos.contenders import compare
from evenflow_experiments.qos.traces import constant, traces, waves
from evenflow_experiments.report import print_table

if TYPE_CHECKING:
    from collections.abc import Sequence

    from matplotlib.axes import Axes

    from evenflow_experiments.options import Given
    from evenflow_experiments.qos.traces import Point
    from evenflow_experiments.report import Progress

LEVELS: Final = (1, 2, 3, 4, 6, 8)
RATIO: Final = 0.5
MOST_US: Final = 50.0
LIMIT: Final = 100_000
PERIOD_S: Final = 0.1
BATCH, BATCHES = 100, 15


def measure(given: Given, progress: Progress) -> dict[str, Any]:
    """Measure everything."""
    many = 50_000 if given.quick else 1_000_000
    length = 1_000 if given.quick else 5_000
    costs = cost(many, progress)
    progress("levels, readings, hysteresis")
    load = waves(length)
    settings = ControllerSettings(RATIO, 4, 1.0, calm_s=1.0)
    found = {
        "us_per_decision": costs[-1]["us"],
        "cost": costs,
        "levels": [{"k": k, **quality(replace(settings, levels=k), load)} for k in LEVELS],
        "readings": [
            {"clustered": each.value, "holds": holds, **quality(variant, load)}
            for each in Clustered
            for holds in (False, True)
            for variant in [replace(settings, clustered=each, holds=holds)]
        ],
        "switches": {
            each.value: switches_on_constant(replace(settings, clustered=each), length)
            for each in Clustered
        },
    }
    progress("other clusterings")
    found["comparison"] = compare(traces(length))
    return found


def cost(many: int, progress: Progress) -> list[dict[str, Any]]:
    """The median CPU time of a decision in microseconds, early and late."""
    load = [uses_of(point) for point in waves(BATCH * BATCHES)]
    controller = Controller(ControllerSettings(RATIO, 4, 1.0))
    rows, seen = [], 0
    for after in (10, many):
        while seen < after:
            controller.observe(load[seen % len(load)], seen * PERIOD_S)
            seen += 1
        times = []
        for first in range(0, len(load), BATCH):
            began = time.process_time()
            for uses in load[first : first + BATCH]:
                controller.observe(uses, seen * PERIOD_S)
                seen += 1
            times.append((time.process_time() - began) / BATCH * 1e6)
        rows.append({"after": after, "us": round(statistics.median(times), 2)})
        progress(f"after {after:,} observations: {rows[-1]['us']} us a decision")
    return rows


def quality(settings: ControllerSettings, load: Sequence[Point]) -> dict[str, Any]:
    """How far the separation is from the continuous one, and how often it changes."""
    controller = Controller(settings)
    error = 0.0
    for number, point in enumerate(load):
        decision = controller.observe(uses_of(point), number * PERIOD_S)
        ideal = max(0.0, (decision.performance - RATIO) / (1.0 - RATIO))
        error += abs(decision.separation_s / settings.separation_most_s - min(ideal, 1.0))
    return {"error": round(error / len(load), 4), "switches": controller.switches}


def switches_on_constant(settings: ControllerSettings, length: int) -> int:
    """Switches after the first 20 observations of a load that stays the same."""
    controller = Controller(settings)
    early = 0
    for number, point in enumerate(constant(length)):
        controller.observe(uses_of(point), number * PERIOD_S)
        early = controller.switches if number == 20 else early
    return controller.switches - early


def uses_of(point: Point) -> list[Use]:
    """Three writers that are so full."""
    used, kept = round(point[0] * LIMIT), round(point[1] * LIMIT)
    return [Use(f"w{number}", used, LIMIT, kept, LIMIT) for number in range(3)]


def show(found: dict[str, Any]) -> list[str]:
    """Print all tables; say what is not as it should be."""
    for title, key in (
        ("Cost of a decision", "cost"),
        ("Levels: error of the separation against switches (QoS adaptation, section 3)", "levels"),
        ("What is clustered, and hysteresis", "readings"),
        ("Online clusterings on the same loads", "comparison"),
    ):
        rows = found[key]
        print_table(title, list(rows[0]), [list(row.values()) for row in rows])
    early, late = (row["us"] for row in found["cost"])
    wrong = [f"a decision takes {us} us" for us in (early, late) if us > MOST_US]
    if late > 1.5 * early:
        wrong.append(f"a decision takes {early} us at first and {late} us later")
    fluttering = {name: count for name, count in found["switches"].items() if count}
    return wrong + [f"{count} switches on a constant load ({n})" for n, count in fluttering.items()]


def draw(found: dict[str, Any], axes: Axes) -> None:
    """Accuracy against switches, by the number of levels."""
    rows = found["levels"]
    axes.plot([row["switches"] for row in rows], [row["error"] for row in rows], "o-")
    for row in rows:
        axes.annotate(f"K={row['k']}", (row["switches"], row["error"]))
    axes.set(xlabel="switches", ylabel="mean error of the separation", title="Trade-off of K")


PART: Final = Part("controller", measure, show, draw)
