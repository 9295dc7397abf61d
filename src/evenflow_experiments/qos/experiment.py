"""``evenflow experiment qos``: adaptive quality of service, part by part."""

from __future__ import annotations

from typing import Final

import rich_click as click

from evenflow_experiments.options import Given, experiment
from evenflow_experiments.parts import run_parts

HELP = """\
Adaptive quality of service (QoS adaptation, Figures 8 and 9, Algorithm 1, equations 1 to 4): what a
decision costs and how good it is, loss in bursts, events missed by a reader that comes back."""

EXPERIMENT: Final = "qos"
PARTS: Final = {
    "controller": "evenflow_experiments.qos.controlling",
    "cpu": "evenflow_experiments.qos.cpu",
    "filtered": "evenflow_experiments.qos.filtered",
    "loss": "evenflow_experiments.qos.losing",
    "missed": "evenflow_experiments.qos.missing",
    "overload": "evenflow_experiments.qos.overload",
}
"""Name of a part -> the module with its ``PART``."""


@experiment(EXPERIMENT, HELP, quick_s=120)
@click.option(
    "--part", "names", metavar="NAME", type=click.Choice(list(PARTS)), multiple=True,
    help=f"{', '.join(PARTS)} (may be repeated; all)",
)  # fmt: skip
def qos(given: Given, names: tuple[str, ...]) -> int:
    """Measure the parts and report."""
    return run_parts(EXPERIMENT, PARTS, names, given)
