from __future__ import annotations

from dataclasses import fields
from importlib.metadata import EntryPoint
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evenflow.config import (
    BalancerConfig,
    DomainConfig,
    GatewayConfig,
    NodeConfig,
    PublisherConfig,
    StoreConfig,
    TopicConfig,
)
from evenflow.errors import ConfigError


@pytest.mark.parametrize(
    "assignment",
    [
        "random", "modulo:id", "hash:sender", "geo:lat,lon", "call:a.b:f", "call:a:C.f",
        "range:celsius,-20,80", "range:celsius, -2.5e1, .5",
    ],
)  # fmt: skip
def test_assignments_that_are_understood(assignment: str) -> None:
    assert TopicConfig(assignment=assignment).assignment == assignment


@pytest.mark.parametrize(
    "assignment",
    [
        "",
        "modulo",
        "modulo:",
        "hash:a b",
        "call:a",
        "Random",
        "range:a,1",
        "range:a,b,c",
        "tiles:9",
    ],
)
def test_assignments_that_are_not(assignment: str) -> None:
    with pytest.raises(ConfigError, match=r"topics\.items\.assignment"):
        TopicConfig(assignment=assignment)


def test_an_assignment_of_others_is_named_like_ours(monkeypatch: pytest.MonkeyPatch) -> None:
    point = EntryPoint("tiles", "their.package:tiles", "evenflow.assignments")
    monkeypatch.setattr("evenflow.registry.offered_in", lambda group: {point.name: point})
    assert TopicConfig(assignment="tiles:9").assignment == "tiles:9"
    with pytest.raises(ConfigError, match=r"entry point in the group evenflow\.assignments"):
        TopicConfig(assignment="tyles:9")


def test_a_section_made_in_code_is_checked_too() -> None:
    with pytest.raises(ConfigError, match=r"^node\.deliver_items = -1: must be"):
        NodeConfig(deliver_items=-1)


def test_nodes_that_are_silent_are_not_lost_by_the_times_of_a_gateway() -> None:
    with pytest.raises(ConfigError, match=r"must be below gateway\.idle_s \(5\)"):
        GatewayConfig(keep_alive_s=30.0, idle_s=5.0)


SECTIONS = [DomainConfig, TopicConfig, PublisherConfig, NodeConfig, BalancerConfig, StoreConfig]
KEYS = [(section, one.name) for section in SECTIONS for one in fields(section)]
VALUES = st.one_of(
    st.none(), st.booleans(), st.integers(), st.floats(), st.text(max_size=8), st.lists(st.text())
)


@given(st.sampled_from(KEYS), VALUES)
def test_any_value_is_taken_or_refused_by_name(key: tuple[Any, str], value: Any) -> None:
    section, name = key
    try:
        made = section(**{name: value})
    except ConfigError as error:
        assert error.key.endswith(f".{name}")  # noqa: PT017
        assert error.value is value  # noqa: PT017
    else:
        assert getattr(made, name) == (tuple(value) if isinstance(value, list) else value)
