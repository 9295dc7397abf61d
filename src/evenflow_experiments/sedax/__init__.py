"""``evenflow experiment overlay``: the experiments of the SeDAX load balancing paper, and beyond.

Every table and figure of the paper's sections VII and VIII, run anew by our simulation, with the
paper's figures beside ours; our own selections and rules (``better``); and the speed and size of a
run (``scale``). The repetitions and the parameter grid are spread over Spark.

What the paper leaves open are options, and the defaults are the readings that reproduce it; see
docs/overlay.md.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from evenflow.errors import ExperimentError
from evenflow_experiments.report import Progress, write_json, write_plot
from evenflow_experiments.sedax.engine import engine_named
from evenflow_experiments.sedax.filling import Filled, figures, fill
from evenflow_experiments.sedax.plots import plot
from evenflow_experiments.sedax.printing import print_rows
from evenflow_experiments.sedax.scale import measure
from evenflow_experiments.sedax.simulation import Ties
from evenflow_experiments.sedax.statistics import Reading
from evenflow_experiments.sedax.tables import TABLES, Readings, Table

if TYPE_CHECKING:
    import argparse
    from collections.abc import Sequence

HELP = """\
The tables and figures of the SeDAX load balancing paper (Hoefling et al.), simulated anew with the
paper's figures beside ours; our own coordinate selections and balancing rules; speed and scale.
Runs are spread over Spark. The defaults are the readings that reproduce the paper."""

SCALE = "scale"
QUICK_RUNS = 2


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the experiment's own arguments."""
    parser.add_argument(
        "--table",
        choices=[*TABLES, SCALE, "all"],
        default="all",
        help="what to run; all is everything but scale (%(default)s)",
    )
    parser.add_argument(
        "--runs", type=int, help="repetitions (100; better: 30, fig7: 1, with --quick 2)"
    )
    parser.add_argument(
        "--engine",
        choices=["spark", "local"],
        help="where the runs happen (spark; local with --quick or without PySpark and Java)",
    )
    parser.add_argument(
        "--master", default="local[*]", help="Spark cluster that does the runs (%(default)s)"
    )
    reading = parser.add_argument_group("readings of what the paper leaves open")
    reading.add_argument(
        "--quantile",
        type=Reading,
        choices=list(Reading),
        default=Reading.RUN,
        help="of a run and averaged, the same interpolated, or of all runs pooled (%(default)s)",
    )
    reading.add_argument(
        "--ties", type=Ties, choices=list(Ties), default=Ties.FIRST, help="(%(default)s)"
    )
    reading.add_argument(
        "--own-cell",
        choices=["counts", "apart"],
        default="counts",
        help="whether the delegating node's own cell is one of the queries (%(default)s)",
    )
    reading.add_argument(
        "--growth-order",
        choices=["addition", "random"],
        default="addition",
        help="how growth rates are given to topics (%(default)s)",
    )
    scale = parser.add_argument_group("for --table scale")
    scale.add_argument("--nodes", type=int, default=10_000, help="(%(default)s)")
    scale.add_argument("--topics", type=int, default=1_000_000, help="(%(default)s)")


def run(args: argparse.Namespace) -> int:
    """Run the tables asked for; returns 1 if equation 11 was ever violated."""
    progress = Progress("overlay")
    if args.table == SCALE:
        rows = measure(args.nodes, args.topics, progress, quick=args.quick)
        print_rows("Time and memory of a run", rows)
        write_json(args.json, {"table": SCALE, "rows": rows})
        return 0
    if args.runs is not None and args.runs < 1:
        raise ExperimentError("overlay", f"--runs {args.runs}: at least one run is needed")
    readings = Readings(args.ties, args.own_cell == "counts", args.growth_order == "random")
    names = list(TABLES) if args.table == "all" else [args.table]
    filled = _run_tables(names, readings, args, progress)
    rows = []
    for name in names:
        found = [{"table": name, **figures(row, args.quantile)} for row in filled[name]]
        print_rows(TABLES[name].title, found)
        rows.extend(found)
        if args.plot is not None:
            path = args.plot if len(names) == 1 else args.plot.with_stem(f"{args.plot.stem}-{name}")
            write_plot(path, plot(name, TABLES[name].title, filled[name], args.quantile))
    write_json(args.json, {"table": args.table, "rows": rows})
    return int(any(row.get("violations") for row in rows))


def _run_tables(
    names: Sequence[str], readings: Readings, args: argparse.Namespace, progress: Progress
) -> dict[str, list[Filled]]:
    # Starting Spark takes longer than the few runs of a quick look.
    engine = engine_named(args.engine or ("local" if args.quick else None), args.master)
    wanted = [
        (row, _runs(TABLES[name], args)) for name in names for row in TABLES[name].rows(readings)
    ]
    progress(f"{len(wanted)} rows, engine {engine.name}, {os.cpu_count()} cores here")
    filled = iter(fill(wanted, engine))
    progress("all runs done")
    return {name: [next(filled) for _ in TABLES[name].rows(readings)] for name in names}


def _runs(table: Table, args: argparse.Namespace) -> int:
    chosen: int = args.runs or (QUICK_RUNS if args.quick else table.runs)
    return 1 if table.runs == 1 else chosen
