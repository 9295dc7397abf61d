"""Short bursts in turns: a node against a plain DDS reader (MAPE-SDDL, Figures 18 and 19).

The same application (colour image to grayscale) processes the same items twice: behind a plain DDS
reader, and behind a processing node with its balancer. The client sends a burst, faster than they
can process, to one and then to the other, in turns, so that whatever else the machine does hits
both alike. Throughput and round-trip delay are measured at the client, from the replies. The
figures are medians over pairs of neighbouring bursts.
"""

from __future__ import annotations

from statistics import median
from typing import TYPE_CHECKING, Any

from evenflow_experiments.derived import change_percent, reduction_percent
from evenflow_experiments.parts import Part
from evenflow_experiments.report import print_table
from evenflow_experiments.slices.overhead.client import KINDS, Burst, stage
from evenflow_experiments.slices.overhead.long_burst import PAPER
from evenflow_experiments.slices.overhead.worker import BALANCED, PLAIN

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
        bursts = []
        for number in range(pairs):
            order = KINDS if number % 2 else KINDS[::-1]
            bursts.append({kind: client.burst(kind, items, RATE) for kind in order})
    return summary(bursts)


def summary(bursts: list[dict[str, Burst]]) -> dict[str, Any]:
    """The figures: medians over the pairs."""
    losses = [reduction_percent(b[PLAIN].throughput, b[BALANCED].throughput) or 0.0 for b in bursts]
    increases = [change_percent(b[PLAIN].delay_s, b[BALANCED].delay_s) or 0.0 for b in bursts]
    return {
        "throughput_loss_percent": round(median(losses), 2),
        "rtd_increase_percent": round(median(increases), 2),
        "pairs": len(bursts),
        **{
            kind: {
                "items_per_s": round(median(b[kind].throughput for b in bursts), 1),
                "rtd_s": round(median(b[kind].delay_s for b in bursts), 4),
            }
            for kind in KINDS
        },
        "losses_percent": [round(value, 2) for value in losses],
        "increases_percent": [round(value, 2) for value in increases],
        "paper": PAPER,
    }


def show(figures: dict[str, Any]) -> list[str]:
    """Print the table."""
    plain, balanced = figures[PLAIN], figures[BALANCED]
    print_table(
        "A processing node, short bursts in turns (MAPE-SDDL, Figures 18 and 19)",
        ["", "plain reader", "processing node", "overhead %", "paper %"],
        [
            ["throughput, items/s", plain["items_per_s"], balanced["items_per_s"],
             figures["throughput_loss_percent"], PAPER["throughput_loss_percent"]],
            ["round-trip delay, s", plain["rtd_s"], balanced["rtd_s"],
             figures["rtd_increase_percent"], PAPER["rtd_increase_percent"]],
        ],
        note=f"medians over {figures['pairs']} pairs of bursts",
    )  # fmt: skip
    return []


def draw(figures: dict[str, Any], axes: Axes) -> None:
    """Draw what every pair of bursts lost."""
    axes.plot(figures["losses_percent"], "o-", label="throughput lost")
    axes.plot(figures["increases_percent"], "o-", label="delay, more")
    axes.axhline(PAPER["throughput_loss_percent"], ls="--", color="C0", label="paper")
    axes.axhline(PAPER["rtd_increase_percent"], ls="--", color="C1")
    axes.set(xlabel="pair of bursts", ylabel="%", title="short bursts in turns")
    axes.grid(visible=True, alpha=0.3)
    axes.legend(fontsize="small")


PART = Part("bursts", measure, show, draw)
