from __future__ import annotations

from pathlib import Path

import pytest

from evenflow.errors import ConfigError
from evenflow.spark.options import Options


@pytest.fixture
def config(tmp_path: Path) -> str:
    file = tmp_path / "evenflow.toml"
    file.write_text("[topics.fleet]\nserved = true\n[topics.other]\n")
    return str(file)


def test_has_defaults(config: str) -> None:
    options = Options.of({"topic": "fleet", "config": config})
    assert options.consumer == "spark"
    assert options.starting == "earliest"
    assert options.max_items is None


def test_names_are_read_without_regard_to_case(config: str) -> None:
    given = {
        "TOPIC": "fleet",
        "config": config,
        "domain": "7",
        "maxitemspertrigger": "500",
        "startingepochs": '{"00000000000000aa": 3}',
        "consumer": "alerts",
        "readTimeout": "2.5",
    }
    options = Options.of(given)
    assert options.config.domain.id == 7
    assert (options.max_items, options.starting) == (500, {0xAA: 3})
    assert (options.consumer, options.read_timeout_s) == ("alerts", 2.5)


@pytest.mark.parametrize(
    ("name", "value", "words"),
    [
        ("topic", "flet", "did you mean 'fleet'"),
        ("topic", "other", "served.*must be true"),
        ("tpoic", "fleet", "did you mean 'topic'"),
        ("consumer", "a b", "option consumer.*letters"),
        ("domain", "x", "option domain.*whole number"),
        ("domain", "900", "0 to 230"),
        ("maxItemsPerTrigger", "0", "above 0"),
        ("maxItemsPerTrigger", "many", "above 0"),
        ("startingEpochs", "yesterday", "'earliest', 'latest' or JSON"),
        ("startingEpochs", '{"a": 1}', "'earliest', 'latest' or JSON"),
        ("readTimeout", "soon", "number of seconds"),
        ("readTimeout", "-1", "number of seconds"),
        ("config", "nowhere.toml", "cannot be read"),
    ],
)
def test_says_what_is_wrong(config: str, name: str, value: str, words: str) -> None:
    with pytest.raises(ConfigError, match=f"(?s){words}"):
        Options.of({"topic": "fleet", "config": config, name: value})


def test_needs_a_topic(config: str) -> None:
    with pytest.raises(ConfigError, match=r"topic.*missing"):
        Options.of({"config": config})
