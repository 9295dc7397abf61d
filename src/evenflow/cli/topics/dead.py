"""``evenflow dead``: what applications could not process; publish it again, or drop it."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import msgspec
import rich_click as click

from evenflow.cli.options import Shared, command
from evenflow.cli.output.tables import Column, number, print_table, prose
from evenflow.errors import ConfigError
from evenflow.errors.words import counted
from evenflow.slices.dead_letters.reading import list_letters, settle_letters
from evenflow.slices.publisher.publisher import Publisher

if TYPE_CHECKING:
    from evenflow.config import Config
    from evenflow.slices.dead_letters.letter import DeadLetter

EXAMPLES = """\
  evenflow dead             what the application could not process, and why
  evenflow dead list --topic items --json
  evenflow dead replay      publish the items again, when the fault is mended
  evenflow dead drop        forget them for good

For topics with on_error = "dead". The letters are items of the topic NAME.dead
and are kept until they are replayed or dropped.
"""

COLUMNS = (
    Column("when", 1), "sender", number("id"), number("slice", 2), number("tries", 3),
    prose("error"),
)  # fmt: skip


@command("dead", examples=EXAMPLES)
@click.argument("action", type=click.Choice(["list", "replay", "drop"]), default="list")
@click.option("--topic", metavar="T", help="the topic of the items (the first with dead letters)")
@click.option("--json", "as_json", is_flag=True, help="print JSON, with the payloads in base64")
def dead(shared: Shared, action: str, topic: str | None, *, as_json: bool) -> int:
    """List what applications could not process, publish it again, or drop it."""
    config = shared.config()
    topic = _topic(config, topic)
    if action == "list":
        _show(topic, list_letters(topic, config), as_json=as_json)
        return 0
    if action == "replay":
        with Publisher(topic, config=config) as publisher:
            count = settle_letters(topic, config, publisher)
    else:
        count = settle_letters(topic, config, None)
    did = {"replay": "replayed", "drop": "dropped"}[action]
    print(
        json.dumps({"topic": topic, did: count}) if as_json else f"{did} {counted(count, 'item')}"
    )
    return 0


def _topic(config: Config, name: str | None) -> str:
    having = [one.name for one in config.topics if one.on_error == "dead"]
    found = config.topic(name) if name else None
    if found is None and having:
        return having[0]
    if found is None or found.name not in having:
        shown = found or config.topics[0]
        raise ConfigError(shown.key("on_error"), shown.on_error, "must be 'dead' to have letters")
    return found.name


def _show(topic: str, letters: list[DeadLetter], *, as_json: bool) -> None:
    if as_json:
        rows: list[Any] = [msgspec.to_builtins(letter) for letter in letters]
        print(json.dumps({"topic": topic, "letters": rows}, indent=2))
        return
    if not letters:
        print(f"topic {topic} has no dead letters")
        return
    print(f"topic {topic}")
    print_table(COLUMNS, [_cells(one) for one in letters])


def _cells(letter: DeadLetter) -> list[str]:
    when = datetime.fromtimestamp(letter.at / 1e6, UTC)
    numbers = (str(letter.id), str(letter.slice), str(letter.tries))
    return [f"{when:%Y-%m-%d %H:%M:%S}", letter.sender, *numbers, letter.error]
