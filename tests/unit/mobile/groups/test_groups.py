"""Groups are what they are defined as, kept current as nodes change."""

from __future__ import annotations

import json
from random import Random

import pytest

from evenflow.config import Config
from evenflow.errors import ConfigError, ExpressionError, UnknownName
from evenflow.mobile.groups.definition import definitions
from evenflow.mobile.groups.groups import Groups

SQUARE = [[10, 0], [20, 0], [20, 10], [10, 10]]


def groups(**tables: dict[str, object]) -> Groups:
    config = Config.load(None, {f"mobile_groups.{name}": table for name, table in tables.items()})
    return Groups(definitions(config.mobile_groups))


def test_listed_members_are_there_whether_or_not_they_are_known() -> None:
    known = groups(pair={"members": ["car-1", "car-2"]})
    assert known.members("pair") == {"car-1", "car-2"}
    known.forget("car-1")
    assert known.members("pair") == {"car-1", "car-2"}
    with pytest.raises(UnknownName, match="did you mean 'pair'"):
        known.members("pairs")


def test_an_expression_follows_the_attributes() -> None:
    known = groups(heavy={"expression": 'node.kind == "truck" && node.load > 3'})
    assert known.describe("a", '{"kind": "truck", "load": 4}')
    assert not known.describe("a", '{"kind": "truck", "load": 4}')
    known.describe("b", '{"kind": "truck"}')
    known.describe("c", '{"kind": "bus", "load": 9.5}')
    assert known.members("heavy") == {"a"}
    known.describe("b", '{"kind": "truck", "load": 3.5}')
    known.describe("a", '{"kind": "truck", "load": 2}')
    assert known.members("heavy") == {"b"}
    known.forget("b")
    assert known.members("heavy") == set()


def test_the_name_may_occur_and_numbers_have_one_kind() -> None:
    known = groups(some={"expression": 'name.startsWith("car-") && node.load * 2.0 > 5.0'})
    known.describe("car-1", '{"load": 3}')
    known.describe("bus-1", '{"load": 3}')
    assert known.members("some") == {"car-1"}


@pytest.mark.parametrize("attributes", ["", "[]", "nonsense", '{"a": [1]}', '{"a": null}'])
def test_attributes_that_are_none_are_counted(attributes: str) -> None:
    known = groups(some={"expression": "node.a == node.a"})
    known.describe("car-1", attributes)
    assert known.malformed == 1
    assert known.members("some") == set()


def test_a_region_follows_the_positions() -> None:
    known = groups(north={"region": SQUARE})
    known.move(["a", "b", "c"], [15, 15, 0], [5, 50, 5])
    assert known.members("north") == {"a"}
    known.move(["a", "c"], [0, 10], [5, 0])
    assert known.members("north") == {"c"}
    known.move(["c", "c"], [0, 15], [0, 5])
    assert known.members("north") == {"c"}
    known.forget("c")
    assert known.members("north") == set()
    assert known.places == {"a": (0, 5), "b": (15, 50)}


def test_both_must_hold_where_both_are_given() -> None:
    known = groups(buses={"region": SQUARE, "expression": 'node.kind == "bus"'})
    known.describe("a", '{"kind": "bus"}')
    known.move(["a", "b"], [15, 15], [5, 5])
    assert known.members("buses") == {"a"}
    known.move(["a"], [0], [5])
    assert known.members("buses") == set()


@pytest.mark.parametrize(
    ("table", "reason"),
    [
        ({}, "either members, or an expression"),
        ({"members": ["a"], "expression": "name == 'b'"}, "either members, or an expression"),
        ({"region": [[0, 0], [1, 1]]}, "needs 3"),
        ({"region": [[0, 0], [91, 1], [5, 5]]}, "LATITUDE, LONGITUDE"),
        ({"region": "here"}, "LATITUDE, LONGITUDE"),
        ({"members": "car-1"}, "list of non-empty strings"),
        ({"members": ["car-*"]}, "no mobile node can be called so"),
    ],
)
def test_what_makes_no_group_is_refused(table: dict[str, object], reason: str) -> None:
    with pytest.raises(ConfigError, match=reason) as caught:
        groups(odd=table)
    assert caught.value.key.startswith("mobile_groups.odd.")


@pytest.mark.parametrize(
    ("text", "column", "reason"),
    [
        ('kind == "bus"', 1, r"unknown property 'kind' \(known: name, node\.ATTRIBUTE\)"),
        ("node.kind ==", 13, "ends too early"),
        ("node.kind", 1, "its answer must be yes or no"),
        ("name > 3", 6, "no matching overload"),
    ],
)
def test_a_faulty_expression_is_refused_with_its_place(text: str, column: int, reason: str) -> None:
    with pytest.raises(ExpressionError, match=reason) as caught:
        groups(odd={"expression": text})
    assert caught.value.key == "mobile_groups.odd.expression"
    assert caught.value.column == column


def test_changes_lead_to_what_a_fresh_look_finds() -> None:
    """Kept current by changes alone, groups are what one would find by looking at everybody."""
    tables = {
        "north": {"region": SQUARE},
        "trucks": {"expression": 'node.kind == "truck"'},
        "both": {"region": SQUARE, "expression": 'node.kind == "truck"'},
    }
    rng = Random(1)
    known = groups(**tables)
    described: dict[str, str] = {}
    places: dict[str, tuple[float, float]] = {}
    for _ in range(200):
        node = f"car-{rng.randrange(20)}"
        match rng.randrange(3):
            case 0:
                described[node] = json.dumps({"kind": rng.choice(["truck", "bus"])})
                known.describe(node, described[node])
            case 1:
                some = {f"car-{rng.randrange(20)}": (rng.uniform(5, 25), 5.0) for _ in range(5)}
                places |= some
                known.move(list(some), [y for y, _ in some.values()], [x for _, x in some.values()])
            case 2:
                described.pop(node, None)
                places.pop(node, None)
                known.forget(node)
    fresh = groups(**tables)
    for node, attributes in described.items():
        fresh.describe(node, attributes)
    fresh.move(list(places), [y for y, _ in places.values()], [x for _, x in places.values()])
    assert fresh.members("both")
    for name in tables:
        assert known.members(name) == fresh.members(name)
