from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from pyspark.sql.types import BinaryType, LongType, StructField, StructType

from evenflow.config import Config
from evenflow.errors import ConfigError, DeliveryTimeout, UsageError
from evenflow.spark import sink, sink_publishers
from evenflow.spark.options import SinkOptions
from evenflow.spark.sink import Rows, StreamWriter, check_columns
from evenflow.spark.sink_publishers import outbox_of

PAYLOAD = StructType([StructField("payload", BinaryType())])


class Published:
    """Takes the place of a publisher: notes what it is given."""

    def __init__(self) -> None:
        self.calls: list[tuple[list[bytes], list[int], object]] = []
        self.flushed = 0
        self.newest_unit = -1
        self.late = False
        self.headers: list[Any] = []

    def publish_unit(
        self,
        unit: int,
        payloads: Any,
        *,
        senders: object = "",
        ids: Any = (),
        times: object = None,
        headers: Any = None,
        timeout: float,
    ) -> None:
        self.newest_unit = unit
        if len(payloads):
            self.headers.append(headers)
            self.calls.append((payloads.to_pylist(), list(map(int, np.asarray(ids))), senders))

    def flush(self, timeout: float) -> None:
        self.flushed += 1
        if self.late:
            raise DeliveryTimeout("items", "flush", timeout, items=1, slices=(0,), cause="a test")


@pytest.fixture
def published(monkeypatch: pytest.MonkeyPatch) -> Published:
    publisher = Published()
    monkeypatch.setattr(sink_publishers, "_opened", lambda *_: publisher)
    monkeypatch.setattr(sink, "PUBLISHERS", sink_publishers.SinkPublishers())
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
            published.newest_unit = -1
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
        assert published.newest_unit == 0

    def test_a_flush_that_times_out_repeats_nothing(
        self, tmp_path: Path, published: Published
    ) -> None:
        writer = writer_in(tmp_path)
        messages = [writer.write(iter(rows(b"a")))]
        published.late = True
        with pytest.raises(DeliveryTimeout):
            writer.commit(messages, 3)
        published.late = False
        writer_in(tmp_path).commit(messages, 3)
        assert (len(published.calls), published.flushed) == (1, 2)

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


def test_two_sinks_have_two_outboxes(tmp_path: Path) -> None:
    one = SinkOptions("items", Config(), tmp_path, name="a")
    assert len({outbox_of(one), outbox_of(replace(one, name="b")), outbox_of(one)}) == 2
    assert outbox_of(replace(one, topic="answers")) != outbox_of(one)


def test_the_outbox_of_another_checkpoint_is_refused(tmp_path: Path, published: Published) -> None:
    published.newest_unit = 5
    writer = writer_in(tmp_path)
    with pytest.raises(ConfigError, match="has batch 5, and the query is at batch 0"):
        writer.commit([writer.write(iter(rows(b"a")))], 0)
    assert published.calls == []


class TestOptions:
    def test_are_read(self, tmp_path: Path) -> None:
        given = {"topic": "items", "outbox": str(tmp_path), "NAME": "x", "deliverwithin": "3"}
        options = SinkOptions.of(given)
        assert (options.name, options.outbox, options.deliver_within_s) == ("x", tmp_path, 3.0)

    def test_need_an_outbox(self) -> None:
        with pytest.raises(ConfigError, match="outlives the driver"):
            SinkOptions.of({"topic": "items"})

    def test_know_the_topics(self, tmp_path: Path) -> None:
        with pytest.raises(ConfigError, match="no such topic"):
            SinkOptions.of({"topic": "itms", "outbox": str(tmp_path)})
