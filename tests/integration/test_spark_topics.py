"""Several topics in one source, and where reads begin and end, with a real Spark."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from evenflow.config import Config
from evenflow.domain.cyclone import Participant
from evenflow.slices.balancer.balancer import Balancer
from evenflow.slices.node.node import Node
from evenflow.slices.publisher.publisher import Publisher
from evenflow.spark.session import session

pytestmark = [pytest.mark.domain, pytest.mark.spark, pytest.mark.timeout(300)]
TOPICS = ("cars", "boats")
EARLY, LATE = 1_000_000_000, 2_000_000_000
"""Times of items, in microseconds."""


@pytest.fixture
def file(domain_id: int, tmp_path: Path, eventually: Callable[..., None]) -> Iterator[str]:
    """Two topics with 30 early and 20 late items each, in epochs of their own."""
    topics = {name: {"slices": 4, "served": True, "assignment": "modulo:id"} for name in TOPICS}
    config = Config.load(None, {"domain.id": domain_id, "topics": topics})
    path = tmp_path / "evenflow.toml"
    path.write_text(config.as_toml())
    with ExitStack() as stack:
        participant = stack.enter_context(Participant(config.domain))
        stack.enter_context(Balancer(config=config))
        publishers = []
        for topic in TOPICS:
            node = stack.enter_context(
                Node(topic, None, name=f"{topic}-1", config=config, participant=participant)
            )
            eventually(lambda node=node: len(node.slices) == 4, "it has all slices")
            publishers.append(Publisher(topic, config=config, participant=participant))
        for publisher in publishers:
            for count, time in ((30, EARLY), (20, LATE)):
                publisher.publish_many([b"x"] * count, ids=range(count), times=[time] * count)
                publisher.flush()
        yield str(path)
        for publisher in publishers:
            publisher.close()


def test_topics_are_one_source_from_a_time_or_to_an_end(file: str, tmp_path: Path) -> None:
    spark = session("topics")
    try:
        table = spark.read.format("evenflow").options(config=file, topicsPattern="car.*|boats")
        kept = table.option("minPartitions", "6").load()
        assert kept.rdd.getNumPartitions() == 6
        assert Counter(row.topic for row in kept.collect()) == {"cars": 50, "boats": 50}
        late = table.option("startingTimestamp", str(LATE // 1_000)).load()
        assert Counter(row.topic for row in late.collect()) == {"cars": 20, "boats": 20}

        sizes: list[Counter[str]] = []
        query = (
            spark.readStream.format("evenflow")
            .options(config=file, topics="cars,boats", maxItemsPerTrigger="40")
            .load()
            .writeStream.foreachBatch(
                lambda batch, _: sizes.append(Counter(row.topic for row in batch.collect()))
            )
            .option("checkpointLocation", str(tmp_path / "checkpoint"))
            .trigger(availableNow=True)
            .start()
        )
        assert query.awaitTermination(120)
        assert sizes == [{"cars": n, "boats": n} for n in (20, 20, 10)]
        first = json.loads(query.recentProgress[0]["sources"][0]["endOffset"])
        assert set(first) == {"cars", "boats"}
    finally:
        spark.stop()
