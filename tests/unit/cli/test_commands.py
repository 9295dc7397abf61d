from __future__ import annotations

import sys

import pytest
import rich_click as click

from evenflow.cli.commands import Later, LazyGroup
from evenflow.errors import MissingExtra, UnknownName
from evenflow.registry import Registry


def test_a_command_is_imported_when_it_is_used(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(sys.modules, "evenflow.cli.config", raising=False)
    later = Later("evenflow.cli.config:config", "check it")
    assert (later.name, later.short_help) == ("config", "check it")
    assert "evenflow.cli.config" not in sys.modules
    context = later.make_context("config", ["--json"])
    assert context.command is later.load()
    assert context.params == {"as_json": True}


def test_the_name_is_written_with_dashes() -> None:
    assert Later("package.module:exactly_once", "").name == "exactly-once"


@pytest.mark.parametrize(("missing", "extra"), [("pyspark.sql", "spark"), ("numba", "experiments")])
def test_a_command_that_lacks_an_extra_names_it(
    missing: str, extra: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(name: str) -> None:
        raise ModuleNotFoundError(name=missing)

    monkeypatch.setattr("evenflow.cli.commands.import_module", fail)
    with pytest.raises(MissingExtra) as caught:
        Later("some.module:some", "").load()
    assert caught.value.extra == extra


def test_another_failed_import_is_told_as_it_is() -> None:
    with pytest.raises(ModuleNotFoundError, match="no_such_module"):
        Later("evenflow.cli.no_such_module:x", "").load()


def test_a_group_knows_what_its_registry_knows() -> None:
    one = click.Command("one")
    registry: Registry[click.Command] = Registry("tool", {"one": one})
    group = LazyGroup("tools", registry=registry, examples="  tools one")
    context = click.Context(group)
    assert group.list_commands(context) == ["one"]
    assert group.get_command(context, "one") is one
    with pytest.raises(UnknownName, match=r"unknown tool 'on'; did you mean 'one'\?"):
        group.get_command(context, "on")
