"""``evenflow experiment qos``: adaptive quality of service, part by part."""

from __future__ import annotations

from typing import Any, Final

import rich_click as click

from evenflow_experiments.options import Given, experiment
from evenflow_experiments.qos.parts import PARTS, Part, part_of
from evenflow_experiments.report import Progress, write_json, write_plot

HELP = """\
Adaptive quality of service (QoS adaptation, Figures 8 and 9, Algorithm 1, equations 1 to 4): what a
decision costs and how good it is, loss in bursts, events missed by a reader that comes back."""

EXPERIMENT: Final = "qos"


@experiment(EXPERIMENT, HELP, quick_s=120)
@click.option(
    "--part", "names", metavar="NAME", type=click.Choice(list(PARTS)), multiple=True,
    help=f"{', '.join(PARTS)} (may be repeated; all)",
)  # fmt: skip
def qos(given: Given, names: tuple[str, ...]) -> int:
    """Measure the parts and report."""
    progress = Progress(EXPERIMENT)
    parts = [part_of(name) for name in names or PARTS]
    figures: dict[str, Any] = {}
    wrong: list[str] = []
    for part in parts:
        progress(part.name)
        figures[part.name] = part.measure(given, progress)
        write_json(given.json, figures)
        wrong += part.show(figures[part.name])
    for fault in wrong:
        progress(f"not as it should be: {fault}")
    if given.plot:
        plot(given, parts, figures)
    return 1 if wrong else 0


def plot(given: Given, parts: list[Part], figures: dict[str, Any]) -> None:
    """One picture for each part, side by side."""
    from matplotlib.figure import Figure  # noqa: PLC0415 - slow to import

    figure = Figure(figsize=(5.5 * len(parts), 4.5))
    for number, part in enumerate(parts):
        part.draw(figures[part.name], figure.add_subplot(1, len(parts), number + 1))
    figure.tight_layout()
    write_plot(given.plot, figure)
