"""The paper's own measurement of the overhead (MAPE-SDDL, Figures 18 and 19): long bursts.

10,000 images at 1,150 a second, to an application that does about 82 a second: an image is
converted so often that it takes that long here. Behind a plain DDS reader, and behind a processing
node; throughput and mean round-trip delay at the client. One burst takes two minutes. The paper has
one of each; here they come in rounds of plain, node, node, plain, because a machine does not stay
as fast as it is for minutes.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

from evenflow_experiments.parts import Part
from evenflow_experiments.report import print_table
from evenflow_experiments.slices.images import image_s
from evenflow_experiments.slices.overhead.client import KINDS, stage
from evenflow_experiments.slices.overhead.pairs import COLUMNS, PAPER, compared, table, turns
from evenflow_experiments.slices.overhead.worker import PLAIN

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from evenflow_experiments.options import Given
    from evenflow_experiments.report import Progress
    from evenflow_experiments.slices.overhead.client import Burst

ITEMS, QUICK_ITEMS = 10_000, 300
RATE = 1_150.0
WARM = 20
"""Images that a worker gets before it is measured."""
PAUSE_S = 1.0
"""Before a burst: what the one before has left to commit is over."""
PATIENCE_S = 1_000.0


def measure(given: Given, progress: Progress) -> dict[str, Any]:
    """Run rounds of plain, node, node, plain."""
    items = QUICK_ITEMS if given.quick else ITEMS
    rounds = max(1, round(1 / (PAPER[PLAIN]["items_per_s"] * image_s())))
    pairs: list[dict[str, Burst]] = []
    with stage(given, rounds) as client:
        for kind in KINDS:
            client.burst(kind, WARM, RATE)
        order = turns(2 * given.repeats)
        for number, kinds in enumerate(order, 1):
            pairs.append({})
            for kind in kinds:
                time.sleep(PAUSE_S)
                progress(f"pair {number} of {len(order)}: {items} images, {kind}")
                pairs[-1][kind] = client.burst(kind, items, RATE, PATIENCE_S)
    return {
        "items": items,
        "sent_per_s": RATE,
        "conversions": rounds,
        **compared(pairs, many=False),
    }


def show(figures: dict[str, Any]) -> list[str]:
    """Print the table."""
    print_table(
        "A processing node, long bursts in turns (MAPE-SDDL, Figures 18 and 19)",
        COLUMNS,
        table(figures),
        note=f"{figures['items']:,} images at {RATE:,.0f} a second in each burst (paper: "
        f"{ITEMS:,}); means over {figures['pairs']} pairs, the least and the most of them; "
        "beside the image: in percent of the whole item",
    )
    return []


def draw(figures: dict[str, Any], axes: Axes) -> None:
    """Draw the throughput of both, the paper's beside it."""
    for place, (name, one) in enumerate((("ours", figures), ("paper", PAPER))):
        heights = [one[kind]["items_per_s"] for kind in KINDS]
        axes.bar([number + 0.4 * place for number in range(len(KINDS))], heights, 0.38, label=name)
    axes.set_xticks([0.2, 1.2], ["plain reader", "processing node"])
    axes.set(ylabel="items/s", title="long bursts")
    axes.legend(fontsize="small")


PART = Part("paper", measure, show, draw)
