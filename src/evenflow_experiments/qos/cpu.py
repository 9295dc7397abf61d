"""Figure 8: CPU of all subscribers together, against the separation.

As in the paper: three publishers, five subscribers, no deadline, a history of 100, transient local;
each in a process of its own. The separation is changed while all of them run. What is measured is
the CPU time that the five processes use, as the system counts it, in percent of one core.
"""

from __future__ import annotations

import time
from contextlib import ExitStack
from typing import TYPE_CHECKING, Any, Final

from evenflow.qos.consistency import Policies
from evenflow.qos.plain import PlainTopic
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
SUBSCRIBERS: Final = 5
PER_S: Final = 200.0
"""Samples a second of each publisher, all of one vehicle."""
SEPARATIONS_MS: Final = (0, 50, 100, 200, 300, 400, 500)
SETTLE_S: Final = 1.0
SAVED: Final = 0.25
"""What the paper saves at 500 ms."""
TOPIC: Final = PlainTopic("qos/cpu", Position, Policies(depth=100), durable=True)


def measure(given: Given, progress: Progress) -> list[dict[str, Any]]:
    """CPU in percent of one core for each separation."""
    config = given.config({"domain.id": own_domain()}).domain
    separations = (0, 100, 500) if given.quick else SEPARATIONS_MS
    window_s = 2.0 if given.quick else 8.0
    figures = []
    with ExitStack() as stack:
        readers = [
            stack.enter_context(Helper("qos", subscribe, config, [(TOPIC, 0.0)]))
            for _ in range(SUBSCRIBERS)
        ]
        writers = [
            stack.enter_context(Helper("qos", publish, config, [(TOPIC, schedule(number))]))
            for number in range(PUBLISHERS)
        ]
        for helper in [*readers, *writers]:
            helper.answer()
        all_answer(writers, "start")
        for separation in separations:
            all_answer(readers, separation / 1000)
            time.sleep(SETTLE_S)
            before, counts = all_answer(readers, "cpu"), all_answer(readers, "counts")
            time.sleep(window_s)
            after, then = all_answer(readers, "cpu"), all_answer(readers, "counts")
            percent = sum(
                100 * (used - used_before) / (now - then_)
                for (then_, used_before), (now, used) in zip(before, after, strict=True)
            )
            taken = sum(b[0][0] - a[0][0] for a, b in zip(counts, then, strict=True))
            progress(f"{separation} ms: {percent:.1f} %")
            figures.append(
                {
                    "separation_ms": separation,
                    "cpu_percent": round(percent, 2),
                    "samples_per_s": round(taken / window_s, 1),
                }
            )
    return figures


def schedule(number: int) -> Schedule:
    """What a publisher writes."""
    return Schedule(f"publisher-{number}", PER_S, readers=SUBSCRIBERS)


def show(figures: list[dict[str, Any]]) -> list[str]:
    """Print, and say when less is saved than in the paper."""
    full = figures[0]["cpu_percent"]
    print_table(
        "CPU of five subscribers (Figure 8)",
        ["separation, ms", "samples/s taken", "CPU, % of a core", "saved, %", "paper: saved, %"],
        [
            (
                one["separation_ms"], one["samples_per_s"], one["cpu_percent"],
                100 * (1 - one["cpu_percent"] / full),
                25 if one["separation_ms"] == 500 else None,
            )
            for one in figures
        ],
        note=f"{PUBLISHERS} publishers of {PER_S:g} samples a second, history 100, transient local",
    )  # fmt: skip
    saved = 1 - figures[-1]["cpu_percent"] / full
    return [] if saved >= SAVED else [f"{100 * saved:.0f} % of the CPU saved at 500 ms"]


def draw(figures: list[dict[str, Any]], axes: Axes) -> None:
    """CPU against separation."""
    axes.plot(
        [one["separation_ms"] for one in figures], [one["cpu_percent"] for one in figures], "o-"
    )
    axes.set(xlabel="separation, ms", ylabel="CPU of all subscribers, %", title="Figure 8")
    axes.set_ylim(bottom=0)


PART: Final = Part("cpu", measure, show, draw)
