"""The Spark source on a real domain, with a real Spark."""

from __future__ import annotations

import json
import struct
from collections.abc import Callable, Iterator
from io import BytesIO
from pathlib import Path
from typing import Any

import fastavro
import pytest

from evenflow.config import Config
from evenflow.domain.channels import COSTS, PROPERTIES
from evenflow.domain.cyclone import Participant
from evenflow.model.messages import PropertyReport, SliceCosts
from evenflow.slices.balancer.balancer import Balancer
from evenflow.slices.node.node import Node
from evenflow.slices.publisher.publisher import Publisher
from evenflow.spark import figures, thinned
from evenflow.spark.session import session
from evenflow_experiments.report import Progress
from evenflow_experiments.spark.exactly_once import Trial

pytestmark = [pytest.mark.domain, pytest.mark.spark, pytest.mark.timeout(400)]


def served(domain_id: int, slices: int = 8) -> Config:
    items = {"slices": slices, "served": True, "assignment": "hash:id", "thin": "source"}
    topics = {"items": items, "plain": {}}
    return Config.load(None, {"domain.id": domain_id, "topics": topics, "publisher.block_s": 120.0})


@pytest.fixture(scope="module")
def spark() -> Iterator[Any]:
    one = session("tests")
    yield one
    one.stop()


@pytest.fixture
def config(domain_id: int) -> Config:
    return served(domain_id)


@pytest.fixture
def file(config: Config, tmp_path: Path) -> str:
    path = tmp_path / "evenflow.toml"
    path.write_text(config.as_toml())
    return str(path)


@pytest.fixture
def publisher(config: Config, eventually: Callable[..., None]) -> Iterator[Publisher]:
    """A publisher in a domain with a balancer and two serving nodes."""
    with Participant(config.domain) as participant, Balancer(config=config):
        nodes = [
            Node("items", None, name=f"node-{i}", config=config, participant=participant)
            for i in (1, 2)
        ]
        eventually(lambda: [len(node.slices) for node in nodes] == [4, 4], "slices are shared out")
        publisher = Publisher("items", config=config, participant=participant)
        yield publisher
        publisher.close()
        for node in nodes:
            node.close()


@pytest.mark.usefixtures("publisher")
def test_wrong_options_are_told_in_words(spark: Any, file: str) -> None:
    reader = spark.readStream.format("evenflow").option("config", file)
    for options, words in (
        ({}, "option topic"),
        ({"topic": "itms"}, "did you mean 'items'"),
        ({"topic": "plain"}, "topics.plain.served"),
        ({"topic": "items", "startingEpoch": "latest"}, "did you mean 'startingEpochs'"),
    ):
        with pytest.raises(Exception, match=words):
            reader.options(**options).load()


def test_a_domain_that_nobody_serves_is_told_in_words(
    spark: Any, file: str, tmp_path: Path
) -> None:
    items = spark.readStream.format("evenflow").option("config", file).option("topic", "items")
    query = (
        items.load()
        .writeStream.format("noop")
        .option("checkpointLocation", str(tmp_path / "checkpoint"))
        .start()
    )
    with pytest.raises(Exception, match="start 'evenflow balancer'"):
        query.awaitTermination(60)


def test_batches_have_as_many_items_as_the_limit_says_also_after_a_restart(
    spark: Any,
    file: str,
    tmp_path: Path,
    publisher: Publisher,
    eventually: Callable[..., None],
) -> None:
    """Epochs are larger than the limit; the query dies in a batch that ends inside of one."""
    count = 5_021
    publisher.publish_many(
        [json.dumps({"n": number}) for number in range(count)],
        ids=range(count),
        senders=[f"s{number % 7}" for number in range(count)],
    )
    publisher.flush()
    options = {"config": file, "topic": "items", "fields": "n INT"}
    table = spark.read.format("evenflow").options(**options).load()
    assert table.count() == count
    assert table.where("n = id AND sender = concat('s', n % 7)").count() == count

    batches: dict[int, list[int]] = {}
    planned: list[list[int]] = []

    def collect(batch: Any, number: int) -> None:
        ids = sorted(row.id for row in batch.select("id").collect())
        if number == 2:
            planned.append(ids)
            if len(planned) == 1:
                raise ValueError("the driver dies here")
        batches[number] = ids

    def run() -> Any:
        return (
            spark.readStream.format("evenflow")
            .options(**options)
            .option("maxItemsPerTrigger", "1000")
            .load()
            .writeStream.foreachBatch(collect)
            .option("checkpointLocation", str(tmp_path / "checkpoint"))
            .trigger(availableNow=True)
            .start()
        )

    with pytest.raises(Exception, match="the driver dies here"):
        run().awaitTermination(120)
    query = run()
    assert query.awaitTermination(120)
    # Of a batch that is run again Spark does not ask how far publishers are.
    lags = [figures(progress)["items"].lag_items for progress in query.recentProgress[1:]]
    assert lags == [1021, 21, 0]
    assert [len(ids) for ids in batches.values()] == [1000, 1000, 1000, 1000, 1000, 21]
    assert sorted(number for ids in batches.values() for number in ids) == list(range(count))
    assert planned[0] == planned[1], "the same batch again"
    eventually(lambda: publisher.stats.uncommitted == 0, "everything is committed")


def test_a_count_is_corrected_by_what_was_left_out_also_when_the_query_is_started_again(
    spark: Any, file: str, tmp_path: Path, publisher: Publisher
) -> None:
    counted: list[int] = []
    for run in (1, 2):
        shell: Any = publisher._shell
        shell.separate(3_600.0)
        senders = [f"run-{run}-{number % 5}" for number in range(50)]
        assert publisher.publish_many([b"x"] * 50, senders=senders) == 5
        publisher.flush()
        query = (
            spark.readStream.format("evenflow")
            .options(config=file, topic="items", consumer="counting")
            .load()
            .writeStream.foreachBatch(lambda batch, _: counted.append(batch.count()))
            .option("checkpointLocation", str(tmp_path / "checkpoint"))
            .trigger(availableNow=True)
            .start()
        )
        assert query.awaitTermination(120)
        assert sum(thinned(one).items for one in query.recentProgress) == 45
        assert thinned(query.recentProgress[-1]).total == 45 * run
        assert sum(counted) + 45 * run == 50 * run, "given = counted + left out"


def test_payloads_in_other_encodings_become_columns(
    spark: Any,
    file: str,
    tmp_path: Path,
    publisher: Publisher,
    eventually: Callable[..., None],
) -> None:
    schema = (
        '{"type": "record", "name": "r", "fields": [{"name": "speed", "type": "double"},'
        ' {"name": "name", "type": ["null", "string"]}]}'
    )
    for number in range(100):
        record = {"speed": number / 2, "name": f"n{number}" if number % 2 else None}
        encoded = BytesIO()
        fastavro.schemaless_writer(encoded, json.loads(schema), record)
        publisher.publish(encoded.getvalue(), id=number)
        publisher.publish(struct.pack("<dh", number / 2, number), id=number + 100)
    publisher.publish(b"damaged", id=200)
    table = spark.read.format("evenflow").options(config=file, topic="items")
    avro = table.option("encoding", "avro").option("avroSchema", schema).load()
    eventually(lambda: avro.count() == 201, "all items can be read", timeout_s=60.0)
    assert avro.where("id < 100 AND speed = id / 2").count() == 100
    assert avro.where("name = concat('n', id)").count() == 50
    query = (
        spark.readStream.format("evenflow")
        .options(
            config=file, topic="items", encoding="struct", fields="speed DOUBLE, lane SMALLINT"
        )
        .load()
        .writeStream.format("memory")
        .queryName("packed")
        .option("checkpointLocation", str(tmp_path / "checkpoint"))
        .trigger(availableNow=True)
        .start()
    )
    assert query.awaitTermination(120)
    packed = spark.table("packed")
    assert packed.where("speed = (id - 100) / 2 AND lane = id - 100").count() == 100
    assert packed.where("id = 200 AND speed IS NULL AND lane IS NULL").count() == 1
    eventually(lambda: publisher.stats.uncommitted == 0, "everything is committed")


def test_the_domain_learns_what_slices_cost_and_how_the_query_fares(
    spark: Any,
    config: Config,
    file: str,
    tmp_path: Path,
    publisher: Publisher,
    eventually: Callable[..., None],
) -> None:
    costs: list[SliceCosts] = []
    properties: dict[str, float] = {}
    with Participant(config.domain) as participant:
        readers = [participant.reader(COSTS), participant.reader(PROPERTIES)]
        query = (
            spark.readStream.format("evenflow")
            .options(config=file, topic="items", consumer="dear")
            .load()
            .selectExpr("sha2(repeat(string(payload), 50), 512) AS hash")
            .writeStream.format("noop")
            .option("checkpointLocation", str(tmp_path / "checkpoint"))
            .start()
        )

        def told() -> bool:
            for number in range(200):
                publisher.publish(b"x" * 50, id=number)
            for message in (message for reader in readers for message in reader.take()):
                if isinstance(message, SliceCosts):
                    costs.append(message)
                elif isinstance(message, PropertyReport) and message.source == "query/items/dear":
                    properties.update(zip(message.names, message.values, strict=True))
            return bool(costs) and {"batch_s", "tasks", "lag_epochs", "lag_items"} <= set(
                properties
            )

        try:
            eventually(told, "costs and properties are told", timeout_s=60.0)
            eventually(lambda: publisher.stats.uncommitted == 0, "everything is committed")
        finally:
            query.stop()
    assert (costs[-1].topic, costs[-1].consumer) == ("items", "dear")
    assert set(costs[-1].slices) == set(range(8))
    assert min(costs[-1].work_ns) > 0
    assert properties["tasks"] == 2
    assert properties["batch_s"] > 0


def test_an_idle_query_runs_no_batches_and_shows_the_same_figures(
    spark: Any,
    config: Config,
    file: str,
    tmp_path: Path,
    publisher: Publisher,
    eventually: Callable[..., None],
) -> None:
    publisher.publish_many([b"{}", b"damaged"] * 50)
    publisher.flush()
    query = (
        spark.readStream.format("evenflow")
        .options(config=file, topic="items", consumer="idle", fields="n INT")
        .load()
        .writeStream.format("noop")
        .option("checkpointLocation", str(tmp_path / "checkpoint"))
        .start()
    )

    def progress() -> dict[str, Any]:
        found: dict[str, Any] = query.lastProgress or {}
        return found

    def is_idle() -> bool:
        return bool(progress()) and progress()["numInputRows"] == 0

    try:
        spark.conf.set("spark.sql.streaming.noDataProgressEventInterval", "500")
        eventually(is_idle, "it is idle", timeout_s=60.0)
        eventually(lambda: figures(progress())["items"].damaged == 50, "damaged ones are told")
        before = progress()
        # Somebody comes and goes, and has nothing to say.
        Publisher("items", config=config).close()
        eventually(lambda: progress()["timestamp"] > before["timestamp"], "it has looked again")
        after = progress()
    finally:
        query.stop()
    assert after["batchId"] == before["batchId"]
    assert after["sources"][0]["latestOffset"] == before["sources"][0]["latestOffset"]
    found = figures(after)["items"]
    assert (found.lag_items, found.lag_seconds, found.lag_epochs) == (0, 0.0, 0)
    assert [(node.slices, node.epochs_behind) for node in found.nodes.values()] == [(4, 0), (4, 0)]


@pytest.mark.processes
def test_every_id_once_while_slices_move_a_node_dies_and_spark_dies(
    domain_id: int, tmp_path: Path
) -> None:
    trial = Trial(served(domain_id, slices=24), tmp_path, Progress("exactly-once"), seed=3)
    figures = trial.run(items=30_000, seconds=9.0)
    assert (figures["lost"], figures["repeated"]) == (0, 0)
    assert figures["kills"] == 2
    assert figures["moves"] > 0


def test_results_become_items_of_a_topic_once(
    spark: Any,
    config: Config,
    file: str,
    tmp_path: Path,
    publisher: Publisher,
    eventually: Callable[..., None],
) -> None:
    answers: list[tuple[str, int, bytes]] = []

    def note(batch: Any) -> None:
        answers.extend((item.sender, item.id, item.payload) for item in batch)

    def run() -> None:
        query = (
            spark.readStream.format("evenflow")
            .option("config", file)
            .option("topic", "items")
            .load()
            .selectExpr(
                "concat('to ', sender) AS sender", "id", "upper(string(payload)) AS payload"
            )
            .writeStream.format("evenflow")
            .option("config", file)
            .option("topic", "plain")
            .option("outbox", str(tmp_path / "outbox"))
            .option("checkpointLocation", str(tmp_path / "checkpoint"))
            .trigger(availableNow=True)
            .start()
        )
        assert query.awaitTermination(120)

    for number in range(50):
        publisher.publish(f"item {number}", id=number, sender="me")
    expected = {("to me", number, f"ITEM {number}".encode()) for number in range(50)}
    with Node("plain", note, name="answers", config=config) as node:
        eventually(lambda: len(node.slices) == config.topic("plain").slices, "it has all slices")
        eventually(lambda: publisher._core.epoch > 1, "an epoch has ended")
        run()
        eventually(lambda: len(answers) >= 50, "all answers are there")
        # What the outbox has is all that keeps a batch from being published again.
        for log in (tmp_path / "checkpoint" / "commits").iterdir():
            log.unlink()
        run()
        publisher.publish("last", id=50, sender="me")
        eventually(lambda: publisher._core.epoch > 2, "the next epoch has ended")
        run()
        eventually(lambda: ("to me", 50, b"LAST") in answers, "the last answer is there")
    assert sorted(answers) == sorted({*expected, ("to me", 50, b"LAST")})
