"""``evenflow experiment overlay``: the experiments of the SeDAX load balancing paper, and beyond.

Every table and figure of the paper's sections VII and VIII, run anew by our simulation, with the
paper's figures beside ours; our own selections and rules (``better``); the speed and size of a run
(``scale``); what selections cost in messages (``messages``), and what the paper's rule for a
returning primary would save (``returns``). The repetitions and the parameter grid are spread over
Spark.

What the paper leaves open are options, and the defaults are the readings that reproduce it; see
docs/overlay.md.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import rich_click as click

from evenflow.cli.values import COUNT
from evenflow_experiments.options import Given, experiment
from evenflow_experiments.report import Progress, print_table, write_json, write_plot
from evenflow_experiments.sedax.costs.messages import rows as message_rows
from evenflow_experiments.sedax.costs.returns import holders
from evenflow_experiments.sedax.engine import engine_named
from evenflow_experiments.sedax.filling import Filled, derived, figures, fill
from evenflow_experiments.sedax.plots import plot
from evenflow_experiments.sedax.printing import print_rows
from evenflow_experiments.sedax.scale import measure
from evenflow_experiments.sedax.simulation import Ties
from evenflow_experiments.sedax.statistics import Reading
from evenflow_experiments.sedax.tables import TABLES, Readings, Table

if TYPE_CHECKING:
    from collections.abc import Sequence

HELP = """\
The tables and figures of the SeDAX load balancing paper (Hoefling et al.), simulated anew with the
paper's figures beside ours; our own coordinate selections and balancing rules; speed and scale.
Runs are spread over Spark. The defaults are the readings that reproduce the paper."""

SCALE = "scale"
MESSAGES = "messages"
RETURNS = "returns"
ASIDE = {
    SCALE: "Time and memory of a run",
    MESSAGES: "Messages and loads of each selection",
    RETURNS: "Who would keep what came while a primary was away",
}
"""Tables of their own: no runs on Spark, and not among all."""
QUICK_RUNS = 2
OPEN = "Readings of what the paper leaves open"


@dataclass(frozen=True, slots=True)
class Effort:
    """How often and where the runs happen."""

    runs: int | None
    """Repetitions; None for those of the table, or the few of a quick look."""
    engine: str | None
    master: str
    quick: bool

    def runs_of(self, table: Table) -> int:
        """How often the rows of a table are run."""
        chosen = self.runs or (QUICK_RUNS if self.quick else table.runs)
        return 1 if table.runs == 1 else chosen


@experiment("overlay", HELP)
@click.option(
    "--table", metavar="NAME", type=click.Choice([*TABLES, *ASIDE, "all"]), default="all",
    help=f"what to run: {', '.join((*TABLES, *ASIDE))}, or all but the last three (all)",
)  # fmt: skip
@click.option(
    "--runs",
    metavar="N",
    type=COUNT,
    help="repetitions (100; better: 30, fig7: 1, with --quick 2)",
)
@click.option(
    "--engine",
    type=click.Choice(["spark", "local"]),
    help="where the runs happen (spark; local with --quick or without PySpark and Java)",
)
@click.option(
    "--master", metavar="URL", default="local[*]", help="Spark cluster of the runs (local[*])"
)
@click.option(
    "--quantile",
    type=click.Choice([one.value for one in Reading]),
    default=Reading.RUN.value,
    panel=OPEN,
    help="of a run and averaged, the same interpolated, or of all runs pooled (run)",
)
@click.option(
    "--ties",
    type=click.Choice([one.value for one in Ties]),
    default=Ties.FIRST.value,
    panel=OPEN,
    help="(first)",
)
@click.option(
    "--own-cell",
    type=click.Choice(["counts", "apart"]),
    default="counts",
    panel=OPEN,
    help="whether the delegating node's own cell is one of the queries (counts)",
)
@click.option(
    "--growth-order",
    type=click.Choice(["addition", "random"]),
    default="addition",
    panel=OPEN,
    help="how growth rates are given to topics (addition)",
)
@click.option("--nodes", metavar="N", type=int, default=10_000, help="for scale (10000)")
@click.option("--topics", metavar="N", type=int, default=1_000_000, help="for scale (1000000)")
def overlay(
    given: Given, table: str, runs: int | None, engine: str | None, master: str, quantile: str,
    ties: str, own_cell: str, growth_order: str, nodes: int, topics: int,
) -> int:  # fmt: skip
    """Run the tables asked for; returns 1 if equation 11 was ever violated."""
    progress = Progress("overlay")
    if table in ASIDE:
        rows = _aside(table, nodes, topics, progress, quick=given.quick)
        print_rows(ASIDE[table], rows)
        write_json(given.json, {"table": table, "rows": rows})
        return 0
    readings = Readings(Ties(ties), own_cell == "counts", growth_order == "random")
    reading = Reading(quantile)
    names = list(TABLES) if table == "all" else [table]
    filled = _run_tables(names, readings, Effort(runs, engine, master, given.quick), progress)
    rows = []
    for name in names:
        found = [{"table": name, **figures(row, reading)} for row in filled[name]]
        print_rows(TABLES[name].title, found)
        rows.extend(found)
        if given.plot is not None:
            path = given.plot
            path = path if len(names) == 1 else path.with_stem(f"{path.stem}-{name}")
            write_plot(path, plot(name, TABLES[name].title, filled[name], reading))
    text = derived(rows)
    if text:
        lines = [[row["what"], row["ours"], row["paper"]] for row in text]
        print_table("What the paper's text derives", ["", "ours", "paper"], lines)
    write_json(given.json, {"table": table, "rows": rows, "derived": text})
    return int(any(row.get("violations") for row in rows))


def _aside(
    table: str, nodes: int, topics: int, progress: Progress, *, quick: bool
) -> list[dict[str, Any]]:
    runs = QUICK_RUNS if quick else 30
    if table == MESSAGES:
        return list(message_rows((10, 30) if quick else (10, 100), runs, progress))
    if table == RETURNS:
        return [holders(count, runs) for count in (10, 100)]
    return measure(nodes, topics, progress, quick=quick)


def _run_tables(
    names: Sequence[str], readings: Readings, effort: Effort, progress: Progress
) -> dict[str, list[Filled]]:
    # Starting Spark takes longer than the few runs of a quick look.
    engine = engine_named(effort.engine or ("local" if effort.quick else None), effort.master)
    wanted = [
        (row, effort.runs_of(TABLES[name])) for name in names for row in TABLES[name].rows(readings)
    ]
    progress(f"{len(wanted)} rows, engine {engine.name}, {os.cpu_count()} cores here")
    filled = iter(fill(wanted, engine))
    progress("all runs done")
    return {name: [next(filled) for _ in TABLES[name].rows(readings)] for name in names}
