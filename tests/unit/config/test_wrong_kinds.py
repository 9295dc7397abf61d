"""A wrong kind of value in any key of the file is refused in words that name the key."""

from __future__ import annotations

import math
from dataclasses import fields
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import pytest

from evenflow.cli.config import check_planners
from evenflow.config import Config, loading
from evenflow.config.called import call_with
from evenflow.config.loop_sections import RuleConfig
from evenflow.errors import ConfigError

if TYPE_CHECKING:
    from pathlib import Path

WRONG = {
    "negative": -1,
    "huge": 10**30,
    "broken": 3.25,
    "nan": math.nan,
    "infinite": math.inf,
    "empty": "",
    "lines": "x y\n\x00z",
    "true": True,
    "list": [1, "a"],
    "lists": [["a"], [[1]]],
    "table": {"a": 1},
    "time": datetime(2026, 1, 1, tzinfo=UTC),
}
"""One of every kind that TOML has, and values at the edge."""

KEYS = [
    *(f"{kind.table}.{one.name}" for kind in loading._SINGLE for one in fields(kind)),
    *(
        f"{kind.table}.x.{one.name}"
        for kind in loading._NAMED
        for one in fields(kind)
        if one.name not in {"name", "settings"}
    ),
]


@pytest.fixture(autouse=True)
def _no_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("EVENFLOW_CONFIG", raising=False)


def refusal(overrides: dict[str, Any]) -> ConfigError | None:
    """What is said of some values; None when they will do. Anything else it raises is a fault."""
    try:
        Config.load(None, overrides)
    except ConfigError as error:
        return error
    return None


def is_in_words(error: ConfigError, key: str) -> bool:
    """Whether it names the key, and says what may stand there without a word of Python."""
    python = ("object", "argument", "Error", "NoneType", "str'", "__", "class")
    return error.key.startswith(key) and not any(word in error.allowed for word in python)


@pytest.mark.parametrize("key", KEYS)
def test_a_wrong_kind_in_a_key_is_refused_in_words(key: str) -> None:
    found = [refusal({key: value}) for value in WRONG.values()]
    refused = [one for one in found if one is not None]
    # Values that are fine alone may contradict another key, or lack one beside them.
    assert [one for one in refused if not is_in_words(one, key.partition(".")[0])] == []
    assert sum(one.key == key for one in refused) >= len(WRONG) // 2


@pytest.mark.parametrize("one", [one.name for one in fields(RuleConfig)])
def test_a_wrong_kind_in_a_rule_is_refused_in_words(one: str) -> None:
    rules = [{"event": "e", "planner": "items", one: value} for value in WRONG.values()]
    refused = [refusal({"rules": [rule]}) for rule in rules]
    unclear = [each for each in refused if each and not is_in_words(each, f"rules.{one}")]
    assert unclear == []


@pytest.mark.parametrize("table", [*(kind.table for kind in loading._SINGLE), "rules"])
def test_what_should_be_a_table_and_is_none(table: str) -> None:
    for value in (1, "x", True):
        with pytest.raises(ConfigError) as caught:
            Config.load(None, {table: value})
        assert is_in_words(caught.value, table)


@pytest.mark.parametrize("kind", [kind.table for kind in loading._NAMED])
def test_what_should_hold_tables_and_does_not(kind: str) -> None:
    for value in (1, [1], {"x": 1}):
        with pytest.raises(ConfigError) as caught:
            Config.load(None, {kind: value})
        assert is_in_words(caught.value, kind)


PLANNERS: dict[str, dict[str, Any]] = {
    "count": {"settle_s": 1.0},
    "weighted": {"tolerance": 0.1, "settle_s": 1, "return_s": 1, "horizon_s": 1, "pause_s": 1},
    "capacity": {"tolerance": 0.1},
    "saver": {"fill": 0.5, "limit": 0.9, "min_nodes": 1, "settle_s": 1.0},
    "forecast": {"lead_s": 1.0},
    "elastic": {"grow_on": "e", "least": 1, "most": 2, "cooldown_s": 1, "deadline_s": 1},
    "poa": {"by": "nodes", "pace_per_s": 1, "make_before_break": True, "rest_s": 1},
    "bounded-loads": {"factor": 1.2, "by": "devices", "pause_s": 1},
}


def planned(planner: str, settings: dict[str, Any]) -> None:
    """Do what a balancer, and ``evenflow config``, does with a table ``[planners.x]``."""
    given = {f"planners.x.{name}": value for name, value in settings.items()}
    app = {"node.app": "evenflow.apps:discard"}
    check_planners(Config.load(None, {"planners.x.planner": planner, **app, **given}))


@pytest.mark.parametrize("planner", PLANNERS)
def test_planners_take_what_they_should(planner: str) -> None:
    planned(planner, PLANNERS[planner])


@pytest.mark.parametrize(
    ("planner", "name"), [(planner, name) for planner, some in PLANNERS.items() for name in some]
)
def test_a_wrong_kind_in_a_setting_of_a_planner_is_refused_in_words(
    planner: str, name: str
) -> None:
    wrong = 7 if isinstance(PLANNERS[planner][name], str) else "seven"
    for value in (wrong, [1], {"a": 1}, math.nan):
        with pytest.raises(ConfigError) as caught:
            planned(planner, {**PLANNERS[planner], name: value})
        assert caught.value.key == f"planners.x.{name}"
        assert is_in_words(caught.value, "planners.x")


def test_a_setting_that_there_is_not() -> None:
    with pytest.raises(ConfigError) as caught:
        planned("weighted", {"tolerence": 0.1})
    assert str(caught.value).startswith(
        "planners.x.tolerence = 0.1: unknown setting; did you mean 'tolerance'? (known: "
    )


def test_a_setting_that_must_be_given() -> None:
    with pytest.raises(ConfigError, match=r"planners\.x\.grow_on: must be given"):
        planned("elastic", {})


def test_a_maker_of_others_that_raises_is_told_by_its_table() -> None:
    def make(*, level: Any) -> int:
        return int(level)

    with pytest.raises(ConfigError, match=r"planners\.theirs = .*: is refused: invalid"):
        call_with(make, {"level": "high"}, "planners.theirs")
