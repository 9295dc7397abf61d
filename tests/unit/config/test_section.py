from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import pytest

from evenflow.config.section import Section, integer, number, text, texts, yes_or_no
from evenflow.errors import ConfigError


@dataclass(frozen=True, slots=True)
class Kettle(Section):
    """A table of every kind of field."""

    table: ClassVar[str] = "kettle"

    cups: int = integer(4, 1, 12)
    degrees: float = number(95.0, 60.0, 100.0)
    whistles: bool = yes_or_no(True)
    colour: str = text("red", "red|blue", "'red' or 'blue'")
    owners: tuple[str, ...] = texts()


def test_defaults_are_taken_and_values_brought_to_their_kind() -> None:
    assert Kettle() == Kettle(4, 95.0, True, "red", ())
    kettle = Kettle(degrees=80, owners=["ann", "bob"])  # type: ignore[arg-type]
    assert isinstance(kettle.degrees, float)
    assert kettle.owners == ("ann", "bob")


@pytest.mark.parametrize(
    ("name", "value", "allowed"),
    [
        ("cups", 0, "must be a whole number from 1 to 12"),
        ("cups", 13, "from 1 to 12"),
        ("cups", True, "whole number"),
        ("cups", "4", "whole number"),
        ("degrees", 59.9, "must be a number from 60 to 100"),
        ("degrees", float("nan"), "from 60 to 100"),
        ("whistles", 1, "must be true or false"),
        ("colour", "green", "must be 'red' or 'blue'"),
        ("colour", "reddish", "must be 'red' or 'blue'"),
        ("owners", "ann", "must be a list of non-empty strings"),
        ("owners", ["ann", ""], "non-empty"),
    ],
)
def test_what_a_field_does_not_accept_is_refused_by_key_and_value(
    name: str, value: object, allowed: str
) -> None:
    with pytest.raises(ConfigError) as caught:
        Kettle(**{name: value})  # type: ignore[arg-type]
    assert caught.value.key == f"kettle.{name}"
    assert caught.value.value is value
    assert allowed in caught.value.allowed
