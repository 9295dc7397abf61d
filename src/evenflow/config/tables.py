"""Tables of a configuration file: read, turned into sections, and written."""

from __future__ import annotations

import json
from dataclasses import fields
from typing import TYPE_CHECKING, Any, TypeVar

from evenflow.config.loop_sections import PlannerConfig
from evenflow.config.section import Section
from evenflow.errors import ConfigError, did_you_mean

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

COMMAND_LINE = "command line"
S = TypeVar("S", bound=Section)


def read_toml(file: Path) -> dict[str, Any]:
    """The tables of a file."""
    import tomllib  # noqa: PLC0415 - only who has a file needs it

    try:
        with file.open("rb") as stream:
            return tomllib.load(stream)
    except OSError as error:
        reason = f"cannot be read ({error.strerror}): name a TOML file that exists"
        raise ConfigError("config", str(file), reason) from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise ConfigError("config", str(file), f"is not valid TOML: {error}") from None


def put(tables: dict[str, Any], key: str, value: object) -> None:
    """Put a value under a dotted key."""
    *parents, last = key.split(".")
    table = tables
    for parent in parents:
        table = table.setdefault(parent, {})
        if not isinstance(table, dict):
            raise ConfigError(key, value, f"{parent!r} is not a table", source=COMMAND_LINE)
    table[last] = value


def take_out(table: dict[str, Any], key: str) -> bool:
    """Remove what stands under a dotted key, or else the table where it is missed."""
    for name in sorted(table, key=len, reverse=True):  # names may have dots themselves
        if key != name and not key.startswith(f"{name}."):
            continue
        inner = table[name]
        if not (isinstance(inner, dict) and take_out(inner, key[len(name) + 1 :])):
            del table[name]
        return True
    return False


def section(kind: type[S], name: str, tables: Mapping[str, Any]) -> S:
    """The section of a table."""
    table = _table(name, tables.get(name, {}))
    refuse_unknown(f"{name}.", table, [one.name for one in fields(kind)])
    return kind(**table)


def named(kind: type[S], tables: Mapping[str, Any]) -> tuple[S, ...]:
    """The sections of ``[KIND.NAME]`` tables."""
    made = []
    for name, raw in _table(kind.table, tables.get(kind.table, {})).items():
        table = _table(f"{kind.table}.{name}", raw)
        known = [one.name for one in fields(kind) if one.name != "name"]
        refuse_unknown(f"{kind.table}.{name}.", table, known)
        made.append(kind(**{"name": name, **table}))
    return tuple(made)


def planners(tables: Mapping[str, Any]) -> tuple[PlannerConfig, ...]:
    """Planners; whatever is not the planner's name is one of its settings."""
    shaped = {
        name: {"planner": raw.get("planner", ""), "settings": _but(raw, "planner")}
        if isinstance(raw, dict)
        else raw
        for name, raw in _table("planners", tables.get("planners", {})).items()
    }
    for name, table in shaped.items():
        if isinstance(table, dict):
            _check_settings(f"planners.{name}", table["settings"])
    return named(PlannerConfig, {"planners": shaped})


def _check_settings(key: str, settings: Mapping[str, Any]) -> None:
    """Name the setting of a planner that no planner could take."""
    for name, value in settings.items():
        if not isinstance(value, str | bool | int | float) or value != value:  # noqa: PLR0124
            raise ConfigError(f"{key}.{name}", value, "must be a number, a text, true or false")


def _but(table: Mapping[str, Any], key: str) -> dict[str, Any]:
    return {name: value for name, value in table.items() if name != key}


def toml_key(name: str) -> str:
    """A key of the file; one with a dot in it is quoted."""
    return json.dumps(name) if "." in name else name


def toml_value(value: object) -> str:
    """Write a value; JSON writes numbers, strings, lists and booleans as TOML does."""
    if isinstance(value, dict):
        inner = ", ".join(f"{json.dumps(key)} = {toml_value(one)}" for key, one in value.items())
        return f"{{ {inner} }}"
    return json.dumps(value)


def _table(key: str, value: object) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise ConfigError(key, value, f"must be a table [{key}]")
    return value


def refuse_unknown(prefix: str, table: Mapping[str, Any], known: list[str]) -> None:
    """Refuse keys that are not known, and say which one may be meant."""
    for name, value in table.items():
        if name not in known:
            hint = did_you_mean(name, known)
            raise ConfigError(
                prefix + name, value, f"unknown key{hint} (known: {', '.join(known)})"
            )
