"""``bridge --part lookup``: what Chord's finger table would cost (C-DDSB, sections 2.2 and 3.3).

A node of Chord knows its fingers and asks its way from one to the next; a bridge knows all others
by discovery, keeps two names besides, and asks nobody. Counted are the nodes that are asked for a
key (hops), and the different nodes that a finger table names, which have to be kept up.
"""

from __future__ import annotations

import statistics
from random import Random
from typing import TYPE_CHECKING, Any, Final

from evenflow.bridge.ring.fingers import FingerRing
from evenflow.bridge.ring.identifiers import BITS, guid_of, identifier_of
from evenflow_experiments.parts import Part
from evenflow_experiments.report import print_table

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from evenflow_experiments.options import Given
    from evenflow_experiments.report import Progress

BRIDGES: Final = (2, 5, 10, 20, 100, 1_000)
KEPT: Final = 2
"""What a bridge keeps: successor and predecessor."""


def measure(given: Given, progress: Progress) -> list[dict[str, Any]]:
    """Lookups from random bridges for random keys."""
    lookups = 500 if given.quick else 5_000
    rows = []
    for bridges in BRIDGES:
        random = Random(bridges)
        nodes = [identifier_of(guid_of(f"b{number}")) for number in range(bridges)]
        ring = FingerRing(nodes, BITS)
        hops = [
            len(ring.lookup(random.choice(nodes), random.getrandbits(BITS))) - 1
            for _ in range(lookups)
        ]
        named = [len(set(fingers)) for fingers in ring.fingers.values()]
        rows.append(
            {
                "bridges": bridges,
                "hops_mean": round(statistics.fmean(hops), 2),
                "hops_most": max(hops),
                "fingers_mean": round(statistics.fmean(named), 2),
                "hops_here": 0,
                "kept_here": KEPT,
            }
        )
        progress(f"{bridges:,} bridges")
    return rows


def show(rows: list[dict[str, Any]]) -> list[str]:
    """Print the table; nothing of it can be wrong."""
    print_table(
        "Lookups by Chord's finger table, and by discovery",
        ["bridges", "hops, mean", "hops, most", "nodes in a finger table", "hops here",
         "nodes kept here"],
        [list(row.values()) for row in rows],
    )  # fmt: skip
    return []


def draw(rows: list[dict[str, Any]], axes: Axes) -> None:
    """Hops by the number of bridges."""
    axes.semilogx([row["bridges"] for row in rows], [row["hops_mean"] for row in rows], "o-")
    axes.set_xlabel("bridges")
    axes.set_ylabel("hops of a lookup by fingers")


PART: Final = Part("lookup", measure, show, draw)
