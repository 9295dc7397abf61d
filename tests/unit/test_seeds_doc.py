"""What ``docs/seeds.md`` names is there: files, names in them, commands and their options."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest
import rich_click as click

from evenflow.cli.commands import COMMANDS, Later, LazyGroup

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "seeds.md").read_text(encoding="utf-8")
FOLDERS = ("src/evenflow", "src", "")
FILE = re.compile(r"`([\w/.-]+\.(?:py|md|toml))`(?: \(((?:`[\w.]+`(?:, )?)+)\))?")


def found(path: str) -> Path | None:
    """The file that a path of the page means."""
    places = [ROOT / folder / path for folder in FOLDERS]
    return next((place for place in places if place.is_file()), None)


def commands() -> list[str]:
    """Every command of the page, each once."""
    return sorted(set(re.findall(r"`evenflow ([^`]+)`", PAGE)))


def test_the_page_names_much() -> None:
    assert len(FILE.findall(PAGE)) > 200
    assert len(commands()) > 30


def test_every_file_of_the_page_exists() -> None:
    assert not [path for path, _ in FILE.findall(PAGE) if found(path) is None]


def test_the_names_behind_a_file_stand_in_it() -> None:
    for path, names in FILE.findall(PAGE):
        text = (found(path) or ROOT / path).read_text(encoding="utf-8") if names else ""
        for name in re.findall(r"`([\w.]+)`", names):
            assert name.rpartition(".")[2] in text, f"{name} is not in {path}"


@pytest.mark.parametrize("words", commands())
def test_a_command_of_the_page_exists_with_its_options(words: str) -> None:
    command: click.Command = LazyGroup("evenflow", registry=COMMANDS, examples="")
    left = shlex.split(words)
    while isinstance(command, click.Group) and left:
        name = left.pop(0)
        chosen = command.get_command(click.Context(command), name)
        assert chosen is not None
        command = chosen.load() if isinstance(chosen, Later) else chosen
    options = {one: param for param in command.params for one in param.opts}
    while left:
        param = options[left.pop(0)]
        if not getattr(param, "is_flag", False):
            param.type.convert(left.pop(0), param, None)
