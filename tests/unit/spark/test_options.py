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


def test_the_topic_declares_the_columns_of_its_payloads_and_the_query_may_name_others(
    tmp_path: Path,
) -> None:
    record = '{"type": "record", "name": "r", "fields": [{"name": "v", "type": "double"}]}'
    (tmp_path / "report.avsc").write_text(record)
    file = tmp_path / "evenflow.toml"
    file.write_text(
        """
        [topics.raw]
        served = true
        encoding = "struct"
        fields = "v DOUBLE, n INT"
        [topics.reports]
        served = true
        encoding = "avro"
        avro_schema = "report.avsc"
        """
    )
    raw = Options.of({"topic": "raw", "config": str(file)})
    assert (raw.encoding, raw.fields) == ("struct", "v DOUBLE, n INT")
    raw = Options.of({"topic": "raw", "config": str(file), "encoding": "json", "fields": "a INT"})
    assert (raw.encoding, raw.fields) == ("json", "a INT")
    for more in ({}, {"avroSchema": record}, {"avroSchema": str(tmp_path / "report.avsc")}):
        reports = Options.of({"topic": "reports", "config": str(file), **more})
        assert (reports.encoding, reports.fields) == ("avro", "`v` DOUBLE")
        assert reports.avro_schema == record


@pytest.mark.parametrize(
    ("name", "value", "words"),
    [
        ("encoding", "xml", "json, struct, avro"),
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
