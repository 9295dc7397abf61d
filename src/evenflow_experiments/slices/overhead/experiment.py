"""``evenflow experiment overhead``: what a processing node costs, part by part.

*bursts* tells a small difference from the machine's noise: short bursts in turns. *paper* is the
paper's own measurement, long bursts, in turns as well. *move* is what a giving node pays for a
move, with an application that does nothing and with the paper's.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Final

import rich_click as click

from evenflow.cli.values import COUNT
from evenflow_experiments.options import Given, experiment
from evenflow_experiments.parts import run_parts

HELP = """\
Cost of a processing node: throughput, round-trip delay and CPU time of an image application behind
a plain DDS reader and behind a node, in turns: in short bursts (a minute and a half), and in bursts
as long as the paper's (8 minutes a round); and the CPU time of a node that gives slices away (two
minutes). MAPE-SDDL, Figures 18 and 19, section V-D."""

EXPERIMENT: Final = "overhead"
PARTS: Final = {
    "bursts": "evenflow_experiments.slices.overhead.bursts",
    "paper": "evenflow_experiments.slices.overhead.long_burst",
    "move": "evenflow_experiments.slices.overhead.giving",
}
"""Name of a part -> the module with its ``PART``."""


@experiment(EXPERIMENT, HELP, quick_s=180)
@click.option(
    "--part", "names", metavar="NAME", type=click.Choice(list(PARTS)), multiple=True,
    help=f"{', '.join(PARTS)} (may be repeated; all)",
)  # fmt: skip
@click.option(
    "--rounds", metavar="N", type=COUNT, default=2,
    help="long bursts: rounds of plain, node, node, plain (2)",
)  # fmt: skip
def overhead(given: Given, names: tuple[str, ...], rounds: int) -> int:
    """Measure the parts and report."""
    return run_parts(EXPERIMENT, PARTS, names, replace(given, repeats=rounds))
