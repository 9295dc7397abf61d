"""Values that options read: times, settings, finite numbers.

Each refuses what it cannot use with a `click.BadParameter` that says what it wants; click adds the
name of the option.
"""

from __future__ import annotations

import math
import re
import tomllib
from pathlib import Path
from typing import Any

import rich_click as click

LONGEST_S = 10 * 365 * 86_400.0
"""What a wait can be told at the most."""
_UNITS = {"": 1.0, "ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0}


def seconds(text: str) -> float:
    """Read a length of time: ``90``, ``500ms``, ``60s``, ``5m``, ``1h``."""
    found = re.fullmatch(r"(\d+(?:\.\d+)?)\s*(ms|s|m|h)?", text.strip())
    if not found or float(found[1]) <= 0:
        raise click.BadParameter(f"{text!r} must be a time such as 500ms, 60s, 5m or 1h")
    length = float(found[1]) * _UNITS[found[2] or ""]
    if length > LONGEST_S:
        raise click.BadParameter(f"{text!r} is longer than ten years")
    return length


def folder(text: str) -> Path:
    """Read the path of a folder, which need not be there yet."""
    if not str(text):
        raise click.BadParameter("must not be empty")
    return Path(text)


def lifetime(text: str) -> float:
    """Read how long something is valid: as `seconds`, or in days: ``30d``."""
    found = re.fullmatch(r"(\d{1,6})\s*d", str(text).strip())
    if found and int(found[1]):
        return float(found[1]) * 86_400.0
    try:
        return seconds(str(text))
    except click.BadParameter:
        raise click.BadParameter(f"{text!r} must be a time such as 30d, 12h or 5m") from None


def named_values(_: object, option: click.Parameter, given: tuple[str, ...]) -> dict[str, str]:
    """Read ``NAME=VALUE`` of an option that may be given several times, for its callback."""
    found: dict[str, str] = {}
    for text in given:
        name, sign, value = text.partition("=")
        if not sign or not name:
            raise click.BadParameter(f"{text!r} must be NAME=VALUE", param=option)
        if name in found:
            raise click.BadParameter(f"{name!r} is given twice", param=option)
        found[name] = value
    return found


def setting(text: str) -> tuple[str, Any]:
    """Split ``KEY=VALUE``; the value is read as TOML, and as a plain string when it is none."""
    key, found, value = text.partition("=")
    key = key.strip()
    if not found or not key:
        raise click.BadParameter(f"{text!r} must be KEY=VALUE, as in node.deliver_items=64")
    try:
        return key, tomllib.loads(f"value = {value}")["value"]
    except tomllib.TOMLDecodeError:
        return key, value


class Whole(click.IntRange):
    """A whole number within bounds."""

    name = "whole number"
    """What messages call it."""


class Number(click.FloatRange):
    """A finite number within bounds."""

    name = "number"
    """What messages call it."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Read it; "nan" and "inf" are no numbers here."""
        number = super().convert(value, param, ctx)
        if not math.isfinite(number):
            self.fail(f"{value!r} must be a finite number", param, ctx)
        return number


COUNT = Whole(min=1)
"""A whole number above 0."""
INDEX = Whole(min=0)
"""A whole number from 0."""
POSITIVE = Number(min=0, min_open=True)
"""A number above 0."""
