"""``evenflow experiment NAME``: run one of the experiments.

The experiment's module is imported only when its name is given, so an experiment may need things
that the rest does without.
"""

from __future__ import annotations

from evenflow.cli.commands import LazyGroup
from evenflow_experiments import EXPERIMENTS

EXAMPLES = """\
  evenflow experiment codec --quick
  evenflow experiment handover --json handover.json --plot handover.png
  evenflow experiment handover --help
"""

experiment = LazyGroup(
    "experiment",
    registry=EXPERIMENTS,
    examples=EXAMPLES,
    short_help="measure, beside the papers' figures",
    help="Measure, beside the papers' figures. Each experiment has options of its own.",
)
