"""Short bursts in turns: a node against a plain DDS reader (MAPE-SDDL, Figures 18 and 19).

The same application (colour image to grayscale) processes the same items twice: behind a plain DDS
reader, and behind a processing node with its balancer. The client sends a burst, faster than they
can process, to one and then to the other, in turns, so that whatever else the machine does hits
both alike. Throughput and round-trip delay are measured at the client, from the replies. The
figures are medians over pairs of neighbouring bursts.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from evenflow_experiments.parts import Part
from evenflow_experiments.report import print_table
from evenflow_experiments.slices.overhead.client import KINDS, stage
from evenflow_experiments.slices.overhead.pairs import COLUMNS, PAPER, compared, table, turns

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from evenflow_experiments.options import Given
    from evenflow_experiments.report import Progress

RATE = 10_000
"""Items a second that the client sends: about 14 times what can be processed, as in the paper."""


def measure(given: Given, progress: Progress) -> dict[str, Any]:
    """Run pairs of bursts; which of the two comes first alternates."""
    pairs, items = (10, 700) if given.quick else (30, 1_000)
    with stage(given) as client:
        for kind in KINDS:
            client.burst(kind, items // 2, RATE)
        progress(f"{pairs} pairs of bursts of {items} images")
        bursts = [
            {kind: client.burst(kind, items, RATE) for kind in order} for order in turns(pairs)
        ]
    return compared(bursts, many=True)


def show(figures: dict[str, Any]) -> list[str]:
    """Print the table."""
    print_table(
        "A processing node, short bursts in turns (MAPE-SDDL, Figures 18 and 19)",
        COLUMNS,
        table(figures),
        note=f"medians over {figures['pairs']} pairs of bursts; the spread is that of the middle "
        "half of them; beside the image: in percent of the whole item",
    )
    return []


def draw(figures: dict[str, Any], axes: Axes) -> None:
    """Draw what every pair of bursts lost."""
    for name, title in (
        ("throughput_loss_percent", "throughput lost"),
        ("rtd_increase_percent", "delay, more"),
        ("cpu_increase_percent", "CPU time of an item, more"),
    ):
        axes.plot([one[name] for one in figures["each"]], "o-", label=title)
    axes.axhline(PAPER["throughput_loss_percent"], ls="--", color="C0", label="paper")
    axes.axhline(PAPER["rtd_increase_percent"], ls="--", color="C1")
    axes.set(xlabel="pair of bursts", ylabel="%", title="short bursts in turns")
    axes.grid(visible=True, alpha=0.3)
    axes.legend(fontsize="small")


PART = Part("bursts", measure, show, draw)
