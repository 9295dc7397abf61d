"""Options of a Spark query, which come as text: checked one by one, by name.

Both data sources, ``format("evenflow")`` and ``format("evenflow-store")``, read theirs with it. It
needs no Spark. Errors name the option and say what may stand there.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final, TypeVar

from evenflow.errors import ConfigError, did_you_mean

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

T = TypeVar("T")
_NAME: Final = re.compile(r"[A-Za-z0-9_.-]{1,100}")


def known_options(
    given: Mapping[str, str], names: tuple[str, ...], *, needs_topic: bool = True
) -> dict[str, str]:
    """The options under their own names, whatever their case; usually a topic is among them."""
    known = {name.lower(): name for name in names}
    found: dict[str, str] = {}
    for name, value in given.items():
        if name.lower() not in known:
            hint = did_you_mean(name, names)
            raise ConfigError(f"option {name}", value, f"unknown{hint} (known: {', '.join(names)})")
        found[known[name.lower()]] = value
    if needs_topic and "topic" not in found:
        raise ConfigError("option topic", None, 'is missing: add .option("topic", NAME)')
    return found


def checked(found: Mapping[str, str], name: str, default: T, read: Callable[[str], T]) -> T:
    """The value of an option, read; the default when it is not given."""
    value = found.get(name)
    if value is None:
        return default
    try:
        return read(value)
    except ValueError as error:
        raise ConfigError(f"option {name}", value, str(error)) from None


def a_name(value: str) -> str:
    """Read a name."""
    if not _NAME.fullmatch(value):
        raise ValueError("must be 1 to 100 letters, digits, '_', '-' or '.'")
    return value


def seconds(value: str) -> float:
    """Read a time span."""
    try:
        found = float(value)
    except ValueError:
        raise ValueError("must be a number of seconds") from None
    if not 0 < found <= 86_400:
        raise ValueError("must be a number of seconds, at most a day")
    return found
