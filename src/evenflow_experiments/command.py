"""``evenflow experiment NAME``: run one of the experiments.

The experiment's module is imported only when its name is given, so an experiment may need things
that the rest does without.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from evenflow.cli.commands import LazyGroup
from evenflow.extras import require
from evenflow_experiments import EXPERIMENTS

if TYPE_CHECKING:
    import rich_click as click

EXAMPLES = """\
  evenflow experiment codec --quick
  evenflow experiment handover --json handover.json --plot handover.png
  evenflow experiment handover --help
"""


class Experiments(LazyGroup):
    """The experiments; all of them need the extra, to list them does not."""

    def invoke(self, ctx: click.Context) -> Any:
        """Run the experiment that was named."""
        require("experiments")
        return super().invoke(ctx)


experiment = Experiments(
    "experiment",
    registry=EXPERIMENTS,
    examples=EXAMPLES,
    short_help="measure, beside the papers' figures",
    help="Measure, beside the papers' figures. Each experiment has options of its own.",
)
