"""A mistake in any option of any command is one line that names it, before anything begins."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
import rich_click as click

from evenflow.cli import main
from evenflow.cli.commands import COMMANDS, Later
from evenflow.cli.output.log import VARIABLE
from evenflow.cli.values import folder

if TYPE_CHECKING:
    from pathlib import Path


def loaded(name: str) -> click.Command | None:
    found = COMMANDS.get(name)
    return found.load() if isinstance(found, Later) else None


def needed(command: click.Command, but: str) -> list[str]:
    """What has to be given besides an option."""
    given: list[str] = []
    for one in command.params:
        if not one.required or but in one.opts:
            continue
        value = one.type.choices[0] if isinstance(one.type, click.Choice) else "x"
        given += [one.opts[-1], value] if one.param_type_name == "option" else [str(value)]
    return given


OPTIONS = [
    (name, option)
    for name in COMMANDS
    if (command := loaded(name)) is not None
    for option in command.params
    if option.param_type_name == "option" and not getattr(option, "is_flag", False)
]
READ = [
    (name, one)
    for name, one in OPTIONS
    if one.type is not click.STRING and getattr(one.type, "func", None) is not folder
]
"""Options whose value is not any text."""


@pytest.fixture(autouse=True)
def _empty_place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("EVENFLOW_CONFIG", raising=False)
    monkeypatch.setenv(VARIABLE, "text")

    def begun(*_: object, **__: object) -> None:
        pytest.fail("it has begun all the same")

    monkeypatch.setattr("asyncio.run", begun)
    monkeypatch.setattr("evenflow.domain.cyclone.Participant.__init__", begun)


def said(name: str, option: click.Parameter, value: str, capsys: pytest.CaptureFixture[str]) -> str:
    command = loaded(name)
    assert command is not None
    spelled = option.opts[-1]
    assert main([name, *needed(command, spelled), spelled, value]) == 2
    err = capsys.readouterr().err
    assert err.startswith(f"evenflow: error: Invalid value for '{spelled}'"), err
    assert err.count("\n") == 1
    return err


def label(one: object) -> str:
    return one if isinstance(one, str) else getattr(one, "opts", ["?"])[-1]


@pytest.mark.parametrize(("name", "option"), OPTIONS, ids=label)
def test_an_empty_value_is_refused(
    name: str, option: click.Parameter, capsys: pytest.CaptureFixture[str]
) -> None:
    """As from a variable of the shell that is not set."""
    assert said(name, option, "", capsys)


@pytest.mark.parametrize(("name", "option"), READ, ids=label)
def test_what_cannot_be_read_is_refused_in_words(
    name: str, option: click.Parameter, capsys: pytest.CaptureFixture[str]
) -> None:
    err = said(name, option, "x y", capsys)
    assert not any(word in err for word in ("range.", "ValueError", "object", "float."))


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        (["history", "--limit", "99999999999999999999"], "is not in the range 1<=x<=1000000"),
        (["balancer", "--for", "99999999999999999999"], "is longer than ten years"),
        (["nodes", "--topic", "itmes"], "topics.itmes: no such topic; did you mean 'items'?"),
        (["broker", "--name", "../b"], "--name = '../b': must be 1 to 255 characters"),
        (["fleet", "--trust", "ca.pem"], "--trust = 'ca.pem': there is no such file"),
        (["archive"], "none is durable: set topics.NAME.durable and served = true"),
    ],
)
def test_other_mistakes(
    arguments: list[str], reason: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(arguments) == 2
    assert reason in capsys.readouterr().err
