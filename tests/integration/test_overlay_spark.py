"""The overlay's runs on a real Spark."""

from __future__ import annotations

import pytest

from evenflow_experiments.sedax.engine import LocalEngine, SparkEngine, spark_is_here
from evenflow_experiments.sedax.simulation import Setting, Sizes
from evenflow_experiments.sedax.tasks import Balancing, Growth, Task


@pytest.mark.spark
@pytest.mark.skipif(not spark_is_here(), reason="needs PySpark and Java")
def test_spark_gives_the_answers_of_one_process() -> None:
    tasks = [
        Task(Setting(nodes=8, topics_per_node=5, candidates=20, selection="local", queries=3)),
        Task(
            Setting(nodes=8, topics_per_node=5, candidates=20, sizes=Sizes.HOMOGENEOUS),
            Growth(Balancing.FORESEEING, 0.1, course=True),
            bound=True,
        ),
    ]
    runs = [(task, seed) for task in tasks for seed in range(5)]
    assert SparkEngine("local[1]").perform(runs) == LocalEngine().perform(runs)
