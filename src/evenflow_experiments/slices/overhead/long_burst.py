"""The paper's own measurement of the overhead (MAPE-SDDL, Figures 18 and 19): one long burst each.

10,000 images at 1,150 a second, to an application that does about 82 a second: an image is
converted so often that it takes that long here. First behind a plain DDS reader, then behind a
processing node. Throughput and mean round-trip delay at the client. One burst takes two minutes,
and whatever else the machine does meanwhile is in it: small differences are told by *bursts*.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from evenflow_experiments.derived import change_percent, reduction_percent
from evenflow_experiments.parts import Part
from evenflow_experiments.report import print_table
from evenflow_experiments.slices.images import image_s
from evenflow_experiments.slices.overhead.client import KINDS, Burst, stage
from evenflow_experiments.slices.overhead.worker import BALANCED, PLAIN

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from evenflow_experiments.options import Given
    from evenflow_experiments.report import Progress

ITEMS, QUICK_ITEMS = 10_000, 600
RATE = 1_150.0
PAPER: dict[str, Any] = {
    PLAIN: {"items_per_s": 82.194, "rtd_s": 59.51},
    BALANCED: {"items_per_s": 81.044, "rtd_s": 60.45},
    "throughput_loss_percent": 1.4,
    "rtd_increase_percent": 1.58,
}
"""Figures 18 and 19."""
PATIENCE_S = 400.0


def measure(given: Given, progress: Progress) -> dict[str, Any]:
    """One burst to each."""
    items = QUICK_ITEMS if given.quick else ITEMS
    rounds = max(1, round(1 / (PAPER[PLAIN]["items_per_s"] * image_s())))
    with stage(given, rounds) as client:
        for kind in KINDS:
            client.burst(kind, 20, RATE)
        bursts = {}
        for kind in KINDS:
            progress(f"{items} images at {RATE:g} a second, {kind}")
            bursts[kind] = client.burst(kind, items, RATE, PATIENCE_S)
    return summary(bursts, items)


def summary(bursts: dict[str, Burst], items: int) -> dict[str, Any]:
    """The figures, and what follows from them."""
    plain, balanced = bursts[PLAIN], bursts[BALANCED]
    return {
        "items": items,
        "sent_per_s": RATE,
        **{
            kind: {"items_per_s": round(one.throughput, 3), "rtd_s": round(one.delay_s, 2)}
            for kind, one in bursts.items()
        },
        "throughput_loss_percent": reduction_percent(plain.throughput, balanced.throughput),
        "rtd_increase_percent": change_percent(plain.delay_s, balanced.delay_s),
        "paper": PAPER,
    }


def show(figures: dict[str, Any]) -> list[str]:
    """Print the table."""
    rows: list[list[object]] = []
    for whose, one in (("ours", figures), ("paper", PAPER)):
        for what, key, overhead in (
            ("items/s", "items_per_s", "throughput_loss_percent"),
            ("round-trip delay, s", "rtd_s", "rtd_increase_percent"),
        ):
            rows.append([f"{whose}, {what}", f"{one[PLAIN][key]:.3f}",
                         f"{one[BALANCED][key]:.3f}", one[overhead]])  # fmt: skip
    print_table(
        "A processing node, one long burst (MAPE-SDDL, Figures 18 and 19)",
        ["", "plain reader", "processing node", "overhead %"],
        rows,
        note=f"{figures['items']:,} images at {RATE:,.0f} a second (paper: {ITEMS:,})",
    )
    return []


def draw(figures: dict[str, Any], axes: Axes) -> None:
    """Draw the throughput of both, the paper's beside it."""
    for place, (name, one) in enumerate((("ours", figures), ("paper", PAPER))):
        heights = [one[kind]["items_per_s"] for kind in KINDS]
        axes.bar([number + 0.4 * place for number in range(len(KINDS))], heights, 0.38, label=name)
    axes.set_xticks([0.2, 1.2], ["plain reader", "processing node"])
    axes.set(ylabel="items/s", title="one long burst")
    axes.legend(fontsize="small")


PART = Part("paper", measure, show, draw)
