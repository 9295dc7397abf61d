"""Expressions: what they answer, and where their faults are."""

from __future__ import annotations

import pytest

from evenflow.autonomic.analyze.expression import Expression
from evenflow.errors import ConfigError, ExpressionError

PROPERTIES = ("cpu", "backlog_items")


@pytest.mark.parametrize(
    ("text", "values", "answer"),
    [
        ("cpu > 70", {"cpu": 70.5}, True),
        ("cpu > 70", {"cpu": 70.0}, False),
        ("cpu > 70 && backlog_items >= 1000.0", {"cpu": 80.0, "backlog_items": 1000.0}, True),
        ("cpu > 70 || backlog_items > 5", {"cpu": 1.0, "backlog_items": 6.0}, True),
        ("!(cpu < 10)", {"cpu": 5.0}, False),
        ("cpu * 2.0 > 100.0", {"cpu": 60.0}, True),
        ("backlog_items / cpu > 3.0", {"cpu": 1.0, "backlog_items": 4.0}, True),
        ("cpu > 70 ? backlog_items > 1 : false", {"cpu": 80.0, "backlog_items": 2.0}, True),
    ],
)
def test_answers(text: str, values: dict[str, float], answer: bool) -> None:
    assert Expression(text, PROPERTIES).holds(values) is answer


def test_a_property_without_a_value_gives_no_answer() -> None:
    expression = Expression("cpu > 70 && backlog_items > 5", PROPERTIES)
    assert expression.holds({"cpu": 80.0}) is None
    assert expression.holds({"cpu": 10.0}) is False


@pytest.mark.parametrize(
    ("text", "place", "reason"),
    [
        ("cpu > ", (1, 7), "ends too early"),
        ("", (1, 1), "ends too early"),
        ("cpu > 70 )", (1, 10), "extraneous input"),
        ("cpu > 70 &&\n  backlog_item > 3", (2, 3), "did you mean 'backlog_items'"),
        ("__import__('os')", (1, 11), "unknown property '__import__'"),
        ("cpu * 2 > 100", (1, 5), "with a point"),
        ("cpu * 2.0 > 100", (1, 11), "with a point"),
        ("cpu > 'a'", (1, 5), "no matching overload"),
        ("cpu.idle > 3", (1, 4), "select"),
        ("cpu + 1.0", (1, 1), "yes or no"),
        ("cpu", (1, 1), "yes or no"),
    ],
)
def test_faults_are_refused_with_their_place(
    text: str, place: tuple[int, int], reason: str
) -> None:
    with pytest.raises(ExpressionError, match=reason) as caught:
        Expression(text, PROPERTIES, key="event.overload.expression")
    assert (caught.value.line, caught.value.column) == place
    assert f"line {place[0]}, column {place[1]}" in str(caught.value)
    assert caught.value.key == "event.overload.expression"


def test_the_error_can_name_its_file() -> None:
    with pytest.raises(ConfigError) as caught:
        Expression("cpu >", PROPERTIES, key="event.hot.expression")
    assert str(caught.value.at("evenflow.toml")).startswith("evenflow.toml: event.hot.expression")
