from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from pyspark.sql.types import BinaryType, LongType, StructField, StructType

from evenflow.config import Config
from evenflow.errors import ConfigError, UsageError
from evenflow.spark import sink
from evenflow.spark.options import SinkOptions
from evenflow.spark.sink import Ledger, Rows, StreamWriter, check_columns

PAYLOAD = StructType([StructField("payload", BinaryType())])


class Published:
    """Takes the place of a publisher: notes what it is given."""

    def __init__(self) -> None:
        self.calls: list[tuple[list[bytes], list[int], object]] = []
        self.flushed = 0

    def publish_columns(
        self, payloads: pa.Array, *, senders: object, ids: Any, times: object, timeout: float
    ) -> None:
        self.calls.append((payloads.to_pylist(), list(map(int, np.asarray(ids))), senders))

    def flush(self, timeout: float) -> None:
        self.flushed += 1


@pytest.fixture
def published(monkeypatch: pytest.MonkeyPatch) -> Published:
    publisher = Published()
    monkeypatch.setattr(sink, "_publisher", lambda options: publisher)
    return publisher


def writer_in(folder: Path, schema: StructType = PAYLOAD) -> StreamWriter:
    return StreamWriter(SinkOptions("items", Config(), folder, name="alerts"), schema)


def rows(*payloads: bytes) -> list[pa.RecordBatch]:
    return [pa.record_batch({"payload": pa.array([one], pa.binary())}) for one in payloads]


class TestWriter:
    def test_publishes_what_the_tasks_had_with_ids_that_repeat(
        self, tmp_path: Path, published: Published
    ) -> None:
        writer = writer_in(tmp_path)
        messages = [
            writer.write(iter(rows(b"a", b"b"))),
            writer.write(iter([])),
            writer.write(iter(rows(b"c"))),
        ]
        writer.commit([*messages, None], 7)
        first = 7 << 32
        assert published.calls == [([b"a", b"b", b"c"], [first, first + 1, first + 2], "alerts")]
        assert published.flushed == 1

    def test_a_result_has_the_same_id_in_whatever_order_tasks_hand_the_results_over(
        self, tmp_path: Path, published: Published
    ) -> None:
        given = []
        for number, order in enumerate([(b"a", b"b", b"b", b"c"), (b"c", b"b", b"a", b"b")]):
            # Another ledger: as if the driver had died before its note.
            writer = writer_in(tmp_path / str(number))
            writer.commit([writer.write(iter(rows(one))) for one in order], 2)
            payloads, ids, _ = published.calls[-1]
            assert payloads == list(order)
            given.append(sorted(zip(payloads, ids, strict=True)))
        assert given[0] == given[1]
        assert [id for _, id in given[0]] == [(2 << 32) + rank for rank in range(4)]

    def test_a_batch_that_is_run_again_is_not_published_again(
        self, tmp_path: Path, published: Published
    ) -> None:
        for _ in range(2):
            writer = writer_in(tmp_path)
            writer.commit([writer.write(iter(rows(b"a")))], 3)
        assert len(published.calls) == 1
        writer = writer_in(tmp_path)
        writer.commit([writer.write(iter(rows(b"b")))], 4)
        assert len(published.calls) == 2

    def test_an_empty_batch_is_noted_and_publishes_nothing(
        self, tmp_path: Path, published: Published
    ) -> None:
        writer = writer_in(tmp_path)
        writer.commit([Rows(b"")], 0)
        assert published.calls == []
        assert Ledger(tmp_path, "items", "alerts").newest() == 0

    def test_ids_of_the_query_are_kept(self, tmp_path: Path, published: Published) -> None:
        schema = StructType([*PAYLOAD.fields, StructField("id", LongType())])
        writer = writer_in(tmp_path, schema)
        batch = pa.record_batch({"payload": pa.array([b"a"]), "id": pa.array([99])})
        writer.commit([writer.write(iter([batch]))], 0)
        assert published.calls[0][1] == [99]


@pytest.mark.parametrize("names", [["sender"], ["payload", "speed"], []])
def test_other_columns_are_refused_in_words(names: list[str]) -> None:
    with pytest.raises(UsageError, match="to_json"):
        check_columns(names)


def test_two_sinks_have_two_ledgers(tmp_path: Path) -> None:
    Ledger(tmp_path / "new", "items", "a").note(5)
    assert Ledger(tmp_path / "new", "items", "a").newest() == 5
    assert Ledger(tmp_path / "new", "items", "b").newest() == -1
    assert Ledger(tmp_path / "new", "answers", "a").newest() == -1


def test_the_ledger_of_another_checkpoint_is_refused(tmp_path: Path, published: Published) -> None:
    Ledger(tmp_path, "items", "alerts").note(5)
    writer = writer_in(tmp_path)
    with pytest.raises(ConfigError, match="has batch 5, and the query is at batch 0"):
        writer.commit([writer.write(iter(rows(b"a")))], 0)
    assert published.calls == []


@pytest.mark.parametrize("text", ["", "[]", '{"batch": "x"}', "{}"])
def test_a_damaged_ledger_is_told(tmp_path: Path, text: str) -> None:
    (tmp_path / "items.a.json").write_text(text)
    with pytest.raises(ConfigError, match="ledger"):
        Ledger(tmp_path, "items", "a").newest()


class TestOptions:
    def test_are_read(self, tmp_path: Path) -> None:
        given = {"topic": "items", "ledger": str(tmp_path), "NAME": "x", "deliverwithin": "3"}
        options = SinkOptions.of(given)
        assert (options.name, options.ledger, options.deliver_within_s) == ("x", tmp_path, 3.0)

    def test_need_a_ledger(self) -> None:
        with pytest.raises(ConfigError, match="outlives the driver"):
            SinkOptions.of({"topic": "items"})

    def test_know_the_topics(self, tmp_path: Path) -> None:
        with pytest.raises(ConfigError, match="no such topic"):
            SinkOptions.of({"topic": "itms", "ledger": str(tmp_path)})
