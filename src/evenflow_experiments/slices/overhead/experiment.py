"""``evenflow experiment overhead``: what a processing node costs, part by part.

*bursts* tells a small difference from the machine's noise: short bursts in turns. *paper* is the
paper's own measurement, one long burst each. *move* is what a giving node pays for a move.
"""

from __future__ import annotations

from typing import Final

import rich_click as click

from evenflow_experiments.options import Given, experiment
from evenflow_experiments.parts import run_parts

HELP = """\
Cost of a processing node: throughput and round-trip delay of an image application behind a plain
DDS reader and behind a node, in short bursts in turns and in one long burst as in the paper, and
the CPU time of a node that gives slices away (MAPE-SDDL, Figures 18 and 19, section V-D)."""

EXPERIMENT: Final = "overhead"
PARTS: Final = {
    "bursts": "evenflow_experiments.slices.overhead.bursts",
    "paper": "evenflow_experiments.slices.overhead.long_burst",
    "move": "evenflow_experiments.slices.overhead.giving",
}
"""Name of a part -> the module with its ``PART``."""


@experiment(EXPERIMENT, HELP, quick_s=120)
@click.option(
    "--part", "names", metavar="NAME", type=click.Choice(list(PARTS)), multiple=True,
    help=f"{', '.join(PARTS)} (may be repeated; all)",
)  # fmt: skip
def overhead(given: Given, names: tuple[str, ...]) -> int:
    """Measure the parts and report."""
    return run_parts(EXPERIMENT, PARTS, names, given)
