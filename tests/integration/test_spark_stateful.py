"""Every stateful operation of PySpark over our source: each item counts once in all of them."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from pyspark import cloudpickle
from pyspark.sql import Row
from pyspark.sql import functions as F  # noqa: N812
from pyspark.sql.streaming.stateful_processor import StatefulProcessor, StatefulProcessorHandle

from evenflow.config import Config
from evenflow.domain.cyclone import Participant
from evenflow.model.ids import NOWHERE
from evenflow.slices.balancer.balancer import Balancer
from evenflow.slices.consumer.follower import Follower
from evenflow.slices.node.node import Node
from evenflow.slices.publisher.publisher import Publisher
from evenflow.spark.session import session

pytestmark = [pytest.mark.domain, pytest.mark.spark, pytest.mark.timeout(300)]
SENDERS, EACH = 4, 25
COUNTED = "sender STRING, count BIGINT"
ROCKS = "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider"
EXPECTED = {f"s{number}": EACH for number in range(SENDERS)}


class CountsPandas(StatefulProcessor):
    """Counts rows, by pandas frames."""

    def init(self, handle: StatefulProcessorHandle) -> None:
        self._count = handle.getValueState("count", "count BIGINT")

    def handleInputRows(self, key: Any, rows: Any, timerValues: Any) -> Iterator[pd.DataFrame]:  # noqa: N802, N803
        count = (self._count.get() or (0,))[0] + sum(len(frame) for frame in rows)
        self._count.update((count,))
        yield pd.DataFrame({"sender": [key[0]], "count": [count]})


class CountsRows(CountsPandas):
    """Counts rows, one by one."""

    def handleInputRows(self, key: Any, rows: Any, timerValues: Any) -> Iterator[Any]:  # noqa: N802, N803
        count = (self._count.get() or (0,))[0] + sum(1 for _ in rows)
        self._count.update((count,))
        yield Row(sender=key[0], count=count)


def count_frames(key: Any, frames: Any, state: Any) -> Iterator[pd.DataFrame]:
    count = (state.get[0] if state.exists else 0) + sum(len(frame) for frame in frames)
    state.update((count,))
    yield pd.DataFrame({"sender": [key[0]], "count": [count]})


def windows(read: Callable[[str], Any]) -> Any:
    late = read("windows").withWatermark("time", "1 hour")
    return late.groupBy(F.window("time", "1 hour"), "sender").count().select("sender", "count")


def deduplicated(read: Callable[[str], Any]) -> Any:
    twice = read("twice").withWatermark("time", "1 hour")
    twice = twice.select("time", "sender", "id", F.explode(F.array(F.lit(1), F.lit(2))))
    once = twice.dropDuplicatesWithinWatermark(["sender", "id"])
    return once.select("sender", F.lit(1).cast("bigint").alias("count"))


def joined(read: Callable[[str], Any]) -> Any:
    left = read("left").withWatermark("time", "1 hour").alias("l")
    right = read("right").withWatermark("time", "1 hour").alias("r")
    both = left.join(right, F.expr("l.id = r.id AND l.sender = r.sender AND l.time = r.time"))
    return both.select("l.sender", F.lit(1).cast("bigint").alias("count"))


def apply_in_pandas(read: Callable[[str], Any]) -> Any:
    return read("apply").groupBy("sender").applyInPandasWithState(
        count_frames, COUNTED, "count BIGINT", "update", "NoTimeout"
    )  # fmt: skip


def transform_in_pandas(read: Callable[[str], Any]) -> Any:
    return read("pandas").groupBy("sender").transformWithStateInPandas(
        statefulProcessor=CountsPandas(), outputStructType=COUNTED, outputMode="Update",
        timeMode="None",
    )  # fmt: skip


def transform(read: Callable[[str], Any]) -> Any:
    return read("rows").groupBy("sender").transformWithState(
        statefulProcessor=CountsRows(), outputStructType=COUNTED, outputMode="Update",
        timeMode="None",
    )  # fmt: skip


OPERATIONS = {
    windows: "update",
    deduplicated: "append",
    joined: "append",
    apply_in_pandas: "update",
    transform_in_pandas: "update",
    transform: "update",
}


@pytest.fixture
def source(
    domain_id: int, tmp_path: Path, eventually: Callable[..., None]
) -> Iterator[dict[str, str]]:
    """A topic with items of some senders, each numbered, and the options to read it."""
    topics = {"items": {"slices": 4, "served": True, "assignment": "hash:sender"}}
    config = Config.load(None, {"domain.id": domain_id, "topics": topics})
    file = tmp_path / "evenflow.toml"
    file.write_text(config.as_toml())
    with (
        Participant(config.domain) as participant,
        Balancer(config=config),
        Node("items", None, name="node-1", config=config, participant=participant) as node,
    ):
        eventually(lambda: len(node.slices) == 4, "it has all slices")
        # One who has read nothing yet: so everything is kept for the queries that come later.
        keeper = Follower("items", "keeper", config)
        keeper.enter(alone=True)
        keeper.register(NOWHERE)
        publisher = Publisher("items", config=config, participant=participant)
        for number in range(EACH):
            for sender in range(SENDERS):
                payload = json.dumps({"n": number})
                publisher.publish(payload, sender=f"s{sender}", id=number, time=10**15)
        publisher.flush()
        yield {"config": str(file), "topic": "items", "maxItemsPerTrigger": "60"}
        keeper.commit(keeper.latest(NOWHERE))
        publisher.close()
        keeper.close()


def test_every_stateful_operation_counts_each_item_once(
    source: dict[str, str], tmp_path: Path
) -> None:
    settings = {
        "spark.sql.streaming.stateStore.providerClass": ROCKS,
        "spark.sql.shuffle.partitions": "1",
    }
    # Spark's Python processes cannot import a module of tests.
    cloudpickle.register_pickle_by_value(sys.modules[__name__])
    spark = session("stateful", settings=settings)

    def read(consumer: str) -> Any:
        return spark.readStream.format("evenflow").options(**source, consumer=consumer).load()

    try:
        for operation, mode in OPERATIONS.items():
            name = operation.__name__
            query = (
                operation(read)
                .writeStream.format("memory")
                .queryName(name)
                .outputMode(mode)
                .option("checkpointLocation", str(tmp_path / name))
                .trigger(availableNow=True)
                .start()
            )
            assert query.awaitTermination(100), name
            table = spark.table(name).groupBy("sender")
            found = table.agg((F.sum if mode == "append" else F.max)("count"))
            assert dict(found.collect()) == EXPECTED, name
    finally:
        spark.stop()
