"""What the throughput experiment saw, as the paper's figures: per second, and around each join."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from evenflow_experiments.derived import around_joins
from evenflow_experiments.slices.throughput.growth import Growth, growth_rows, growths
from evenflow_experiments.slices.throughput.landmarks import (
    FLOODED_S,
    PAPER_RATES,
    PAPER_RISE_S,
    Landmark,
    as_rows,
    landmarks,
    speedups,
)

if TYPE_CHECKING:
    from evenflow.model.batch import Int64s
    from evenflow.model.messages import Receipt

PAPER_TABLE: dict[str, dict[str, tuple[float, ...]]] = {
    "rtd_s": {"before": (10.61, 11.159, 12.335, 12.856), "during": (11.115, 11.944, 12.145, 12.652),
              "after": (6.94, 8.856, 9.838, 10.227)},
    "throughput": {"before": (48, 83, 142, 189), "during": (40, 72, 143, 180),
                   "after": (68, 100, 195, 231)},
}  # fmt: skip
"""Table I of MAPE-SDDL, for the second to the fifth node."""
AROUND_S = 3.0
"""How long before and after a load balancing process is looked at."""
WARM = 0.2
"""Part of the first two phases that is left out at their beginning; the paper says what of the
third."""


@dataclass(frozen=True, slots=True)
class Run:
    """Everything that was seen."""

    joins: tuple[float, ...]
    rise: float
    end: float
    share: float
    image_bytes: int
    wall: float
    """When the client began, in seconds since 1970."""
    published: int
    processed: Int64s
    """The ids of what the nodes have processed."""
    replies: Int64s
    """Rows of id, times published and answered, in us since 1970, and CPU time in us."""
    cpu: list[list[float]]
    """For each second, of each node that has joined: percent of its share."""
    receipts: list[Receipt]

    def throughput(self, start: float, end: float) -> float:
        """Replies a second between two moments of the story."""
        return len(self._between(start, end)) / (end - start)

    def rtd_s(self, start: float, end: float) -> float | None:
        """Mean round-trip delay of what was answered between two moments."""
        rows = self._between(start, end)
        return float(np.mean(rows[:, 2] - rows[:, 1]) / 1e6) if len(rows) else None

    def image_ms(self, start: float, end: float) -> float | None:
        """Mean CPU time of an image that was answered between two moments."""
        rows = self._between(start, end)
        return float(np.mean(rows[:, 3]) / 1000) if len(rows) else None

    def _between(self, start: float, end: float) -> Int64s:
        at = self.replies[:, 2] / 1e6 - self.wall
        chosen: Int64s = self.replies[(at >= start) & (at < end)]
        return chosen


def summary(run: Run) -> dict[str, Any]:
    """The figures."""
    seconds = range(int(run.end))
    last = run.joins[-1]
    phases = {
        "1_node": (WARM * run.joins[0], run.joins[0]),
        "5_nodes": (last + WARM * (run.rise - last), run.rise),
        "5_nodes_flooded": (run.rise * FLOODED_S / PAPER_RISE_S, run.end),
    }
    one, five, flooded = (run.throughput(*span) for span in phases.values())
    costs = {name: run.image_ms(*span) for name, span in phases.items()}
    unique = len(np.unique(run.processed))
    joins = [around(run, join) for join in run.joins]
    marks = landmarks_of(run)
    means = dict(zip(PAPER_RATES, (five, flooded, marks[4].ours), strict=True))
    return {
        "speedup_5_nodes": round(five / one, 2) if one else None,
        "speedup_5_nodes_flooded": round(flooded / one, 2) if one else None,
        "cpu_speedup_5_nodes": _cpu_speedup(five, costs["5_nodes"], one, costs["1_node"]),
        "cpu_speedup_5_nodes_flooded": _cpu_speedup(
            flooded, costs["5_nodes_flooded"], one, costs["1_node"]
        ),
        "lost": run.published - unique,
        "repeated": len(run.processed) - unique,
        "unanswered": run.published - len(np.unique(run.replies[:, 0])),
        "published": run.published,
        "image_ms": {name: _rounded(cost) for name, cost in costs.items()},
        "throughput_1_node": round(one, 1),
        "throughput_5_nodes": round(five, 1),
        "throughput_5_nodes_flooded": round(flooded, 1),
        "share_of_a_core": run.share,
        "image_bytes": run.image_bytes,
        "joins_s": list(run.joins),
        "rise_s": run.rise,
        "throughput": [run.throughput(s, s + 1) for s in seconds],
        "rtd": [_rounded(run.rtd_s(s, s + 1)) for s in seconds],
        "cpu": run.cpu,
        "joins": joins,
        "speedups": speedups(means, marks[0].ours, joins[0]["throughput"]["before"]),
        "landmarks": as_rows(marks),
        "growths": growth_rows(growths_of(run)),
        "derived": {
            "ours": around_joins(*(_columns(joins, what) for what in PAPER_TABLE)),
            "paper": around_joins(*PAPER_TABLE.values()),
        },
        "paper": {"table": PAPER_TABLE},
    }


def landmarks_of(run: Run) -> list[Landmark]:
    """The points that the paper names, in this run."""
    seconds = range(int(run.end))
    rates = [run.throughput(s, s + 1) for s in seconds]
    return landmarks(rates, run.cpu, run.joins, run.rise)


def growths_of(run: Run) -> list[Growth]:
    """How the round-trip delay grew where the paper names it, in this run."""
    return growths([run.rtd_s(s, s + 1) for s in range(int(run.end))], run.rise)


def _columns(joins: list[dict[str, Any]], what: str) -> dict[str, list[float | None]]:
    """A quantity of all joins, by phase, as Table I has it."""
    return {phase: [join[what][phase] for join in joins] for phase in ("before", "during", "after")}


def _cpu_speedup(
    many: float, cost: float | None, one: float, cost_of_one: float | None
) -> float | None:
    """CPU time that went into images, against that of one node: what is left beside overheads."""
    if not (one and cost and cost_of_one):
        return None
    return round(many * cost / (one * cost_of_one), 2)


def around(run: Run, join: float) -> dict[str, Any]:
    """Before, during and after the load balancing process that a join leads to."""
    times = [(r.time - run.wall, r.ms / 1000) for r in run.receipts]
    following = [j for j in run.joins if j > join]
    until = following[0] if following else run.rise
    moves = [(start, start + length) for start, length in times if join <= start < until]
    begin = min((start for start, _ in moves), default=join)
    over = max((end for _, end in moves), default=join)
    over = max(over, begin + 0.001)
    phases = {
        "before": (max(0.0, begin - AROUND_S), begin),
        "during": (begin, over),
        "after": (over, min(over + AROUND_S, run.end)),
    }
    return {
        "at_s": round(join, 1),
        "moves": len(moves),
        "process_ms": round(1000 * (over - begin), 1),
        "throughput": {name: round(run.throughput(*span), 1) for name, span in phases.items()},
        "rtd_s": {name: _rounded(run.rtd_s(*span)) for name, span in phases.items()},
    }


def _rounded(value: float | None) -> float | None:
    return None if value is None else round(value, 3)
