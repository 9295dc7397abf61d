from __future__ import annotations

import pytest

from evenflow.config import EventConfig, MonitorConfig, PlannerConfig, RuleConfig
from evenflow.errors import ConfigError


def test_bounds_become_numbers_in_rising_order() -> None:
    assert MonitorConfig(ranges={"cpu": [30, 70]}).ranges == {"cpu": (30.0, 70.0)}  # type: ignore[dict-item]


@pytest.mark.parametrize(
    "ranges", [3, {"c p": [1]}, {"cpu": 3}, {"cpu": [2, 1]}, {"cpu": [1, 1]}, {"cpu": [True]}]
)
def test_other_bounds_are_refused(ranges: object) -> None:
    with pytest.raises(ConfigError, match=r"monitor\.ranges"):
        MonitorConfig(ranges=ranges)  # type: ignore[arg-type]


@pytest.mark.parametrize("need", ["all", "any", 1, 7])
def test_how_many_nodes_an_event_needs(need: int | str) -> None:
    assert EventConfig(need=need).need == need


@pytest.mark.parametrize("need", [0, -1, True, 1.5, "most"])
def test_other_needs_are_refused(need: object) -> None:
    with pytest.raises(ConfigError, match=r"events\.event\.need"):
        EventConfig(need=need)  # type: ignore[arg-type]


def test_settings_are_numbers_and_texts() -> None:
    assert (
        PlannerConfig("a", "count", {"tolerance": 0.1, "mode": "fast"}).settings["mode"] == "fast"
    )
    with pytest.raises(ConfigError, match=r"planners\.a\.settings"):
        PlannerConfig("a", "count", {"tolerance": float("nan")})
    with pytest.raises(ConfigError, match=r"rules\.settings"):
        RuleConfig("hot", "a", settings={"deep": {}})  # type: ignore[dict-item]
