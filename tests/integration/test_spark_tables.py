"""Tables of Spark into topics, on a real domain with a real Spark whose tasks are run again."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from evenflow.config import Config
from evenflow.slices.balancer.balancer import Balancer
from evenflow.slices.node.node import Node
from evenflow.spark.session import session

pytestmark = [pytest.mark.domain, pytest.mark.spark, pytest.mark.timeout(300)]


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
        eventually(lambda: len(seen) == 1_000 + count, "the other table is there")
    assert set(seen.values()) == {1}
