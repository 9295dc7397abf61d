"""Tables into topics, and archives into streams, with a real Spark whose tasks are run again."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

import evenflow
from evenflow.config import Config
from evenflow.errors import DeliveryTimeout
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


@pytest.fixture(scope="module")
def spark() -> Iterator[Any]:
    one = session("tables", "local[2,3]")
    yield one
    one.stop()


def test_a_table_becomes_items_once_though_a_task_fails_and_the_write_is_run_again(
    spark: Any, domain_id: int, tmp_path: Path, eventually: Callable[..., None]
) -> None:
    config = Config.load(None, {"domain.id": domain_id, "topics": {"plain": {}}})
    file, failed = tmp_path / "evenflow.toml", tmp_path / "failed"
    file.write_text(config.as_toml())
    seen: Counter[tuple[str, int]] = Counter()

    def failing_once(batches: Any) -> Any:
        yield from batches
        try:
            failed.mkdir()
        except FileExistsError:
            return
        raise RuntimeError("a task that fails when it has handed all its rows on")

    def note(batch: Any) -> None:
        seen.update((item.sender, int(item.payload)) for item in batch)

    table = spark.range(0, 1_000, 1, 3).selectExpr("'me' AS sender", "string(id) AS payload")
    shaky = table.mapInArrow(failing_once, table.schema)
    options = {"config": str(file), "topic": "plain"}
    with Balancer(config=config), Node("plain", note, name="n", config=config) as node:
        eventually(lambda: len(node.slices) == config.topic("plain").slices, "it has all slices")
        writing = shaky.write.format("evenflow").mode("append").options(**options)
        kept = writing.option("outbox", str(tmp_path)).option("name", "load")
        for _ in range(2):
            kept.save()
        eventually(lambda: len(seen) == 1_000, "all items are there")
        assert failed.exists()
        plain = table.where("payload < '2'").selectExpr("'you' AS sender", "payload")
        plain.write.format("evenflow").mode("append").options(**options).save()
        count = plain.count()
        eventually(lambda: len(seen) == 1_000 + count, "the other table is there", 60)
    assert set(seen.values()) == {1}


def test_a_query_begins_with_the_archive_and_goes_on_live_each_item_once(
    spark: Any, domain_id: int, tmp_path: Path, eventually: Callable[..., None]
) -> None:
    places = {f"b{n}": Coordinate(0.2 + 0.3 * n, 0.3 + 0.2 * n) for n in range(3)}
    with LocalBrokers(places, tmp_path, silence_s=1.5) as brokers:
        brokers.start_all()
        items = {"slices": 8, "served": True, "durable": True}
        settings = {
            "domain.id": domain_id,
            "topics": {"items": items},
            "balancer.settle_s": 0.2,
            "publisher.epoch_ms": 20,
            "store.brokers": list(brokers.addresses.values()),
        }
        config = Config.load(None, settings)
        file = tmp_path / "evenflow.toml"
        file.write_text(config.as_toml())
        with LocalCluster(config, log_dir=tmp_path) as cluster:
            cluster.start_balancer()
            cluster.start("node-1", ["node", "--serve", "--name", "node-1"])
            cluster.start("archive", ["archive", "-v"])

            def run() -> list[int]:
                query = (
                    spark.readStream.format("evenflow")
                    .options(config=str(file), topic="items", fields="n INT")
                    .load()
                    .writeStream.format("parquet")
                    .option("path", str(tmp_path / "out"))
                    .option("checkpointLocation", str(tmp_path / "checkpoint"))
                    .trigger(availableNow=True)
                    .start()
                )
                assert query.awaitTermination(120)
                assert query.exception() is None
                rows = spark.read.parquet(str(tmp_path / "out")).where("n = id").collect()
                return sorted(row.id for row in rows)

            def publish(first: int, last: int) -> None:
                with Publisher("items", config=config) as publisher:
                    for number in range(first, last):
                        publisher.publish({"n": number}, id=number, sender="me")

            publish(0, 300)  # returns when all is committed: by the archiver, who is alone
            assert sum(1 for _ in evenflow.read_from("items", 0, config=config, live=False)) == 300
            assert run() == list(range(300))
            cluster.kill("archive")  # what comes now is nowhere but at the nodes
            publisher = Publisher("items", config=config)
            for number in range(300, 500):
                publisher.publish({"n": number}, id=number, sender="me")
            publisher.flush()
            eventually(lambda: publisher._core.epoch > 1, "an epoch has ended")
            eventually(lambda: run() == list(range(500)), "all is there, once", 120)
            with suppress(DeliveryTimeout):  # the archiver, which is dead, has not committed it
                publisher.close(0.0)
