"""An overload that ends a system without adaptation, and that the adaptive one survives.

Three publishers write 300 samples a second each, of ten vehicles each; the one subscriber needs
3 ms for a sample, so it can take a third of them. Writers and reader have a resource limit of 200
samples. Without adaptation the reader is full, then the writers are; they block, give samples up,
and what arrives is old. With it the controller reads how full the writers are, ten times a second,
and sets the reader's separation.

A topic of alarms that is never thinned runs beside it, from the same publishers to the same
subscriber, and must arrive whole.

What is reported is after the first five seconds; a delay counts from when a sample was due.
"""

from __future__ import annotations

import time
from contextlib import ExitStack
from typing import TYPE_CHECKING, Any, Final

from evenflow.qos.consistency import Policies
from evenflow.qos.controller import Controller, ControllerSettings
from evenflow.qos.plain import PlainTopic, Thin
from evenflow_experiments.parts import Part
from evenflow_experiments.qos.position import Position
from evenflow_experiments.qos.traffic import Schedule, all_answer, publish, subscribe
from evenflow_experiments.report import own_domain, print_table
from evenflow_experiments.slices.helper import Helper

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from evenflow_experiments.options import Given
    from evenflow_experiments.report import Progress

PUBLISHERS: Final = 3
PER_S: Final = 300.0
VEHICLES: Final = 10
WORK_S: Final = 0.003
LIMIT: Final = 200
FIRST_S: Final = 5.0
OBSERVE_S: Final = 0.1
MOST_BLOCKED_S: Final = 0.1
FASTER: Final = 10
POSITIONS: Final = PlainTopic("qos/positions", Position, Policies(max_samples=LIMIT))
ALARMS: Final = PlainTopic("qos/alarms", Position, thin=Thin.NEVER)
SETTINGS: Final = ControllerSettings(performance_ratio=0.15, levels=4, separation_most_s=0.4)
"""An overload from 30 of 200 samples on: up to 15 are out when nobody holds them up."""


def measure(given: Given, progress: Progress) -> dict[str, Any]:
    """Both runs: without adaptation and with it."""
    seconds = 10.0 if given.quick else 30.0
    figures = {}
    for name in ("off", "on"):
        figures[name] = run(given, seconds, adaptive=name == "on")
        progress(f"{name}: {figures[name]}")
    return figures


def run(given: Given, seconds: float, *, adaptive: bool) -> dict[str, Any]:
    """One run; the figures of the time after the first five seconds."""
    config = given.config({"domain.id": own_domain()}).domain
    controller = Controller(SETTINGS)
    with ExitStack() as stack:
        reader = stack.enter_context(
            Helper("qos", subscribe, config, [(POSITIONS, WORK_S), (ALARMS, 0.0)])
        )
        writers = [
            stack.enter_context(Helper("qos", publish, config, schedule(number)))
            for number in range(PUBLISHERS)
        ]
        for helper in [reader, *writers]:
            helper.answer()
        started = min(all_answer(writers, "start"))
        separation, largest, early = 0.0, 0.0, None
        while time.time() < started + seconds:
            time.sleep(OBSERVE_S)
            if early is None and time.time() >= started + FIRST_S:
                early = [stats[0] for stats in all_answer(writers, "stats")]
            uses = [uses[0] for uses in all_answer(writers, "use")]
            decision = controller.observe(uses, time.monotonic())
            if adaptive and decision.separation_s != separation:
                separation = reader.ask(decision.separation_s)
                largest = max(largest, separation)
        stats = all_answer(writers, "end")
        time.sleep(1.0)
        (_, delays), (alarms, _) = reader.ask("end")
    assert early is not None
    late = [one[0] for one in stats]
    ordered = sorted(delay for when, delay in delays if when >= started + FIRST_S)
    return {
        "blocked_s": round(
            sum(b.blocked_s - a.blocked_s for a, b in zip(early, late, strict=True)), 3
        ),
        "longest_block_s": round(max(one.longest_block_s for one in late), 3),
        "rejected": sum(b.rejected - a.rejected for a, b in zip(early, late, strict=True)),
        "delay_ms_p99": round(1000 * ordered[int(len(ordered) * 0.99)], 1),
        "samples_per_s": round(len(ordered) / (seconds - FIRST_S), 1),
        "separation_ms": round(1000 * separation),
        "largest_separation_ms": round(1000 * largest),
        "alarms_lost": sum(one[1].written for one in stats) - len(set(alarms)),
    }


def schedule(number: int) -> list[tuple[PlainTopic, Schedule]]:
    """What a publisher writes."""
    return [
        (POSITIONS, Schedule(f"car-{number}", PER_S, VEHICLES)),
        (ALARMS, Schedule(f"alarm-{number}", 20.0)),
    ]


def show(figures: dict[str, Any]) -> list[str]:
    """Print both runs, and say what the adaptive one does not keep."""
    print_table(
        "Overload, after the first 5 s",
        ["", "blocked, s", "rejected", "delay p99, ms", "samples/s taken", "alarms lost"],
        [
            (name, one["blocked_s"], one["rejected"], one["delay_ms_p99"], one["samples_per_s"],
             one["alarms_lost"])
            for name, one in figures.items()
        ],
        note=f"{PUBLISHERS * PER_S:g} samples a second offered, {1 / WORK_S:.0f} can be taken",
    )  # fmt: skip
    off, on = figures["off"], figures["on"]
    checks = {
        "without adaptation it was no overload": off["rejected"] > 0,
        "a writer blocked": on["blocked_s"] <= MOST_BLOCKED_S,
        "samples were rejected": on["rejected"] == 0,
        "the delay is not ten times lower": FASTER * on["delay_ms_p99"] <= off["delay_ms_p99"],
        "alarms were lost": on["alarms_lost"] == 0,
    }
    return [fault for fault, holds in checks.items() if not holds]


def draw(figures: dict[str, Any], axes: Axes) -> None:
    """The delays side by side."""
    axes.bar(list(figures), [one["delay_ms_p99"] for one in figures.values()])
    axes.set(yscale="log", ylabel="delay p99, ms", title="Overload")


PART: Final = Part("overload", measure, show, draw)
