"""``evenflow experiment bridge``: devices on bridges, part by part."""

from __future__ import annotations

from typing import Final

import rich_click as click

from evenflow_experiments.options import Given, experiment
from evenflow_experiments.parts import run_parts

HELP = """\
Devices on bridges, each on exactly one, chosen by a ring (C-DDSB, section 5), beside the baseline
in which every bridge serves every device (DDSB): memory, connections and messages (rows; needs
root, for a network of its own); how even bridges are and how many devices move when one joins, by
the plain ring, virtual nodes and bounded loads (balance); thousands of devices on one bridge (load,
needs root too); what Chord's finger table would cost (lookup)."""

EXPERIMENT: Final = "bridge"
PARTS: Final = {
    "rows": "evenflow_experiments.bridge.rows",
    "balance": "evenflow_experiments.bridge.balance",
    "load": "evenflow_experiments.bridge.load",
    "lookup": "evenflow_experiments.bridge.lookup",
}
"""Name of a part -> the module with its ``PART``."""


@experiment(EXPERIMENT, HELP)
@click.option(
    "--part", "names", metavar="NAME", type=click.Choice(list(PARTS)), multiple=True,
    help=f"{', '.join(PARTS)} (may be repeated; all)",
)  # fmt: skip
def bridge(given: Given, names: tuple[str, ...]) -> int:
    """Measure the parts and report."""
    return run_parts(EXPERIMENT, PARTS, names, given)
