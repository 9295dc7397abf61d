"""``evenflow experiment skew``: all balancing algorithms on the same uneven loads.

The papers balance by number of slices and leave uneven slices and uneven nodes as future work
(MAPE-SDDL, section VIII). Here every algorithm gets the same slices with Zipf loads (exponent
1.0), dealt out evenly by number:

- ``equal``: five equal nodes; no slice alone is larger than a node's share;
- ``giants``: twenty equal nodes; several slices are larger than a share, so no placement is
  even;
- ``unequal``: eight nodes of strengths 1, 2 and 4, which have to be learned;
- ``overload``: five equal nodes, one of which is asked for more than it can do; beside it
  ``weighted`` as it would go by the items that are processed, not by those that arrive;
- ``drift``: five equal nodes; every load swings by half and wanders, and is measured with an
  error of 2 %.

A last table has the real CPU time of one plan for 10,000 slices on 1,000 nodes: the worst of slices
dealt evenly, all on one node, and every tenth node leaving.

**All else is a simulation in virtual time** (:mod:`evenflow_experiments.balance.cluster_model`):
the algorithms, the learning and the timing of their decisions are those of the balancer; nodes,
handover and network are not run. The experiment ``throughput`` runs real ones.

The row ``optimum`` is a proven lower bound (:mod:`evenflow_experiments.balance.bounds`); the
placement made from nothing that is named beside it shows how close to the truth the bound is.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass, replace
from random import Random
from statistics import fmean
from time import process_time
from typing import TYPE_CHECKING

import rich_click as click
from matplotlib.figure import Figure

from evenflow.balance import ALGORITHMS, algorithm_named
from evenflow.balance.load_outlook import OutlookLearner
from evenflow.testing.sample_clusters import zipf_cluster
from evenflow_experiments.balance.bounds import least_strain, strain_from_nothing
from evenflow_experiments.balance.cluster_model import Outcome, Simulation
from evenflow_experiments.balance.skew_scenarios import (
    SWING_S,
    TOLERANCE,
    TOTAL,
    Scenario,
    scenarios,
)
from evenflow_experiments.options import Given, experiment
from evenflow_experiments.report import Progress, print_table, write_json, write_plot

if TYPE_CHECKING:
    from collections.abc import Mapping


BY_PROCESSED = "weighted (processed)"

HELP = """\
Every balancing algorithm on the same slices with Zipf loads: equal nodes, slices larger than a
node's share, unequal nodes, an overloaded node, drifting loads. Shows how even each algorithm gets,
what it moves for that and how long it takes, beside a proven bound. A simulation in virtual time of
the decisions; no nodes are started."""


@dataclass(frozen=True, slots=True)
class Row:
    """What one algorithm did in one scenario."""

    scenario: str
    algorithm: str
    max_over_mean: float
    """Highest load per strength over the mean: at the end; under drift mean of the second half."""
    moved_load_percent: float | None = None
    """Load moved, of all load."""
    plans: int | None = None
    converged_s: float | None = None
    """Seconds until within the tolerance (or 2 % of the bound) for good; none under drift."""
    moved_slices: int | None = None
    moved_over_excess: float | None = None
    """Load moved, over the load that lay above the tolerance at the start; none under drift."""
    returns: int | None = None
    """How often a slice went straight back to the node it came from."""
    nodes_at_work: int | None = None
    time_above_percent: float | None = None
    """Part of the time in which some node was above the tolerance; only under drift."""


@experiment("skew", HELP)
@click.option("--slices", metavar="N", type=int, default=1000, help="how many slices (1000)")
@click.option("--seed", metavar="N", type=int, default=1, help="of loads and deal (1)")
def skew(given: Given, slices: int, seed: int) -> int:
    """Run every algorithm in every scenario; returns 1 if what is promised does not hold."""
    progress = Progress("skew")
    rows: list[Row] = []
    courses: dict[str, list[tuple[float, float]]] = {}
    for scenario in scenarios(slices, seed, quick=given.quick):
        rows.append(bound_row(scenario))
        rows.append(from_nothing_row(scenario))
        if scenario.name == "overload":
            done = simulate(scenario, "weighted", seed, sees_arrivals=False)
            rows.append(row_of(scenario, BY_PROCESSED, done))
        for name in ALGORITHMS:
            outcome = simulate(scenario, name, seed)
            rows.append(row_of(scenario, name, outcome))
            if scenario.name == "drift":
                courses[name] = outcome.strains
                courses["optimum (bound)"] = [
                    (time, bound_at(scenario, time)) for time, _ in outcome.strains
                ]
        progress(f"{scenario.name}: {len(ALGORITHMS)} algorithms done")
    times = {name: planning_s(name, seed) for name in ALGORITHMS}
    promises = {**check(rows), "every plan for 10,000 slices in 1 s": max(times.values()) < 1.0}
    report(rows, times, promises)
    figures = {"rows": [asdict(row) for row in rows], "planning_s": times, "promises": promises}
    write_json(given.json, figures)
    if given.plot is not None:
        write_plot(given.plot, plot(rows, courses))
    return 0 if all(promises.values()) else 1


def simulate(
    scenario: Scenario, algorithm: str, seed: int, *, sees_arrivals: bool = True
) -> Outcome:
    """Run one algorithm in one scenario."""
    random = Random(seed)
    simulation = Simulation(
        algorithm_named(algorithm),
        scenario.start,
        scenario.loads,
        noise=lambda: 1.0 + random.gauss(0.0, scenario.noise) if scenario.noise else 1.0,
        outlooks=_learner(scenario) if algorithm == "forecast" else None,
        sees_arrivals=sees_arrivals,
    )
    return simulation.run(scenario.duration_s)


def _learner(scenario: Scenario) -> OutlookLearner:
    return OutlookLearner(period_s=SWING_S if scenario.name == "drift" else 0.0)


def planning_s(algorithm: str, seed: int) -> float:
    """CPU seconds for one plan for 10,000 slices on 1,000 nodes, the worst of three clusters."""
    spread = zipf_cluster(seed, nodes=1000, slices=10_000)
    heaped = replace(spread, slices=tuple(replace(s, owner="node-0000") for s in spread.slices))
    leaving = tuple(replace(n, leaving=at % 10 == 0) for at, n in enumerate(spread.nodes))
    worst = 0.0
    for snapshot in (spread, heaped, replace(spread, nodes=leaving)):
        started = process_time()
        algorithm_named(algorithm).analyze_load(snapshot)
        worst = max(worst, process_time() - started)
    return worst


def row_of(scenario: Scenario, algorithm: str, outcome: Outcome) -> Row:
    """The figures of one run."""
    drift = scenario.name == "drift"
    strains = [strain for _, strain in outcome.strains]
    late = strains[len(strains) // 2 :]
    limit = max(1 + TOLERANCE, 1.02 * bound_row(scenario).max_over_mean) + 1e-3
    return Row(
        scenario.name,
        algorithm,
        fmean(late) if drift else strains[-1],
        100.0 * outcome.moved / TOTAL,
        outcome.plans,
        None if drift else outcome.settled_at(limit),
        outcome.moves,
        None if drift else outcome.moved / scenario.above_tolerance(),
        outcome.returns,
        len(set(outcome.owners.values())),
        100.0 * fmean(strain > limit for strain in late) if drift else None,
    )


def bound_row(scenario: Scenario) -> Row:
    """What no placement can go below."""
    values = [bound_at(scenario, time) for time in scenario.times()]
    return Row(scenario.name, "optimum (bound)", fmean(values))


def bound_at(scenario: Scenario, time: float) -> float:
    """The bound at one moment."""
    loads = scenario.loads(time)
    return least_strain(loads.values(), scenario.strengths.values()) / scenario.mean(loads)


def from_nothing_row(scenario: Scenario) -> Row:
    """A placement made from nothing, whatever it would move."""
    values = [
        strain_from_nothing(list(loads.values()), scenario.strengths) / scenario.mean(loads)
        for loads in map(scenario.loads, scenario.times())
    ]
    return Row(scenario.name, "from nothing", fmean(values))


def check(rows: list[Row]) -> dict[str, bool]:
    """What the algorithms promise, and whether it holds."""
    found = {(row.scenario, row.algorithm): row for row in rows}

    def even(scenario: str, algorithm: str) -> bool:
        bound = found[scenario, "optimum (bound)"].max_over_mean
        limit = max(1 + TOLERANCE, 1.02 * bound) * 1.0001
        return found[scenario, algorithm].max_over_mean <= limit

    def cheap(scenario: str, algorithm: str) -> bool:
        return (found[scenario, algorithm].moved_over_excess or 0.0) <= 1.3

    return {
        "weighted is even on equal nodes": even("equal", "weighted"),
        "weighted is even with giants": even("giants", "weighted"),
        "weighted moves at most 1.3 x the excess": cheap("equal", "weighted")
        and cheap("giants", "weighted"),
        "count is not even": not even("equal", "count") and not even("giants", "count"),
        "capacity is even on unequal nodes": even("unequal", "capacity"),
        "capacity moves at most 1.3 x the excess": cheap("unequal", "capacity"),
        "weighted is even after an overload": even("overload", "weighted"),
        "what arrives tells more than what is processed": (
            (found["overload", "weighted"].plans or 0)
            < (found["overload", BY_PROCESSED].plans or 0)
        ),
        "no slice moves to and fro under drift": not any(
            found["drift", name].returns for name in ("weighted", "capacity", "forecast")
        ),
    }


COLUMNS = {
    "algorithm": "algorithm",
    "max_over_mean": "max/mean",
    "moved_load_percent": "moved load %",
    "moved_over_excess": "moved/excess",
    "moved_slices": "slices",
    "plans": "plans",
    "converged_s": "converged s",
    "time_above_percent": "time above %",
    "returns": "returns",
    "nodes_at_work": "at work",
}


def report(rows: list[Row], times: Mapping[str, float], promises: Mapping[str, bool]) -> None:
    """Print a table for each scenario, then the promises."""
    for scenario in dict.fromkeys(row.scenario for row in rows):
        shown = [asdict(row) for row in rows if row.scenario == scenario]
        used = {
            key: title
            for key, title in COLUMNS.items()
            if any(row[key] is not None for row in shown)
        }
        table = [[row[key] for key in used] for row in shown]
        print_table(f"{scenario} (simulated)", list(used.values()), table)
    print_table(
        "10,000 slices on 1,000 nodes", ("algorithm", "CPU s for a plan"), list(times.items())
    )
    for promise, holds in promises.items():
        print(f"{'yes' if holds else 'NO '}  {promise}")


def plot(rows: list[Row], courses: dict[str, list[tuple[float, float]]]) -> Figure:
    """Bars for the steady scenarios, lines for the drift."""
    figure = Figure(figsize=(12, 8))
    for place, scenario in enumerate(("equal", "giants", "unequal"), start=1):
        axes = figure.add_subplot(2, 3, place)
        shown = [row for row in rows if row.scenario == scenario]
        axes.bar([row.algorithm for row in shown], [row.max_over_mean for row in shown])
        axes.set_title(f"{scenario}: highest load / mean")
        axes.tick_params(axis="x", rotation=60)
    axes = figure.add_subplot(2, 1, 2)
    for name, course in courses.items():
        if name != "saver":  # it loads few nodes on purpose
            axes.plot(*zip(*course, strict=True), label=name)
    axes.set(title="drift", xlabel="virtual time (s)", ylabel="highest load / mean")
    axes.legend()
    figure.suptitle("Balancing algorithms on Zipf loads (simulation in virtual time)")
    figure.tight_layout()
    return figure
