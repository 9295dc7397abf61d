"""``evenflow config``: check the configuration and print what is in force."""

from __future__ import annotations

import json
from typing import Final

import rich_click as click

from evenflow.autonomic.design import design
from evenflow.cli.options import Shared, command

EXAMPLES: Final = """\
  evenflow config                                  what is in force, as TOML
  evenflow config --config site.toml --json        the same as JSON
  evenflow config --set topics.items.slices=1000   try a value
"""


@command("config", examples=EXAMPLES)
@click.option("--json", "as_json", is_flag=True, help="print JSON instead of TOML")
def config(shared: Shared, *, as_json: bool) -> int:
    """Check the configuration and print it."""
    found = shared.config()
    design(found)
    print(json.dumps(found.as_tables(), indent=2) if as_json else found.as_toml())
    return 0
