from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import pytest

from evenflow.durable.spark.options import Decoding, ReadOptions, WriteOptions, moment
from evenflow.errors import ConfigError, OverlayError

GOOD = {"topic": "meters", "brokers": "127.0.0.1:7400, 127.0.0.1:7401"}


def test_options_are_read() -> None:
    found = ReadOptions.of({**GOOD, "START": "10", "end": "20.5", "partitions": "3"})
    assert found.brokers == ("127.0.0.1:7400", "127.0.0.1:7401")
    assert (found.topic, found.items, found.partitions) == ("meters", False, 3)
    assert (found.start, found.end) == (10_000_000_000, 20_500_000_000)
    assert ReadOptions.of({**GOOD, "rows": "items"}).topic == "index/meters"
    assert WriteOptions.of({**GOOD, "level": "3", "name": "q"}).level == 3


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"brokers": "127.0.0.1:1"}, "topic"),
        ({"topic": "meters"}, r"store\.brokers"),
        ({**GOOD, "broker": "x"}, "did you mean 'brokers'"),
        ({**GOOD, "brokers": "nowhere"}, "HOST:PORT"),
        ({**GOOD, "brokers": ""}, "HOST:PORT"),
        ({**GOOD, "start": "yesterday"}, "2026-01-31T12:00:00Z"),
        ({**GOOD, "start": "20", "end": "10"}, "later than start"),
        ({**GOOD, "partitions": "0"}, "whole number"),
        ({**GOOD, "rows": "all"}, "'messages' or 'items'"),
        ({**GOOD, "timeout": "soon"}, "seconds"),
        ({**GOOD, "encoding": "xml"}, "json, struct, avro"),
        ({**GOOD, "encoding": "avro", "avroSchema": "nowhere.avsc"}, "its file"),
        ({**GOOD, "encoding": "avro", "avroSchema": "{}", "fields": "a INT"}, "schema's"),
    ],
)
def test_a_wrong_option_is_named(given: dict[str, str], said: str) -> None:
    with pytest.raises(ConfigError, match=said):
        ReadOptions.of(given)


def test_columns_of_payloads_are_the_querys_else_the_durable_topics(tmp_path: Path) -> None:
    schema = '{"type": "record", "name": "r", "fields": [{"name": "a", "type": "double"}]}'
    (tmp_path / "r.avsc").write_text(schema)
    (tmp_path / "evenflow.toml").write_text(
        '[topics.fleet]\nserved = true\nfields = "speed DOUBLE"\n'
        '[topics.engines]\nserved = true\nencoding = "avro"\navro_schema = "r.avsc"\n'
    )
    given = {**GOOD, "topic": "fleet", "config": str(tmp_path / "evenflow.toml")}
    assert ReadOptions.of(given).decoding.fields == ""
    items = {**given, "rows": "items"}
    assert ReadOptions.of(items).decoding == Decoding("speed DOUBLE")
    assert ReadOptions.of({**items, "fields": "lane INT"}).decoding == Decoding("lane INT")
    assert ReadOptions.of({**items, "fields": ""}).decoding == Decoding()
    engines = ReadOptions.of({**items, "topic": "engines"}).decoding
    assert (engines.fields, engines.encoding, engines.avro_schema) == ("`a` DOUBLE", "avro", schema)
    named = ReadOptions.of({**GOOD, "encoding": "avro", "avroSchema": schema})
    assert named.decoding.fields == "`a` DOUBLE"


@pytest.mark.parametrize("name", ["", "x" * 2000])
def test_a_topic_that_cannot_be_is_refused(name: str) -> None:
    with pytest.raises(OverlayError):
        ReadOptions.of({**GOOD, "topic": name})


def test_a_sink_refuses_what_it_cannot_use() -> None:
    for bad in ({"level": "4"}, {"name": "a b"}, {"start": "1"}):
        with pytest.raises(ConfigError):
            WriteOptions.of({**GOOD, **bad})


@pytest.mark.parametrize(
    ("text", "when"),
    [
        ("0", None),
        ("1.5", datetime(1970, 1, 1, 0, 0, 1, 500_000, tzinfo=UTC)),
        ("2026-01-31", datetime(2026, 1, 31, tzinfo=UTC)),
        ("2026-01-31T12:00:00+02:00", datetime(2026, 1, 31, 10, tzinfo=UTC)),
        ("2026-01-31T12:00:00.000001Z", datetime(2026, 1, 31, 12, 0, 0, 1, tzinfo=UTC)),
    ],
)
def test_a_moment_is_seconds_or_a_time(text: str, when: datetime | None) -> None:
    expected = 1 if when is None else round(when.timestamp() * 1e6) * 1_000
    assert moment(text) == expected
