"""The overlay store as a table and a sink of Spark, with real brokers and a real Spark."""

from __future__ import annotations

import time
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from evenflow.durable.archive import Archive
from evenflow.durable.frames import archive_topic, encode_bundle
from evenflow.durable.spark.options import WriteOptions
from evenflow.durable.spark.sink import Payloads, publisher_of, store
from evenflow.errors import UnknownTopic
from evenflow.model.ids import Position
from evenflow.overlay.broker.local import LocalBrokers
from evenflow.overlay.client.blocking import Client
from evenflow.overlay.space.coordinate import Coordinate
from evenflow.slices.consumer.arrow_batches import SCHEMA
from evenflow.slices.consumer.row_numbers import Span, join_spans, numbered
from evenflow.spark.session import session

pytestmark = [pytest.mark.processes, pytest.mark.spark, pytest.mark.timeout(200)]
WRITER = 2**63 + 1
PLACES = [(0.2, 0.3), (0.7, 0.2), (0.5, 0.6)]


@pytest.fixture(scope="module")
def spark() -> Iterator[Any]:
    one = session("store")
    yield one
    one.stop()


@pytest.fixture(scope="module")
def brokers(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    places = {f"b{number}": Coordinate(*place) for number, place in enumerate(PLACES)}
    with LocalBrokers(places, tmp_path_factory.mktemp("store"), silence_s=1.5) as brokers:
        brokers.start_all()
        yield ",".join(brokers.addresses.values())


@pytest.fixture(scope="module")
def client(brokers: str) -> Iterator[Client]:
    with Client(brokers.split(",")) as client:
        yield client


def reading(spark: Any, brokers: str, topic: str, **options: object) -> Any:
    reader = spark.read.format("evenflow-store").option("topic", topic).option("brokers", brokers)
    return reader.options(**options).load()


def test_a_time_range_is_a_table_in_partitions(spark: Any, brokers: str, client: Client) -> None:
    client.publish_all("meters", [b"%d" % number for number in range(300)])
    middle = time.time()
    client.publish_all("meters", [b"%d" % number for number in range(300, 400)])
    found = reading(spark, brokers, "meters", partitions=3)
    assert found.rdd.getNumPartitions() == 3
    rows = found.selectExpr("*", "unix_micros(time) AS micros").orderBy("time_ns").collect()
    assert [int(row.payload) for row in rows] == list(range(400))
    assert all(0 <= row.time_ns // 1_000 - row.micros < 1 for row in rows)
    begin = datetime.fromtimestamp(middle, UTC).isoformat()
    since = reading(spark, brokers, "meters", start=begin, partitions=1)
    assert since.count() == 100


def test_a_sink_stores_every_batch_once(
    spark: Any, brokers: str, client: Client, tmp_path: Path
) -> None:
    table = spark.range(50).selectExpr("CAST(id AS STRING) AS payload")
    writing = table.write.format("evenflow-store").mode("append").option("topic", "table")
    for _ in range(2):
        writing.option("brokers", brokers).option("name", "once").save()
    stored = sorted(int(m.payload) for m in client.read("table", 0, time.time_ns()))
    assert stored == list(range(50))

    source = tmp_path / "in"
    table.write.text(str(source))
    stream = spark.readStream.schema("payload STRING").text(str(source))
    query = (
        stream.writeStream.format("evenflow-store")
        .options(topic="stream", brokers=brokers, name="q")
        .option("checkpointLocation", str(tmp_path / "checkpoint"))
        .trigger(availableNow=True)
        .start()
    )
    assert query.awaitTermination(60)
    # Spark died before it noted the batch: it runs again, its rows in another order.
    rows = [str(number).encode() for number in reversed(range(50))]
    again = WriteOptions("stream", tuple(brokers.split(",")), "q")
    store(again, [Payloads(rows[:20]), None, Payloads(rows[20:])], publisher_of("q", 0))
    stored = sorted(int(m.payload) for m in client.read("stream", 0, time.time_ns()))
    assert stored == list(range(50))


def rows_of(slice_id: int, sender: str, ids: range) -> pa.RecordBatch:
    """Items of one writer, whose numbers in the slice are their ids."""
    count = len(ids)
    batch = pa.RecordBatch.from_pydict(
        {
            "slice": [slice_id] * count,
            "sender": [sender] * count,
            "id": list(ids),
            "time": [1_000_000 * number for number in ids],
            "payload": [b"%d" % number for number in ids],
        },
        schema=SCHEMA,
    )
    return numbered(batch, join_spans([Span(slice_id, WRITER, ids[0], ids[-1])]))


def test_items_of_a_durable_topic_are_a_table_of_which_only_what_is_wanted_is_read(
    spark: Any, brokers: str, client: Client
) -> None:
    archive = Archive(client, "fleet", 2)
    archive.open()
    for number in range(4):
        ids = range(1 + 10 * number, 11 + 10 * number)
        archive.add([rows_of(number, f"car-{number}", ids)], Position({WRITER: number + 1}))
    dead = encode_bundle([rows_of(9, "x", range(1, 3))], Position(), "of one that died")
    client.publish_all(archive_topic("fleet"), dead)
    table = reading(spark, brokers, "fleet", rows="items")
    assert table.where("slice = 99").count() == 0
    assert sorted(row.id for row in table.collect()) == list(range(1, 41))
    assert {row.writer for row in table.collect()} == {f"{WRITER:016x}"}
    assert table.rdd.getNumPartitions() == 4  # a bundle each
    for where, ids, bundles in (
        ("slice = 2", range(21, 31), 1),
        ("sender IN ('car-0', 'car-3')", [*range(1, 11), *range(31, 41)], 2),
        ("time > TIMESTAMP '1970-01-01 00:00:35Z'", range(36, 41), 1),
        ("slice = 1 AND time < TIMESTAMP '1970-01-01 00:00:05Z'", [], 0),
    ):
        found = reading(spark, brokers, "fleet", rows="items", pushFilters="true").where(where)
        assert sorted(row.id for row in found.collect()) == list(ids)
        assert found.rdd.getNumPartitions() == max(bundles, 1)


def test_a_stream_from_the_store_has_every_item_once_across_restarts(
    spark: Any, brokers: str, client: Client, tmp_path: Path
) -> None:
    archive = Archive(client, "moving", 2)
    archive.open()
    given = {"topic": "moving", "brokers": brokers, "rows": "items", "maxItemsPerTrigger": 10}

    def add(first: int, last: int) -> None:
        rows = [rows_of(0, "car", range(first, last + 1))]
        archive.add(rows, Position({WRITER: last}))

    def run() -> list[int]:
        query = (
            spark.readStream.format("evenflow-store")
            .options(**given)
            .load()
            .selectExpr("id")
            .writeStream.format("parquet")
            .option("path", str(tmp_path / "out"))
            .option("checkpointLocation", str(tmp_path / "checkpoint"))
            .trigger(availableNow=True)
            .start()
        )
        assert query.awaitTermination(120)
        assert query.exception() is None
        return sorted(row.id for row in spark.read.parquet(str(tmp_path / "out")).collect())

    add(1, 8)
    add(9, 16)
    assert run() == list(range(1, 17))
    # Spark died before it noted the last batch, and more came meanwhile.
    commits = sorted((tmp_path / "checkpoint" / "commits").glob("[0-9]*"))
    assert len(commits) == 2  # a bundle each
    commits[-1].unlink()
    add(17, 20)
    assert run() == list(range(1, 21))


def test_what_is_not_there_is_said(spark: Any, brokers: str, client: Client) -> None:
    client.publish_all(archive_topic("kept"), encode_bundle([], Position(), "none"))
    client.publish("plain", b"x")
    for topic, rows, said in [
        ("nowhere", "messages", "no topic 'nowhere'"),
        ("nowhere", "items", "does 'evenflow archive' run"),
        ("kept", "messages", r'add .option\("rows", "items"\)'),
        ("plain", "items", "has messages, not items"),
    ]:
        with pytest.raises(Exception, match=said):
            reading(spark, brokers, topic, rows=rows).count()
    with pytest.raises(UnknownTopic):  # and asking makes nothing
        list(client.read("nowhere"))


def test_fields_are_decoded(spark: Any, brokers: str, client: Client) -> None:
    client.publish_all("speeds", [b'{"speed": 1.5}', b"no object", b'{"lane": 2}'])
    found = reading(spark, brokers, "speeds", fields="speed DOUBLE, lane INT", partitions=2)
    rows = found.orderBy("time_ns").select("speed", "lane").collect()
    assert [tuple(row) for row in rows] == [(1.5, None), (None, None), (None, 2)]


def test_a_wrong_option_is_said_before_anything_is_read(spark: Any) -> None:
    options = {"topic": "meters", "brokers": "127.0.0.1:1", "begin": "1"}
    with pytest.raises(Exception, match="option begin"):
        spark.read.format("evenflow-store").options(**options).load()
