"""The service that tells how long Spark's tasks ran; Spark itself is played by the test."""

# ruff: noqa: N802 - Scala's names

from __future__ import annotations

import http.client
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import pytest

from evenflow.spark.task_times import TaskTimes, batch_seconds, serve_task_times, task_times


class Option:
    def __init__(self, value: Any) -> None:
        self._value = value

    def isDefined(self) -> bool:
        return self._value is not None

    def get(self) -> Any:
        return self._value


class Tasks:
    """A Scala sequence of tasks."""

    def __init__(self, *rows: tuple[int, str, int | None]) -> None:
        self._rows = list(rows)

    def iterator(self) -> Tasks:
        return Tasks(*self._rows)

    def hasNext(self) -> bool:
        return bool(self._rows)

    def next(self) -> Any:
        number, status, ms = self._rows.pop(0)
        metrics = None if ms is None else SimpleNamespace(executorRunTime=lambda: ms)
        return SimpleNamespace(
            taskId=lambda: number, status=lambda: status, taskMetrics=lambda: Option(metrics)
        )


class Store:
    """A status store with a stage that runs, 6, and one that has ended and was tried twice, 7."""

    def lastStageAttempt(self, stage: int) -> Any:
        status = {7: "COMPLETE", 6: "ACTIVE"}[stage]
        state = SimpleNamespace(toString=lambda: status)
        return SimpleNamespace(attemptId=lambda: 1, status=lambda: state)

    def taskList(self, stage: int, attempt: int, _most: int) -> Tasks:
        assert (stage, attempt) == (7, 1)
        return Tasks((30, "SUCCESS", 514), (31, "KILLED", 12), (32, "SUCCESS", None))


class Streams:
    def get(self, query: str) -> Any:
        progress = SimpleNamespace(durationMs={"triggerExecution": 700})
        return {
            "abc-1": SimpleNamespace(lastProgress=progress),
            "abc-2": SimpleNamespace(lastProgress=None),
        }.get(query)


def started() -> TaskTimes:
    jvm = SimpleNamespace(sc=lambda: SimpleNamespace(statusStore=Store))
    spark: Any = SimpleNamespace(sparkContext=SimpleNamespace(_jsc=jvm), streams=Streams())
    return TaskTimes(spark)


@pytest.fixture(scope="module")
def service() -> Iterator[TaskTimes]:
    one = started()
    yield one
    one.close()


def test_the_run_times_of_ended_tasks_are_told(service: TaskTimes) -> None:
    assert task_times(service.address, 7) == {30: 0.514}


def test_a_stage_that_runs_or_that_spark_has_forgotten_has_no_times(service: TaskTimes) -> None:
    assert task_times(service.address, 6) == {}
    assert task_times(service.address, 8) == {}


def test_the_newest_batch_of_a_query_is_told(service: TaskTimes) -> None:
    assert batch_seconds(service.address, "abc-1") == 0.7
    assert batch_seconds(service.address, "abc-2") is None
    assert batch_seconds(service.address, "abc-3") is None


@pytest.mark.parametrize("path", ["/", "/stages", "/stages/", "/stages/7/0", "/queries/../x"])
def test_nothing_else_can_be_asked_for(service: TaskTimes, path: str) -> None:
    connection = http.client.HTTPConnection(service.address, timeout=5)
    connection.request("GET", path)
    assert connection.getresponse().status == 404
    connection.close()


def test_when_nobody_answers_nothing_is_known() -> None:
    service = started()
    service.close()
    assert task_times(service.address, 7) == {}
    assert batch_seconds(service.address, "abc-1") is None


def test_a_session_without_a_jvm_here_has_no_service() -> None:
    remote: Any = SimpleNamespace()
    assert serve_task_times(remote) == ""
