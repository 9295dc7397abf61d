"""Reads and run times of tasks brought together."""

from __future__ import annotations

import pytest

from evenflow.model.messages import SliceCosts, SliceReads
from evenflow.spark.cost_follower import MOST_PENDING, PATIENCE_S, CostFollower


def reads(stage: int, task: int, **items: int) -> SliceReads:
    """What a task read: ``s3=50`` are 50 items of slice 3, of 10 bytes each."""
    slices = tuple(int(name[1:]) for name in items)
    counts = tuple(items.values())
    return SliceReads(
        "items", "spark", "query-1", stage, task, slices, counts, tuple(10 * n for n in counts), 0
    )


class Spark:
    """Run times that can be asked for, and what was told."""

    def __init__(self) -> None:
        self.times: dict[int, dict[int, float]] = {}
        self.asked: list[int] = []
        self.told: list[SliceCosts] = []
        self.follower = CostFollower("items", "spark", self.ask, self.told.append)

    def ask(self, stage: int) -> dict[int, float]:
        self.asked.append(stage)
        return self.times.get(stage, {})

    def batch(self, stage: int, *, item_s: float = 1e-4) -> None:
        """Two tasks of a batch end, and are looked at."""
        for task, counts in enumerate(({"s1": 1_000, "s2": 500}, {"s3": 250 + 10 * (stage % 7)})):
            number = 2 * stage + task
            self.follower.on_reads(reads(stage, number, **counts), float(stage))
            self.times.setdefault(stage, {})[number] = 0.01 + item_s * sum(counts.values())
        self.follower.look(float(stage))


def test_costs_are_told_when_enough_batches_were_seen() -> None:
    spark = Spark()
    for stage in range(4):
        spark.batch(stage)
    assert spark.told == []
    for stage in range(4, 12):
        spark.batch(stage)
    told = spark.told[-1]
    assert (told.topic, told.consumer, told.slices) == ("items", "spark", (1, 2, 3))
    # A batch a second, 0.1 ms an item.
    assert told.work_ns[0] == pytest.approx(1_000 * 1e-4 * 1e9, rel=0.1)
    assert told.work_ns[1] == pytest.approx(500 * 1e-4 * 1e9, rel=0.1)
    assert spark.follower.query == "query-1"


def test_a_stage_that_has_not_ended_is_waited_for_and_looked_at_once() -> None:
    spark = Spark()
    spark.follower.on_reads(reads(3, 7, s1=10), 0.0)
    spark.follower.look(1.0)
    spark.times = {3: {7: 0.5}}
    spark.follower.look(2.0)
    spark.follower.look(3.0)
    assert spark.asked == [3, 3]
    assert spark.follower.expected([1]) == 10


def test_a_task_whose_time_never_comes_is_dropped() -> None:
    spark = Spark()
    spark.follower.on_reads(reads(3, 7, s1=10), 0.0)
    spark.follower.look(PATIENCE_S)
    spark.follower.look(PATIENCE_S + 1)
    assert spark.asked == [3]


def test_what_waits_is_bounded() -> None:
    spark = Spark()
    for task in range(MOST_PENDING + 5):
        spark.follower.on_reads(reads(task, task, s1=1), 0.0)
    spark.follower.look(1.0)
    assert len(spark.asked) == MOST_PENDING
    assert 0 not in spark.asked
