"""Bursts to a plain reader and to a node, compared pair by pair.

The speed of a machine changes by more in minutes than a node costs. So both kinds come in turns,
plain, node, node, plain, and so on: neighbours make a pair, and what drifts steadily favours the
node in one pair as much as the reader in the next. The overhead is told in three ways:

- by the clock: items a second, and round-trip delay, as in the paper;
- by the CPU clock of the worker's process, for each item: other work of the machine, which takes
  the core away, is not in it;
- beside the image: the CPU time less that of converting the image, which is the same work in both
  and by far the most. A core that becomes slower makes the image dearer, not the node.
"""

from __future__ import annotations

from statistics import fmean, median, quantiles
from typing import TYPE_CHECKING, Any, Final

from evenflow_experiments.derived import change_percent, reduction_percent
from evenflow_experiments.slices.overhead.client import KINDS, Burst
from evenflow_experiments.slices.overhead.worker import BALANCED, PLAIN

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

Pair = dict[str, Burst]
"""A burst of each kind, one right after the other."""
PAPER: Final[dict[str, Any]] = {
    PLAIN: {"items_per_s": 82.194, "rtd_s": 59.51},
    BALANCED: {"items_per_s": 81.044, "rtd_s": 60.45},
    "throughput_loss_percent": 1.4,
    "rtd_increase_percent": 1.58,
}
"""Figures 18 and 19."""


def turns(pairs: int) -> list[tuple[str, ...]]:
    """Who comes first in each pair: plain, node; node, plain; and so on.

    Args:
        pairs: How many; of an even number each comes first equally often.
    """
    return [KINDS if number % 2 == 0 else KINDS[::-1] for number in range(pairs)]


def overheads(pair: Pair) -> dict[str, float | None]:
    """What the node costs in one pair, in percent of the plain reader's."""
    plain, node = pair[PLAIN], pair[BALANCED]
    return {
        "throughput_loss_percent": reduction_percent(plain.throughput, node.throughput),
        "rtd_increase_percent": change_percent(plain.delay_s, node.delay_s),
        "cpu_increase_percent": change_percent(plain.cpu_ms, node.cpu_ms),
        "image_change_percent": change_percent(plain.image_ms, node.image_ms),
        "beside_increase_percent": change_percent(
            plain.cpu_ms, plain.cpu_ms + node.beside_ms - plain.beside_ms
        ),
    }


def compared(pairs: Sequence[Pair], *, many: bool) -> dict[str, Any]:
    """The figures of both kinds, the overheads with their spread, and the paper's.

    Args:
        pairs: In order.
        many: Medians, and the middle half of the pairs; else means, and all of them.
    """
    middle, spread = (median, _quartiles) if many else (fmean, _extremes)
    each = [overheads(pair) for pair in pairs]
    columns = {
        name: [value for one in each if (value := one[name]) is not None] for name in each[0]
    }
    return {
        "pairs": len(pairs),
        "spread_is": "quartiles" if many else "least and most",
        **{kind: _of_kind([pair[kind] for pair in pairs], middle) for kind in KINDS},
        **{name: round(middle(column), 2) for name, column in columns.items()},
        "spread": {name: spread(column) for name, column in columns.items()},
        "each": each,
        "paper": PAPER,
    }


def _of_kind(bursts: Sequence[Burst], middle: Any) -> dict[str, float]:
    return {
        "items_per_s": round(middle([one.throughput for one in bursts]), 3),
        "rtd_s": round(middle([one.delay_s for one in bursts]), 4),
        "cpu_ms": round(middle([one.cpu_ms for one in bursts]), 4),
        "image_ms": round(middle([one.image_ms for one in bursts]), 4),
        "beside_ms": round(middle([one.beside_ms for one in bursts]), 4),
    }


def _quartiles(values: Sequence[float]) -> list[float]:
    if len(values) < 2:
        return _extremes(values)
    low, _, high = quantiles(values, n=4, method="inclusive")
    return [round(low, 2), round(high, 2)]


def _extremes(values: Iterable[float]) -> list[float]:
    known = list(values)
    return [round(min(known), 2), round(max(known), 2)]


def table(figures: dict[str, Any]) -> list[list[object]]:
    """Rows for print: what, plain, node, overhead in percent, its spread, the paper's three."""
    rows: list[list[object]] = []
    for title, key, overhead in (
        ("throughput, items/s", "items_per_s", "throughput_loss_percent"),
        ("round-trip delay, s", "rtd_s", "rtd_increase_percent"),
        ("CPU time of an item, ms", "cpu_ms", "cpu_increase_percent"),
        ("of it the image, ms", "image_ms", "image_change_percent"),
        ("beside the image, ms", "beside_ms", "beside_increase_percent"),
    ):
        low, high = figures["spread"][overhead]
        theirs = [PAPER[kind].get(key) for kind in KINDS]
        rows.append(
            [
                title, *(_exact(figures[kind][key]) for kind in KINDS), figures[overhead],
                f"{low:.3g} to {high:.3g}", *(_exact(value) for value in theirs),
                PAPER.get(overhead),
            ]
        )  # fmt: skip
    return rows


COLUMNS: Final = (
    "", "plain", "node", "overhead %", "spread %",
    "paper plain", "paper node", "paper %",
)  # fmt: skip


def _exact(value: float | None) -> str | None:
    """Four digits and more: the paper's overheads are in the third."""
    return None if value is None else f"{value:.3f}"
