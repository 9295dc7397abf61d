"""``evenflow experiment NAME``: run one of the experiments.

The experiment's module is imported only when its name is given, so an experiment may need things
that the rest does without.
"""

from __future__ import annotations

import argparse
from pathlib import Path

from evenflow.cli.options import add_shared, start_logging
from evenflow_experiments import EXPERIMENTS

EXAMPLES = """\
  evenflow experiment codec --quick
  evenflow experiment handover --json handover.json --plot handover.png
  evenflow experiment handover --help
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the command's own arguments."""
    width = max((len(name) for name in EXPERIMENTS), default=0)
    listed = "\n".join(f"  {name:{width}}  {EXPERIMENTS.get(name).help}" for name in EXPERIMENTS)
    parser.epilog = f"experiments:\n{listed}\n\n{parser.epilog}"
    parser.add_argument("experiment", metavar="NAME", help="which experiment")
    parser.add_argument("rest", metavar="...", nargs=argparse.REMAINDER, help="its arguments")


def run(args: argparse.Namespace) -> int:
    """Run the experiment that was named."""
    module = EXPERIMENTS.get(args.experiment).load()
    parser = argparse.ArgumentParser(
        prog=f"evenflow experiment {args.experiment}",
        description=module.HELP,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
        epilog=f"example:\n  evenflow experiment {args.experiment} --quick --json out.json",
    )
    parser.add_argument("--json", metavar="FILE", type=Path, help="write the figures as JSON")
    parser.add_argument(
        "--plot", metavar="FILE", type=Path, help="draw the figures (PNG, SVG, PDF)"
    )
    parser.add_argument("--quick", action="store_true", help="fewer repetitions, within 60 s")
    module.add_arguments(parser)
    add_shared(parser)
    given = parser.parse_args(args.rest, namespace=args)
    start_logging(given.verbose)
    return module.run(given)
