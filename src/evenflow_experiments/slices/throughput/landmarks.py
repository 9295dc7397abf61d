"""What the paper says of its curves (MAPE-SDDL, Figures 15 and 16), found in ours.

The text names points of the curves: where the throughput began, the most that five nodes did, the
dip when the rate rose, what was there six seconds later, and the top. The same points are looked
for in our seconds. A shorter story has the same points, sooner.

A speed-up needs a baseline, and the paper has two: its text begins at 40 items a second, its Table
I has 48 before the second node joined. Both stand beside every speed-up.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import Any, Final

PAPER_RISE_S: Final = 59.0
"""When the rate rises in the paper's story."""
LATER_S: Final = 6.0
"""The paper looks again this long after the rise."""
FLOODED_S: Final = 66.0
"""From here to the end the paper takes its mean of five nodes that are flooded."""
STARTS: Final = (1, 5)
"""Seconds at the beginning that are averaged: in the very first one replies only begin to come."""
THROUGHPUT: Final = "throughput, items/s"
CPU: Final = "CPU, %"
TEXT_START, TABLE_START = 40.0, 48.0
"""Items a second of one node: in the paper's text, and in its Table I before the second joined."""


@dataclass(frozen=True, slots=True)
class Landmark:
    """A point that the paper names, and the same point of ours."""

    curve: str
    what: str
    paper: float
    paper_s: float
    """When, in the seconds of the paper's story."""
    ours: float
    ours_s: float
    """When, in the seconds of ours."""


def landmarks(
    throughput: Sequence[float], cpu: Sequence[Sequence[float]], joins: Sequence[float], rise: float
) -> list[Landmark]:
    """Find the points of both curves.

    Args:
        throughput: Replies in each second.
        cpu: Of each second, each node's CPU in percent of what it may use.
        joins: When nodes joined.
        rise: When the rate rose.
    """
    seconds = min(len(throughput), len(cpu))
    rises, later = int(rise), int(rise) + max(1, round(LATER_S * rise / PAPER_RISE_S))
    later = min(later, seconds - 1)
    five = range(min(int(joins[-1]) + 1, rises - 1), rises)
    dip, rest = range(rises, later + 1), range(rises, seconds)
    load = [fmean(row) if row else 0.0 for row in cpu]
    start = range(STARTS[0], max(STARTS[0] + 1, min(STARTS[1], int(joins[0]))))
    return [
        Landmark(THROUGHPUT, "one node, at the start", TEXT_START, 0.0,
                 fmean(throughput[second] for second in start), start[0]),
        _most(THROUGHPUT, "five nodes, most", 245.0, 58.0, throughput, five),
        _least(THROUGHPUT, "dip when the rate rises", 163.0, PAPER_RISE_S, throughput, dip),
        Landmark(THROUGHPUT, "six seconds later", 283.0, 65.0, throughput[later], later),
        _most(THROUGHPUT, "top", 323.0, 72.0, throughput, rest),
        Landmark(CPU, "before the rise", 92.0, 58.0, load[rises - 1], rises - 1),
        _least(CPU, "dip when the rate rises", 85.0, PAPER_RISE_S, load, dip),
        Landmark(CPU, "six seconds later", 97.0, 65.0, load[later], later),
    ]  # fmt: skip


def _most(
    curve: str, what: str, paper: float, at: float, values: Sequence[float], seconds: range
) -> Landmark:
    top = max(seconds, key=lambda second: values[second])
    return Landmark(curve, what, paper, at, values[top], top)


def _least(
    curve: str, what: str, paper: float, at: float, values: Sequence[float], seconds: range
) -> Landmark:
    low = min(seconds, key=lambda second: values[second])
    return Landmark(curve, what, paper, at, values[low], low)


def speedups(
    ours: dict[str, float], start: float, before: float | None
) -> list[dict[str, str | float | None]]:
    """Every speed-up with both baselines, the paper's beside ours.

    Args:
        ours: Items a second of ours, for each of `PAPER_RATES`.
        start: Of one node at the start.
        before: Of one node before the second joined, as in Table I.
    """
    return [
        {
            "what": what,
            "items_per_s": round(ours[what], 1),
            "of_the_start": _times(ours[what], start),
            "of_before_the_second": _times(ours[what], before),
            "paper_items_per_s": paper,
            "paper_of_40": _times(paper, TEXT_START),
            "paper_of_48": _times(paper, TABLE_START),
        }
        for what, paper in PAPER_RATES.items()
    ]


PAPER_RATES: Final = {
    "five nodes, mean": 240.0,
    "five nodes, flooded, mean": 317.0,
    "five nodes, flooded, top": 323.0,
}
"""What the paper's five nodes did at 1.4 MB/s, and from 66 s on at 10 MB/s."""


def _times(many: float, one: float | None) -> float | None:
    return round(many / one, 2) if one else None


def as_rows(found: Sequence[Landmark]) -> list[dict[str, Any]]:
    """Landmarks for the JSON file."""
    return [
        {
            "curve": each.curve, "what": each.what, "paper": each.paper, "paper_s": each.paper_s,
            "ours": round(each.ours, 1), "ours_s": each.ours_s,
        }
        for each in found
    ]  # fmt: skip
