"""Headers, from everywhere an item is published to everywhere it is read; filters at the nodes."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import evenflow
from evenflow.cli import main
from evenflow.config import Config
from evenflow.domain.cyclone import Participant
from evenflow.durable.spark import register
from evenflow.overlay.broker.local import LocalBrokers
from evenflow.overlay.space.coordinate import Coordinate
from evenflow.processes import LocalCluster
from evenflow.slices.balancer.balancer import Balancer
from evenflow.slices.node.node import Node
from evenflow.slices.publisher.publisher import Publisher
from evenflow.spark.session import session

pytestmark = [
    pytest.mark.domain,
    pytest.mark.processes,
    pytest.mark.spark,
    pytest.mark.timeout(300),
]
Eventually = Callable[..., None]
COUNT = 3_000


@pytest.fixture(scope="module")
def spark() -> Iterator[Any]:
    one = session("headers", "local[2]")
    register(one)
    yield one
    one.stop()


def headers_of(number: int) -> dict[str, bytes]:
    """What an item says about itself; every third says nothing."""
    return {"number": b"%d" % number, "type": b"\x00\xff"} if number % 3 else {}


def publish(publisher: Publisher, first: int, last: int) -> None:
    """Publish items in all the ways there are, in turn."""
    maps = pa.map_(pa.string(), pa.binary())
    for begin in range(first, last, 30):
        numbers = range(begin, min(begin + 30, last))
        payloads, ids = [b"x"] * len(numbers), list(numbers)
        said = [headers_of(number) for number in numbers]
        match begin // 30 % 3:
            case 0:
                for number in numbers:
                    publisher.publish(b"x", id=number, headers=headers_of(number))
            case 1:
                publisher.publish_many(payloads, ids=ids, headers=said)
            case _:
                column = pa.array([list(one.items()) for one in said], maps)
                publisher.publish_columns(pa.array(payloads), ids=ids, headers=column)


def test_headers_reach_spark_once_though_a_node_is_killed_and_the_archive_keeps_them(
    spark: Any, domain_id: int, tmp_path: Path, eventually: Eventually
) -> None:
    places = {f"b{n}": Coordinate(0.2 + 0.3 * n, 0.3 + 0.2 * n) for n in range(2)}
    with LocalBrokers(places, tmp_path, silence_s=1.5) as brokers:
        brokers.start_all()
        items = {"slices": 8, "served": True, "durable": True, "assignment": "hash:id"}
        settings = {
            "domain.id": domain_id,
            "topics": {"items": {**items, "consumers": ["spark"]}},
            "balancer.settle_s": 0.2,
            "publisher.epoch_ms": 20,
            "store.brokers": list(brokers.addresses.values()),
        }
        config = Config.load(None, settings)
        file = tmp_path / "evenflow.toml"
        file.write_text(config.as_toml())
        with LocalCluster(config, log_dir=tmp_path) as cluster:
            cluster.start_balancer()
            for name in ("node-1", "node-2"):
                cluster.start(name, ["node", "--serve", "--name", name])
            cluster.start("archive", ["archive", "-v"])
            publisher = Publisher("items", config=config)
            publish(publisher, 0, COUNT // 2)
            publisher.flush(60)
            query = (
                spark.readStream.format("evenflow")
                .options(config=str(file), topic="items", includeHeaders="true")
                .option("maxItemsPerTrigger", "400")
                .load()
                .writeStream.format("parquet")
                .option("path", str(tmp_path / "out"))
                .option("checkpointLocation", str(tmp_path / "checkpoint"))
                .start()
            )
            eventually(lambda: query.lastProgress and query.lastProgress["batchId"] > 0, "runs", 90)
            cluster.kill("node-1")
            publish(publisher, COUNT // 2, COUNT)
            publisher.close(120)  # everything is committed, by the query and by the archive
            query.stop()
            rows = spark.read.parquet(str(tmp_path / "out")).collect()
            assert sorted(row.id for row in rows) == list(range(COUNT))
            found = {row.id: {k: bytes(v) for k, v in row.headers.items()} for row in rows}
            assert found == {number: headers_of(number) for number in range(COUNT)}

            past = evenflow.read_from("items", config=config, live=False)
            assert {i.id: dict(i.headers) for i in past} == found
            stored = (
                spark.read.format("evenflow-store")
                .options(config=str(file), topic="items", rows="items", includeHeaders="true")
                .load()
            )
            assert stored.where("string(headers['number']) = string(id)").count() == COUNT // 3 * 2
            assert stored.where("cardinality(headers) = 0").count() == COUNT // 3


@pytest.fixture
def nodes(domain_id: int, tmp_path: Path, eventually: Eventually) -> Iterator[list[Node]]:
    topic = {"slices": 8, "served": True, "assignment": "modulo:id", "consumers": ["later"]}
    config = Config.load(
        None, {"domain.id": domain_id, "topics": {"items": topic}, "publisher.epoch_ms": 20}
    )
    (tmp_path / "evenflow.toml").write_text(config.as_toml())
    with Participant(config.domain) as participant, Balancer(config=config):
        nodes = [
            Node("items", None, name=f"node-{i}", config=config, participant=participant)
            for i in (1, 2)
        ]
        eventually(lambda: [len(node.slices) for node in nodes] == [4, 4], "slices are shared out")
        yield nodes
        for node in nodes:
            node.close()


def test_a_table_is_written_with_headers_and_read_by_filters_at_the_nodes(
    spark: Any, nodes: list[Node], tmp_path: Path
) -> None:
    options = {"config": str(tmp_path / "evenflow.toml"), "topic": "items"}
    table = spark.range(0, 4_000, 1, 2).selectExpr(
        "string(id) AS payload",
        "concat('car-', id % 100) AS sender",
        "id",
        "timestamp_seconds(id) AS time",
        "CASE WHEN id % 2 = 0 THEN map('even', binary(string(id))) END AS headers",
    )
    table.write.format("evenflow").mode("append").options(**options).save()
    reading = spark.read.format("evenflow").options(**options, includeHeaders="true")

    def served(where: str, push: str = "true") -> tuple[int, int]:
        """How many rows a query has, and how many items the nodes sent for them."""
        before = sum(node.served for node in nodes)
        count = reading.option("pushFilters", push).load().where(where).count()
        return count, sum(node.served for node in nodes) - before

    assert served("true") == (4_000, 4_000)
    assert served("slice = 3") == (500, 500)
    assert served("slice IN (1, 2) AND sender = 'car-9'") == (20, 20)
    assert served("sender IN ('car-1', 'car-22', 'nobody')") == (80, 80)
    assert served("time >= timestamp_seconds(3990)") == (10, 10)
    some = "time < timestamp_seconds(100) AND sender = 'car-7' AND slice = 7"
    assert served(some) == (1, 1)
    assert served("slice = 99") == (0, 0)
    # What is no such filter is Spark's own to look at.
    assert served("id % 2 = 0 AND string(headers['even']) = string(payload)") == (
        2_000,
        4_000,
    )
    assert served("cardinality(headers) = 0") == (2_000, 4_000)
    # Unless asked for, nodes send all, so that a DataFrame may be used with filters and without.
    assert served("slice = 3", "false") == (500, 4_000)
    kept = reading.option("pushFilters", "false").load()
    assert [kept.where("slice = 99").count(), kept.count()] == [0, 4_000]


@pytest.mark.usefixtures("nodes")
def test_headers_on_the_command_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    lines = tmp_path / "lines.jsonl"
    lines.write_text('{"n": 1, "said": {"own": "1"}}\n{"n": 2}\n{"n": 3, "said": {"own": 3}}\n')
    shared = ["--topic", "items", "--quiet", "--within", "1s", "--header", "type=a=b"]
    assert main(["publish", *shared, "--json-lines", "--headers-field", "said", str(lines)]) == 1
    assert "header 'own' is of type int" in capsys.readouterr().err
    assert main(["tail", "items", "--from", "1h", "--count", "2", "--json"]) == 0
    shown = map(json.loads, capsys.readouterr().out.splitlines())
    assert {row["payload"]: row["headers"] for row in shown} == {
        '{"n":1}': {"type": "a=b", "own": "1"},
        '{"n":2}': {"type": "a=b"},
    }
