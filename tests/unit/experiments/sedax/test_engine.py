from __future__ import annotations

import pytest

from evenflow.errors import ExperimentError
from evenflow_experiments.sedax import engine
from evenflow_experiments.sedax.engine import LocalEngine, SparkEngine, engine_named
from evenflow_experiments.sedax.simulation import Setting, Sizes
from evenflow_experiments.sedax.tasks import Balancing, Growth, Task, perform

GROWING = Setting(nodes=6, topics_per_node=5, candidates=20, sizes=Sizes.HOMOGENEOUS)


def test_a_run_answers_the_same_wherever_it_happens() -> None:
    task = Task(GROWING, Growth(Balancing.SMALLEST, 0.1, course=True), bound=True)
    assert LocalEngine().perform([(task, 4)]) == [perform(task, 4)]


@pytest.mark.parametrize(
    ("here", "name", "expected"),
    [
        (True, None, SparkEngine("local[2]")),
        (True, "spark", SparkEngine("local[2]")),
        (True, "local", LocalEngine()),
        (False, None, LocalEngine()),
    ],
)
def test_spark_is_the_engine_where_it_can_run(
    monkeypatch: pytest.MonkeyPatch, here: bool, name: str | None, expected: object
) -> None:
    monkeypatch.setattr(engine, "spark_is_here", lambda: here)
    assert engine_named(name, "local[2]") == expected


def test_spark_that_is_not_here_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(engine, "spark_is_here", lambda: False)
    with pytest.raises(ExperimentError, match="--engine local"):
        engine_named("spark", "local[2]")
