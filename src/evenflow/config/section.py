"""A table of the configuration file: a frozen dataclass whose fields state what they accept.

A field is declared by one of the functions below, so a section made in code is checked exactly like
one that was read from a file.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field, fields
from typing import TYPE_CHECKING, ClassVar

from evenflow.errors import ConfigError
from evenflow.registry import Registry

if TYPE_CHECKING:
    from collections.abc import Callable

NAME = r"[A-Za-z][A-Za-z0-9_-]{0,63}"
CONSUMER_NAME = r"[A-Za-z0-9_.-]{1,100}"


@dataclass(frozen=True, slots=True)
class Rule:
    """What a setting accepts: ``read`` returns the value, or raises `ValueError`."""

    read: Callable[[object], object]
    allowed: str


def integer(default: int, low: int, high: int) -> int:
    """A whole number within bounds."""

    def read(raw: object) -> int:
        if isinstance(raw, bool) or not isinstance(raw, int) or not low <= raw <= high:
            raise ValueError
        return raw

    rule = Rule(read, f"must be a whole number from {low} to {high}")
    return field(default=default, metadata={"rule": rule})


def number(default: float, low: float, high: float) -> float:
    """A number within bounds."""

    def read(raw: object) -> float:
        if isinstance(raw, bool) or not isinstance(raw, int | float) or not low <= raw <= high:
            raise ValueError
        return float(raw)

    rule = Rule(read, f"must be a number from {low:g} to {high:g}")
    return field(default=default, metadata={"rule": rule})


def yes_or_no(default: bool) -> bool:  # noqa: FBT001 - a default is no switch
    """True or false."""

    def read(raw: object) -> bool:
        if raw is not True and raw is not False:
            raise ValueError
        return raw

    return field(default=default, metadata={"rule": Rule(read, "must be true or false")})


def text(default: str, pattern: str, allowed: str) -> str:
    """A text that matches a pattern; ``allowed`` says so in words."""

    def read(raw: object) -> str:
        if not isinstance(raw, str) or not re.fullmatch(pattern, raw):
            raise ValueError
        return raw

    return field(default=default, metadata={"rule": Rule(read, f"must be {allowed}")})


def text_or_offered(default: str, pattern: str, allowed: str, group: str) -> str:
    """A text that matches a pattern, or ``NAME`` or ``NAME:ARGUMENT`` of an entry point of others.

    Args:
        default: The value without one.
        pattern: What is our own.
        allowed: That in words.
        group: Entry point group in which others offer theirs.
    """
    others: Registry[object] = Registry("entry point", {}, group=group)

    def offered(raw: str) -> bool:
        name = raw.partition(":")[0]
        return bool(re.fullmatch(NAME, name)) and name in others

    def read(raw: object) -> str:
        if isinstance(raw, str) and (re.fullmatch(pattern, raw) or offered(raw)):
            return raw
        raise ValueError

    rule = Rule(read, f"must be {allowed}, or of an entry point in the group {group}")
    return field(default=default, metadata={"rule": rule})


def names() -> tuple[str, ...]:
    """A list of names, each once."""

    def read(raw: object) -> tuple[str, ...]:
        if not isinstance(raw, list | tuple) or not all(
            isinstance(one, str) and re.fullmatch(CONSUMER_NAME, one) for one in raw
        ):
            raise ValueError
        if len(set(raw)) < len(raw):
            raise ValueError
        return tuple(raw)

    allowed = "must be a list of names, each once: 1 to 100 letters, digits, '_', '-' or '.'"
    return field(default=(), metadata={"rule": Rule(read, allowed)})


def texts() -> tuple[str, ...]:
    """A list of texts."""

    def read(raw: object) -> tuple[str, ...]:
        if not isinstance(raw, list | tuple) or not all(
            isinstance(one, str) and one for one in raw
        ):
            raise ValueError
        return tuple(raw)

    return field(default=(), metadata={"rule": Rule(read, "must be a list of non-empty strings")})


@dataclass(frozen=True, slots=True)
class Section:
    """A table of the file; checks its own fields when it is made."""

    table: ClassVar[str] = ""

    def __post_init__(self) -> None:
        for one in fields(self):
            rule: Rule = one.metadata["rule"]
            raw = getattr(self, one.name)
            try:
                value = rule.read(raw)
            except ValueError:
                raise ConfigError(self.key(one.name), raw, rule.allowed) from None
            object.__setattr__(self, one.name, value)

    def key(self, name: str) -> str:
        """Dotted key of a field of this section."""
        return f"{self.table}.{name}"
