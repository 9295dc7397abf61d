"""``evenflow config``: check the configuration and print what is in force."""

from __future__ import annotations

import json
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from evenflow.cli.options import load_config

if TYPE_CHECKING:
    import argparse

    from evenflow.config import Config

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
    tables = as_tables(load_config(args))
    print(json.dumps(tables, indent=2) if args.json else as_toml(tables))
    return 0


def as_tables(config: Config) -> dict[str, Any]:
    """Return the configuration in the shape of its file."""
    tables = asdict(config)
    del tables["file"]
    tables["topics"] = {topic.pop("name"): topic for topic in tables["topics"]}
    return tables


def as_toml(tables: dict[str, Any]) -> str:
    """Write the tables as TOML; the values are numbers, strings and lists of strings only."""
    sections = {name: table for name, table in tables.items() if name != "topics"}
    sections |= {f"topics.{name}": table for name, table in tables["topics"].items()}
    # JSON writes these values exactly as TOML does.
    return "\n\n".join(
        "\n".join([f"[{name}]", *(f"{key} = {json.dumps(value)}" for key, value in table.items())])
        for name, table in sections.items()
    )
