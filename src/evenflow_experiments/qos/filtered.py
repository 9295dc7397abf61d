"""Figure 9: which share of the bytes received do readers filter, against the separation.

All samples are of one size, so the share of the bytes is that of the samples. It depends on the
separation times the rate of an instance and on nothing else, so two sources are measured at once:

* *steady*: 20 vehicles, 50 samples a second each, evenly: from 20 ms on nearly all is filtered;
* *sparse*: as the paper's figures want it. It has 0.246 at 1 ms and 0.366 at 5,000 ms: a quarter
  of all samples follow their predecessor within a millisecond, and the others hardly ever within
  five seconds. No steady rate does that (0.246 at 1 ms is 330 samples a second at random times,
  0.366 at 5 s is one in nine seconds). Vehicles that report once in 26 s, at random, and every
  third time twice at once, do.
"""

from __future__ import annotations

import random
import time
from contextlib import ExitStack
from typing import TYPE_CHECKING, Any, Final

from evenflow.domain import enter
from evenflow.processes import wait_until
from evenflow.qos.plain import PlainReader, PlainTopic, PlainWriter
from evenflow_experiments.parts import Part
from evenflow_experiments.qos.position import Position
from evenflow_experiments.report import own_domain, print_table
from evenflow_experiments.slices.helper import Helper, orders_of

if TYPE_CHECKING:
    from collections.abc import Iterator
    from multiprocessing.connection import Connection

    from matplotlib.axes import Axes

    from evenflow.config import DomainConfig
    from evenflow_experiments.options import Given
    from evenflow_experiments.report import Progress

SEPARATIONS_MS: Final = (1, 10, 50, 100, 500, 1_000, 2_000, 5_000)
PAPER: Final = {1: 0.246, 5_000: 0.366}
STEADY: Final = PlainTopic("qos/steady", Position)
SPARSE: Final = PlainTopic("qos/sparse", Position)
VEHICLES, PER_S = 20, 50.0
SPARSE_VEHICLES, EVERY_S, TWICE = 1_000, 26.0, 0.326


def measure(given: Given, progress: Progress) -> list[dict[str, Any]]:
    """The shares of both sources, for each separation."""
    config = given.config({"domain.id": own_domain()}).domain
    seconds = 12.0 if given.quick else 90.0
    with ExitStack() as stack:
        domain = stack.enter_context(enter(config))
        readers = {
            (topic.name, ms): stack.enter_context(
                PlainReader(domain, topic, separation_s=ms / 1000)
            )
            for topic in (STEADY, SPARSE)
            for ms in SEPARATIONS_MS
        }
        source = stack.enter_context(Helper("qos", write_both, config, len(SEPARATIONS_MS)))
        source.answer()
        source.tell(seconds)
        progress(f"{seconds:g} s of two sources")
        taken = dict.fromkeys(readers, 0)
        end = time.monotonic() + seconds + 1.0
        while time.monotonic() < end:
            time.sleep(0.05)
            for name, reader in readers.items():
                taken[name] += len(reader.take(4_096))
        source.answer()
        shares = {
            name: reader.filtered / max(1, reader.filtered + taken[name])
            for name, reader in readers.items()
        }
    return [
        {
            "separation_ms": ms,
            "share": round(shares[STEADY.name, ms], 4),
            "share_sparse": round(shares[SPARSE.name, ms], 4),
        }
        for ms in SEPARATIONS_MS
    ]


def write_both(config: DomainConfig, readers: int, pipe: Connection) -> None:
    """Serve as both sources: write for as many seconds as ordered."""
    with enter(config) as domain:
        writers = [PlainWriter(domain, topic, block_s=1.0) for topic in (STEADY, SPARSE)]
        pipe.send("ready")
        for seconds in orders_of(pipe):
            wait_until(lambda: all(writer.matched() == readers for writer in writers), 30.0)
            start = time.time()
            for number, (due, writer, vehicle) in enumerate(schedule(seconds, random.Random(7))):
                if (pause := start + due - time.time()) > 0:
                    time.sleep(pause)
                writers[writer].write(Position(vehicle, number, 0, 21.42, 39.83, "on the way"))
            pipe.send("done")


def schedule(seconds: float, chance: random.Random) -> Iterator[tuple[float, int, str]]:
    """When which source writes of which vehicle, in order."""
    period = 1.0 / (VEHICLES * PER_S)
    plan = [
        (number * period, 0, f"steady-{number % VEHICLES}")
        for number in range(int(seconds / period))
    ]
    when = 0.0
    while (when := when + chance.expovariate(SPARSE_VEHICLES / EVERY_S)) < seconds:
        vehicle = f"sparse-{chance.randrange(SPARSE_VEHICLES)}"
        plan += [(when, 1, vehicle)] * (2 if chance.random() < TWICE else 1)
    yield from sorted(plan, key=lambda one: one[0])


def show(figures: list[dict[str, Any]]) -> list[str]:
    """Print beside the paper's figures."""
    print_table(
        "Filtered part of the bytes received (Figure 9)",
        ["separation, ms", "50/s, even", "sparse", "paper"],
        [
            (one["separation_ms"], one["share"], one["share_sparse"],
             PAPER.get(one["separation_ms"]))
            for one in figures
        ],
        note="sparse: each vehicle once in 26 s, at random, every third time twice at once",
    )  # fmt: skip
    shares = [one["share"] for one in figures]
    return [] if shares == sorted(shares) else ["a larger separation filters less"]


def draw(figures: list[dict[str, Any]], axes: Axes) -> None:
    """Share against separation."""
    times = [one["separation_ms"] for one in figures]
    axes.semilogx(times, [one["share"] for one in figures], "o-", label="50/s, even")
    axes.semilogx(times, [one["share_sparse"] for one in figures], "s-", label="sparse")
    axes.semilogx(list(PAPER), list(PAPER.values()), "k--", label="paper")
    axes.set(xlabel="separation, ms", ylabel="filtered / received", title="Figure 9")
    axes.legend()


PART: Final = Part("filtered", measure, show, draw)
