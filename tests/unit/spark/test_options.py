from __future__ import annotations

from pathlib import Path

import pytest

from evenflow.errors import ConfigError
from evenflow.model.ids import Position
from evenflow.slices.consumer.splits import Point, Split
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
    assert options.max_items == 500
    assert options.starting == {"fleet": Point(Position({0xAA: 3}))}
    assert (options.consumer, options.read_timeout_s) == ("alerts", 2.5)


def test_places_are_words_or_offsets_as_in_a_checkpoint(config: str) -> None:
    split = '{"fleet": {"00000000000000aa": 3, "split": {"00000000000000aa": [4, 1, 7, 9]}}}'
    more = {"startingOffsets": "latest", "endingOffsets": split, "failOnDataLoss": "FALSE"}
    options = Options.of({"topic": "fleet", "config": config, **more})
    assert options.starting == "latest"
    assert options.ending == {"fleet": Point(Position({0xAA: 3}), {0xAA: Split(4, 1, 7, 9)})}
    assert not options.fail_on_loss


@pytest.mark.parametrize(
    "text",
    ["1700000000000", "2023-11-14T22:13:20", "2023-11-14 23:13:20+01:00"],
)
def test_a_time_is_milliseconds_or_iso_8601(config: str, text: str) -> None:
    options = Options.of({"topic": "fleet", "config": config, "startingTimestamp": text})
    assert options.since == 1_700_000_000_000_000


def test_several_topics_by_name_or_pattern(tmp_path: Path) -> None:
    file = tmp_path / "evenflow.toml"
    file.write_text(
        "".join(f"[topics.{name}]\nserved = true\n" for name in ("cars", "carts", "boats"))
        + "[topics.cards]\n[topics.ships]\nserved = true\nfields = 'n INT'\n"
    )

    def options(**given: str) -> Options:
        return Options.of({"config": str(file), **given})

    assert options(topics="cars, boats,cars").topics == ("cars", "boats")
    assert options(topicsPattern="car.*").topics == ("cars", "carts"), "cards are not served"
    assert options(topicsPattern=".*", fields="").fields == ""
    assert options(topics="cars").names_topics
    assert not options(topic="cars").names_topics
    for given, words in (
        ({"topics": "cars,cards"}, "served.*must be true"),
        ({"topics": " ,"}, "must name a topic"),
        ({"topicsPattern": "trains"}, r"no served topic.*\(boats, cars, carts, ships\)"),
        ({"topicsPattern": "("}, "is no pattern"),
        ({"topic": "cars", "topics": "boats"}, "one of topic and topics"),
        ({"topics": "cars,ships"}, "encoded differently"),
    ):
        with pytest.raises(ConfigError, match=f"(?s){words}"):
            options(**given)


def test_two_beginnings_are_one_too_many(config: str) -> None:
    given = {"startingOffsets": "latest", "startingTimestamp": "5"}
    with pytest.raises(ConfigError, match="startingOffsets is given, too"):
        Options.of({"topic": "fleet", "config": config, **given})


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
        ("startingOffsets", '{"other": {}}', "'earliest', 'latest' or JSON"),
        ("startingOffsets", "[]", "'earliest', 'latest' or JSON"),
        ("endingOffsets", "earliest", "must be 'latest' or JSON"),
        ("startingTimestamp", "noon", "ISO 8601"),
        ("startingTimestamp", "1700000000000000", "milliseconds since 1970.*after the year 9999"),
        ("failOnDataLoss", "no", "true or false"),
        ("minPartitions", "0", "above 0"),
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
