"""``evenflow config``: check the configuration and print what is in force."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from evenflow.autonomic.design import design
from evenflow.cli.options import load_config

if TYPE_CHECKING:
    import argparse

EXAMPLES = """\
  evenflow config                                   what is in force here, as TOML
  evenflow config --config site.toml --json         the same as JSON
  evenflow config --set topics.items.slices=1000    try a value before it is written down
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the command's own arguments."""
    parser.add_argument("--json", action="store_true", help="print JSON instead of TOML")


def run(args: argparse.Namespace) -> int:
    """Print the configuration."""
    config = load_config(args)
    design(config)
    print(json.dumps(config.as_tables(), indent=2) if args.json else config.as_toml())
    return 0
