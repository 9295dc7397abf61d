"""``evenflow experiment codec``: what the codec and the batches are worth.

One process writes items, another reads and checks them, over DDS on this machine: with Cyclone's
stock Python codec, with ours one item at a time, and with ours in columnar batches. Stock and ours
one by one send the same samples, byte for byte; a row with the simplest possible struct shows the
stock codec at its best. Batches are encoded from columns, as they come from a file or a table.

The rows are measured in turn, round after round, so that whatever else the machine does hits all of
them alike; a row's figure is the median of its rounds. A rate counts the time from the first write
until the reader has looked at the last item.
"""

from __future__ import annotations

import multiprocessing
from contextlib import contextmanager
from statistics import median
from typing import TYPE_CHECKING, Any, Final

import rich_click as click

from evenflow.errors import ExperimentError
from evenflow_experiments.options import Given, experiment
from evenflow_experiments.report import Progress, own_domain, print_table, write_json, write_plot
from evenflow_experiments.slices.codec_ends import (
    DEADLINE_S,
    OURS,
    PLAIN,
    STOCK,
    Row,
    Run,
    serve_reader,
    serve_writer,
)

if TYPE_CHECKING:
    from collections.abc import Iterator
    from multiprocessing.connection import Connection
    from pathlib import Path

    from evenflow.config import Config

HELP = """\
Items per second between two processes over DDS, at 100 B and 8 kB: Cyclone's stock Python codec,
ours one item at a time, and ours in batches of 10, 100 and 1,000."""

SIZES: Final = (100, 8_000)
BATCHES: Final = (1, 10, 100, 1_000)
LEAST_SAMPLES: Final = 20


@experiment("codec", HELP)
@click.option(
    "--rounds", metavar="N", type=int, default=0, help="rounds over all rows (9; quick: 5)"
)
def codec(given: Given, rounds: int) -> int:
    """Measure all rows and report."""
    progress = Progress("codec")
    rounds = rounds or (5 if given.quick else 9)
    seconds = 0.3 if given.quick else 0.8
    config = given.config({"domain.id": own_domain()})
    with two_ends(config) as ends:
        bench = Bench(*ends)
        for row in ROWS:
            bench.measure(row, LEAST_SAMPLES * row.batch)
        rates: dict[Row, list[float]] = {row: [] for row in ROWS}
        guess = {row: bench.measure(row, 5 * LEAST_SAMPLES * row.batch) for row in ROWS}
        for number in range(rounds):
            progress(f"round {number + 1} of {rounds}, {len(ROWS)} rows")
            for row in ROWS:
                rates[row].append(bench.measure(row, int(guess[row] * seconds)))
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
    )
)


class Bench:
    """Orders runs from both ends, numbers the items, and keeps count of what went wrong."""

    def __init__(self, writer: Connection, reader: Connection) -> None:
        self.lost = 0
        self.repeated = 0
        self._writer = writer
        self._reader = reader
        self._next = 1

    def measure(self, row: Row, count: int) -> float:
        """Send about ``count`` items of a row; return how many were received per second."""
        samples = max(LEAST_SAMPLES, count // row.batch)
        order = Run(row, self._next, samples * row.batch)
        self._next += order.count
        self._reader.send(order)
        _answer(self._reader)
        self._writer.send(order)
        start = _answer(self._writer)
        end, lost, repeated = _answer(self._reader)
        self.lost += lost
        self.repeated += repeated
        return order.count / float(end - start)


@contextmanager
def two_ends(config: Config) -> Iterator[tuple[Connection, Connection]]:
    """Start both processes and end them; yield the pipes to the writer and to the reader."""
    context = multiprocessing.get_context("spawn")
    processes, pipes = [], []
    try:
        for serve in (serve_writer, serve_reader):
            pipe, far = context.Pipe()
            process = context.Process(target=serve, args=(config.domain, far), daemon=True)
            process.start()
            far.close()
            processes.append(process)
            pipes.append(pipe)
        for pipe in pipes:
            _answer(pipe)
        yield pipes[0], pipes[1]
        for pipe in pipes:
            pipe.send(None)
        for process in processes:
            process.join(DEADLINE_S)
    finally:
        for process in processes:
            process.kill()


def _answer(pipe: Connection) -> Any:
    try:
        if pipe.poll(2 * DEADLINE_S):
            return pipe.recv()
    except EOFError:
        raise ExperimentError("codec", "one of its processes died; its error is above") from None
    raise ExperimentError("codec", f"one of its processes said nothing for {2 * DEADLINE_S:g} s")


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
        "Items between two processes over DDS",
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
