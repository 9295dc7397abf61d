from __future__ import annotations

import re
from dataclasses import fields
from types import SimpleNamespace
from typing import Any

import pytest

from evenflow.cli.commands import COMMANDS, Later
from evenflow.config import MetricsConfig
from evenflow.metrics.catalogue import PANELS
from evenflow.metrics.panel import COUNTER, GAUGE, Metric, Panel, counter, gauge

ALL = [(panel, metric) for panel in PANELS for metric in panel.metrics]


def test_a_metric_is_an_attribute_or_what_a_function_finds() -> None:
    thing = SimpleNamespace(inner=SimpleNamespace(items=3), names=["a", "b"])
    assert counter("x", "inner.items", "Items.").values(thing) == {(): 3.0}
    assert gauge("y", lambda one: len(one.names), "Names.").values(thing) == {(): 2.0}


def test_a_metric_with_labels_gives_a_value_for_each() -> None:
    by_name = gauge("y", lambda one: {(name,): 1.0 for name in one}, "Names.", ("name",))
    assert by_name.values(["a", "b"]) == {("a",): 1.0, ("b",): 1.0}


def test_what_has_nothing_to_say_is_left_out() -> None:
    assert gauge("y", lambda one: None, "Names.").values(object()) == {}


def test_no_name_is_given_twice() -> None:
    names = [metric.name for _, metric in ALL]
    assert len(set(names)) == len(names)


@pytest.mark.parametrize(("panel", "metric"), ALL, ids=lambda one: getattr(one, "name", ""))
def test_names_keep_to_the_rules_of_prometheus(panel: Panel, metric: Metric) -> None:
    assert re.fullmatch(r"evenflow(_[a-z]+)+", metric.name)
    assert metric.kind in {COUNTER, GAUGE}
    assert metric.name.endswith("_total") == (metric.kind == COUNTER)
    assert metric.meaning.endswith(".")
    assert not set(panel.labels) & set(metric.labels)


def options_of(name: str) -> set[str]:
    """What a command understands."""
    found: Any = COMMANDS.get(name)
    loaded = found.load() if isinstance(found, Later) else found
    return {spelling for option in loaded.params for spelling in option.opts}


def test_every_command_with_the_option_has_a_key_and_every_key_a_command() -> None:
    optioned = {name for name in COMMANDS if "--metrics" in options_of(name)}
    assert {one.name for one in fields(MetricsConfig)} == optioned


def test_what_runs_until_stopped_has_the_option() -> None:
    """A command that can be told when to end by itself would else go on."""
    lasting = {name for name in COMMANDS if "--for" in options_of(name)}
    assert lasting | {"archive", "broker"} <= {one.name for one in fields(MetricsConfig)}
