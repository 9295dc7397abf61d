"""Which queries begin with an archive, and what of an offset goes to the live stream."""

from __future__ import annotations

import pickle
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from pyspark.sql.streaming.datasource import ReadAllAvailable, ReadMaxRows
from pyspark.sql.types import StructType
from tests.unit.durable.spark.test_reading import archived, items
from tests.unit.durable.stores import Store

from evenflow.durable.archive import Archive
from evenflow.durable.spark import joined
from evenflow.durable.spark.joined import JoinedReader, JoinedSource
from evenflow.durable.spark.source import PartPartition
from evenflow.errors import ConfigError, DomainError
from evenflow.spark.source import StreamReader

TEXT = f"{5:016x}"


@pytest.fixture
def given(tmp_path: Path) -> dict[str, str]:
    file = tmp_path / "evenflow.toml"
    file.write_text(
        "[topics.fleet]\nserved = true\ndurable = true\n[topics.plain]\nserved = true\n"
        '[store]\nbrokers = ["127.0.0.1:1"]\n'
    )
    return {"config": str(file), "topic": "fleet"}


def reader_of(options: dict[str, str]) -> Any:
    return JoinedSource(options).streamReader(StructType([]))


def test_only_a_durable_topic_that_is_read_from_its_beginning_has_a_past(
    given: dict[str, str],
) -> None:
    assert isinstance(reader_of(given), JoinedReader)
    assert type(reader_of({**given, "topic": "plain"})) is StreamReader
    assert type(reader_of({**given, "startingEpochs": "latest"})) is StreamReader
    assert "payload" in JoinedSource({**given, "startingTimestamp": "5"}).schema()


@pytest.mark.parametrize(
    ("text", "micros"), [("1500", 1_500_000), ("1970-01-01T00:00:01.5Z", 1_500_000)]
)
def test_a_time_is_milliseconds_or_iso(given: dict[str, str], text: str, micros: int) -> None:
    assert reader_of({**given, "startingtimestamp": text})._oldest == micros


def test_another_time_is_refused(given: dict[str, str]) -> None:
    for time in ("yesterday", "1700000000000000"):
        with pytest.raises(ConfigError, match="startingTimestamp"):
            reader_of({**given, "startingTimestamp": time})


class Live:
    """Takes the place of the live reader: notes what it is asked."""

    def __init__(self) -> None:
        self.calls: list[tuple[Any, ...]] = []
        self.latest = {TEXT: 9}

    def initialOffset(self) -> dict[str, int]:  # noqa: N802
        self.calls.append(("register",))
        return {TEXT: 1}

    def latestOffset(self, start: Any, limit: Any) -> Any:  # noqa: N802
        self.calls.append(("latest", start, limit))
        return self.latest

    def partitions(self, start: Any, end: Any) -> list[str]:
        self.calls.append(("partitions", start, end))
        return ["live"]

    def commit(self, end: Any) -> None:
        self.calls.append(("commit", end))


def test_offsets_in_the_archive_become_positions_of_the_live_stream(
    given: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    store: Any = Store()
    archived(store, items(1, 5), items(6, 5))
    reader = reader_of(given)
    assert pickle.loads(pickle.dumps(reader))._topic == "fleet"
    live = reader._live = Live()
    monkeypatch.setattr(reader, "_archive", lambda: Archive(store, "fleet", 2))
    begin = reader.initialOffset()
    end = reader.latestOffset(begin, ReadMaxRows(6))
    assert end["archive"]["position"] == {TEXT: 1}
    (part,) = reader.partitions(begin, end)
    assert isinstance(part, PartPartition)
    reader.commit(end)
    assert live.calls == []
    last = reader.latestOffset(end, ReadAllAvailable())
    assert last["archive"]["position"] == {TEXT: 2}
    assert live.calls == [("register",)]
    limit = ReadAllAvailable()
    assert reader.latestOffset(last, limit) == {TEXT: 9}
    assert reader.partitions(last, {TEXT: 9}) == ["live"]
    reader.commit({TEXT: 9})
    assert live.calls[1:] == [
        ("latest", {TEXT: 2}, limit),
        ("partitions", {TEXT: 2}, {TEXT: 9}),
        ("commit", {TEXT: 9}),
    ]
    live.latest = {TEXT: 2}  # nothing new: the offset stays what it was
    assert reader.latestOffset(last, limit) is last


def test_items_of_the_archive_have_the_columns_of_the_stream(
    given: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    store: Any = Store()
    archived(store, items(1, 5))
    reader = reader_of(given)
    reader._live = Live()
    monkeypatch.setattr(reader, "_archive", lambda: Archive(store, "fleet", 2))
    begin = reader.initialOffset()
    (part,) = reader.partitions(begin, reader.latestOffset(begin, ReadAllAvailable()))

    class Open:
        def __init__(self, _: object) -> None:
            pass

        def __enter__(self) -> Any:
            return store

        def __exit__(self, *_: object) -> None:
            """It stays open."""

    monkeypatch.setattr(joined, "Client", Open)
    (batch,) = reader.read(part)
    assert batch.schema.names == ["slice", "sender", "id", "time", "payload"]
    assert batch.column("id").to_pylist() == [1, 2, 3, 4, 5]


def test_the_stores_client_is_closed_though_the_live_stream_does_not_stop_well(
    given: dict[str, str],
) -> None:
    class Broken(Live):
        def stop(self) -> None:
            raise DomainError("topic 'fleet'", "a test")

    closed = []
    reader = reader_of(given)
    reader._live = Broken()
    reader._client = SimpleNamespace(close=lambda: closed.append("client"))
    with pytest.raises(DomainError):
        reader.stop()
    assert closed == ["client"]
