"""``evenflow experiment codec``: what the codec and the batches are worth.

One process writes items, another reads and checks them, over DDS on this machine: with Cyclone's
stock Python codec, with ours one item at a time, and with ours in columnar batches. Stock and ours
one by one send the same samples, byte for byte; a row with the simplest possible struct shows the
stock codec at its best. Batches are encoded from columns, as they come from a file or a table.

That is the codec alone. What the product makes of it is measured in the same unit: items that a
real publisher publishes one by one, many at once or as columns, until a real node has processed and
committed them (:mod:`evenflow_experiments.slices.codec_publish`).

The rows are measured in turn, round after round, so that whatever else the machine does hits all of
them alike; a row's figure is the median of its rounds. A rate counts the time from the first write
until the reader has looked at the last item, or the publisher knows that it is committed.
"""

from __future__ import annotations

from contextlib import ExitStack
from statistics import median
from typing import TYPE_CHECKING, Any, Final

import rich_click as click

from evenflow_experiments.options import Given, experiment
from evenflow_experiments.report import Progress, own_domain, print_table, write_json, write_plot
from evenflow_experiments.slices.codec_ends import (
    OURS,
    PLAIN,
    STOCK,
    Row,
    Run,
    serve_reader,
    serve_writer,
)
from evenflow_experiments.slices.codec_publish import SETTINGS, WAYS, Published, ratios_to
from evenflow_experiments.slices.helper import Helper

if TYPE_CHECKING:
    from pathlib import Path

    from evenflow.config import Config

HELP = """\
Items per second between two processes over DDS, at 100 B and 8 kB: Cyclone's stock Python codec,
ours one item at a time, and ours in batches of 10, 100 and 1,000; and of a real publisher, from
publish to committed."""

SIZES: Final = (100, 8_000)
BATCHES: Final = (1, 10, 100, 1_000)
LEAST_SAMPLES: Final = 20
CODEC_S, QUICK_CODEC_S = 0.8, 0.3
"""How long a run of the codec alone takes."""
PUBLISH_S, QUICK_PUBLISH_S = 2.0, 0.5
"""How long a run of a publisher takes: longer, because it includes the last commit."""


@experiment("codec", HELP)
@click.option(
    "--rounds", metavar="N", type=int, default=0, help="rounds over all rows (9; quick: 5)"
)
def codec(given: Given, rounds: int) -> int:
    """Measure all rows and report."""
    progress = Progress("codec")
    rounds = rounds or (5 if given.quick else 9)
    seconds = {True: PUBLISH_S, False: CODEC_S}
    if given.quick:
        seconds = {True: QUICK_PUBLISH_S, False: QUICK_CODEC_S}
    config = given.config({"domain.id": own_domain(), **SETTINGS})
    with ExitStack() as stack:
        bench = Bench(config, stack)
        rates: dict[Row, list[float]] = {row: [] for row in ROWS}
        guess = {row: bench.guess(row, seconds[row.codec in WAYS]) for row in ROWS}
        for number in range(rounds):
            progress(f"round {number + 1} of {rounds}, {len(ROWS)} rows")
            for row in ROWS:
                count = int(guess[row] * seconds[row.codec in WAYS])
                rates[row].append(bench.measure(row, count))
        bench.audit()
    figures = figures_of({row: median(found) for row, found in rates.items()})
    figures |= {"lost": bench.lost, "repeated": bench.repeated}
    show(figures)
    write_json(given.json, figures)
    if given.plot:
        plot(given.plot, figures["rows"])
    return 1 if bench.lost or bench.repeated else 0


ROWS: Final = tuple(
    row
    for octets in SIZES
    for row in (
        Row(PLAIN, octets, 1),
        Row(STOCK, octets, 1),
        *(Row(OURS, octets, batch) for batch in BATCHES),
        *(Row(way, octets, batch) for way, batch in WAYS.items()),
    )
)


class Bench:
    """Orders runs, numbers the items, and keeps count of what went wrong.

    Args:
        config: The configuration of all processes.
        stack: Ends the processes.
    """

    def __init__(self, config: Config, stack: ExitStack) -> None:
        self.lost = 0
        self.repeated = 0
        self._next = 1
        self._published = stack.enter_context(Published(config))
        ends = [
            stack.enter_context(Helper("codec", serve, config.domain))
            for serve in (serve_writer, serve_reader)
        ]
        for end in ends:
            end.answer()
        self._writer, self._reader = ends

    def guess(self, row: Row, seconds: float) -> float:
        """Run a row until everything is warm; return about how many are received per second."""
        if row.codec in WAYS:
            return self._published.guess(row, seconds)
        self.measure(row, LEAST_SAMPLES * row.batch)
        return self.measure(row, 5 * LEAST_SAMPLES * row.batch)

    def measure(self, row: Row, count: int) -> float:
        """Send about ``count`` items of a row; return how many were received per second."""
        if row.codec in WAYS:
            return self._published.measure(row, count)
        samples = max(LEAST_SAMPLES, count // row.batch)
        order = Run(row, self._next, samples * row.batch)
        self._next += order.count
        self._reader.ask(order)
        start = self._writer.ask(order)
        end, lost, repeated = self._reader.answer()
        self.lost += lost
        self.repeated += repeated
        return order.count / float(end - start)

    def audit(self) -> None:
        """Count in what the node has lost and repeated."""
        lost, repeated = self._published.audit()
        self.lost += lost
        self.repeated += repeated


def figures_of(rates: dict[Row, float]) -> dict[str, Any]:
    """Return the rows as JSON has them, and the ratios that the design promises."""
    rows = [
        {
            "codec": row.codec,
            "bytes": row.octets,
            "batch": row.batch,
            "items_per_s": round(rate),
            "mb_per_s": round(rate * row.octets / 1e6, 2),
        }
        for row, rate in rates.items()
    ]
    ratios = {
        str(octets): {
            "one_by_one_to_stock": _ratio(rates, Row(OURS, octets, 1), Row(STOCK, octets, 1)),
            "one_by_one_to_plain": _ratio(rates, Row(OURS, octets, 1), Row(PLAIN, octets, 1)),
            "batch_1000_to_one_by_one": _ratio(
                rates, Row(OURS, octets, 1_000), Row(OURS, octets, 1)
            ),
            **ratios_to(rates, Row(STOCK, octets, 1)),
        }
        for octets in SIZES
    }
    return {"rows": rows, "ratios": ratios}


def _ratio(rates: dict[Row, float], row: Row, other: Row) -> float:
    return round(rates[row] / rates[other], 2)


def show(figures: dict[str, Any]) -> None:
    """Print the rows, each beside the stock codec and beside ours one by one."""
    base = {
        (row["codec"], row["bytes"], row["batch"]): row["items_per_s"] for row in figures["rows"]
    }
    print_table(
        "Items between two processes over DDS; publish...: until they are committed",
        ("codec", "bytes", "batch", "items/s", "MB/s", "x stock", "x one by one"),
        [
            (
                row["codec"],
                row["bytes"],
                row["batch"],
                row["items_per_s"],
                row["mb_per_s"],
                row["items_per_s"] / base[STOCK, row["bytes"], 1],
                row["items_per_s"] / base[OURS, row["bytes"], 1],
            )
            for row in figures["rows"]
        ],
        note=f"{figures['lost']} lost, {figures['repeated']} repeated; medians of the rounds",
    )


def plot(path: Path, rows: list[dict[str, Any]]) -> None:
    """Draw the rates, one group of bars for each size."""
    from matplotlib.figure import Figure  # noqa: PLC0415 - slow to import, seldom needed

    figure = Figure(figsize=(8, 4))
    for place, octets in enumerate(SIZES, start=1):
        mine = [row for row in rows if row["bytes"] == octets]
        axes = figure.add_subplot(1, len(SIZES), place)
        names = [f"{row['codec']}\nx {row['batch']}" for row in mine]
        axes.barh(names, [row["items_per_s"] for row in mine])
        axes.set_xscale("log")
        axes.invert_yaxis()
        axes.set_title(f"{octets} B")
        axes.set_xlabel("items/s")
    figure.tight_layout()
    write_plot(path, figure)
