"""The parts of the reference: keys of the file, commands, Spark, metrics, exceptions, names."""

from __future__ import annotations

import inspect
import re
from dataclasses import MISSING, Field, fields
from importlib import import_module
from typing import TYPE_CHECKING, Any, Final

from evenflow import errors
from evenflow.cli.commands import COMMANDS, Later
from evenflow.cli.options import SHARED, shared_options
from evenflow.config import loading
from evenflow.config.loop_sections import RuleConfig
from evenflow.config.tables import toml_value
from evenflow.metrics.catalogue import PANELS
from evenflow.reference.attributes import documented, first_sentence, one_line

if TYPE_CHECKING:
    from collections.abc import Iterable

    import rich_click as click

    from evenflow.config.section import Section

PACKAGES: Final = (
    "evenflow", "evenflow.mobile", "evenflow.device", "evenflow.overlay",
    "evenflow.spark", "evenflow.spark.session", "evenflow.qos.plain",
)  # fmt: skip
"""Where public names are."""


def table(head: Iterable[str], rows: Iterable[Iterable[str]]) -> str:
    """A table in Markdown."""
    lines = ["| " + " | ".join(head) + " |"]
    lines.append("|" + "---|" * lines[0].count(" | ") + "---|")
    lines += ["| " + " | ".join(row) + " |" for row in rows]
    return "\n".join(line.replace("|  |", "| |") for line in lines)


# -- the file --------------------------------------------------------------------------------------


def configuration() -> str:
    """Every key of ``evenflow.toml``."""
    parts = ["## Configuration", "", "Every key has a default. `--set KEY=VALUE` sets one too."]
    for kind in (*loading._SINGLE, *loading._NAMED, RuleConfig):  # noqa: SLF001
        parts += ["", f"### {_heading(kind)}", "", _after_colon(first_sentence(kind)), ""]
        parts.append(table(("key", "default", "accepts", "meaning"), _keys(kind)))
    return "\n".join(parts)


def _heading(kind: type[Section]) -> str:
    if kind is RuleConfig:
        return "`[[rules]]`"
    return f"`[{kind.table}.NAME]`" if kind in loading._NAMED else f"`[{kind.table}]`"  # noqa: SLF001


def _keys(kind: type[Section]) -> Iterable[Iterable[str]]:
    texts, named = documented(kind), kind in loading._NAMED  # noqa: SLF001
    for one in fields(kind):
        if named and one.name == "name":
            continue
        accepts = one.metadata["rule"].allowed.removeprefix("must be ").replace("|", "\\|")
        yield f"`{one.name}`", f"`{_default(one)}`", accepts, texts.get(one.name, "")


def _default(one: Field[Any]) -> str:
    value = one.default_factory() if one.default_factory is not MISSING else one.default
    return toml_value(list(value) if isinstance(value, tuple) else value).replace("{  }", "{}")


def _after_colon(text: str) -> str:
    told = text.partition(": ")[2] or text
    return told[:1].upper() + told[1:]


# -- commands --------------------------------------------------------------------------------------


def commands() -> str:
    """Every command with its options."""
    parts = ["## Commands", "", "All commands understand these, before their name or after it:", ""]
    parts.append(table(("option", "meaning"), map(_option, shared_options())))
    for name in COMMANDS:
        found = COMMANDS.get(name)
        if not isinstance(found, Later):
            continue  # of another package: it has its own --help
        command = found.load()
        text = inspect.cleandoc(command.help or "")
        parts += ["", f"### `evenflow {name}`", "", one_line(text)]
        own = [one for one in command.params if getattr(one, "panel", None) != SHARED]
        if own:
            parts += ["", table(("option", "meaning"), map(_option, own))]
    return "\n".join(parts)


def _option(one: click.Parameter) -> tuple[str, str]:
    told = one_line(getattr(one, "help", None) or "")
    choices = getattr(one.type, "choices", None)
    spelled = "`, `".join([*one.opts, *one.secondary_opts])
    if one.param_type_name == "argument":
        spelled = one.human_readable_name
    takes = "" if getattr(one, "is_flag", False) else one.metavar or ""
    if choices:
        takes = "\\|".join(choices)
    if one.param_type_name == "argument" and not choices:
        takes = ""
    needed = " (required)" if one.required else ""
    return f"`{spelled}{f' {takes}' if takes else ''}`", f"{told}{needed}"


# -- metrics, exceptions, names --------------------------------------------------------------------


def metrics() -> str:
    """Every metric."""
    parts = ["## Metrics", "", "[How to get them](operating.md#metrics). Labels of all of a part"]
    parts[-1] += " stand in its heading, those of one metric behind its name."
    for panel in PANELS:
        rows = [
            (f"`{one.name}`{_labels(one.labels)}", one.kind, one_line(one.meaning))
            for one in panel.metrics
        ]
        head = f"### {panel.what[:1].upper()}{panel.what[1:]}{_labels(panel.labels)}"
        parts += ["", head, "", table(("metric", "kind", "meaning"), rows)]
    return "\n".join(parts)


def _labels(labels: tuple[str, ...]) -> str:
    return f" ({', '.join(f'`{one}`' for one in labels)})" if labels else ""


def exceptions() -> str:
    """Every exception, with the one it is a kind of."""
    found = [getattr(errors, name) for name in errors.__all__]
    kinds = [one for one in found if isinstance(one, type) and issubclass(one, Exception)]
    rows = (
        (f"`{one.__name__}`", f"`{one.__mro__[1].__name__}`", first_sentence(one))
        for one in sorted(kinds, key=lambda one: one.__name__)
    )
    told = "All are in `evenflow.errors`; `EvenflowError` is the root of all of them."
    return "\n".join(["## Exceptions", "", told, "", table(("name", "a kind of", "when"), rows)])


def names() -> str:
    """What programs import."""
    parts = ["## Names"]
    for package in PACKAGES:
        module = import_module(package)
        rows = [_name(package, name) for name in module.__all__ if not name.startswith("__")]
        parts += ["", f"### `{package}`", "", table(("name", "what it is"), sorted(rows))]
    return "\n".join(parts)


def _name(package: str, name: str) -> tuple[str, str]:
    found = getattr(import_module(package), name)
    shown = f"{name}()" if inspect.isfunction(found) else name
    public = ""
    if inspect.isclass(found) and not issubclass(found, BaseException | tuple):
        methods = _methods(found)
        public = f" ({', '.join(f'`{one}`' for one in methods)})" if methods else ""
    text = first_sentence(found) if not isinstance(found, str | int) else ""
    return f"`{shown}`", re.sub(r"\s+", " ", f"{text}{public}")


def _methods(kind: type) -> list[str]:
    """What a class has for its users, its own first, then what it has from our other classes."""
    ours = [one for one in kind.__mro__ if one.__module__.startswith("evenflow")]
    members = {name: None for one in ours for name in vars(one) if not name.startswith("_")}
    return [name for name in members if _is_method(inspect.getattr_static(kind, name))]


def _is_method(member: object) -> bool:
    return callable(member) or isinstance(member, property | classmethod | staticmethod)
