"""The watch over a query: what its tasks tell is its own, and the dearest task begins first."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from types import SimpleNamespace
from typing import Any

import pytest

from evenflow.autonomic import agent
from evenflow.config import Config
from evenflow.model.ids import NOWHERE
from evenflow.model.messages import SliceReads
from evenflow.slices.consumer.reading import Share
from evenflow.slices.consumer.ticket import Range
from evenflow.spark import query_watch
from evenflow.spark.options import Options
from evenflow.spark.query_watch import QueryWatch


class Domain:
    """A follower and its participant, reader and writers, all in one."""

    def __init__(self) -> None:
        self.participant = self
        self.reads: list[SliceReads] = []

    def reader(self, _: object) -> Domain:
        return self

    def writer(self, _: object) -> Domain:
        return self

    def take(self) -> list[SliceReads]:
        taken, self.reads = self.reads, []
        return taken

    def write(self, _: object) -> bool:
        return True

    def lag(self) -> tuple[int, int]:
        return 3, 450

    def ask(self, question: Callable[[Any], Any]) -> Any:
        return question(SimpleNamespace(thinned=SimpleNamespace(settled=17)))


@pytest.fixture
def domain() -> Domain:
    return Domain()


@pytest.fixture
def watch(domain: Domain, monkeypatch: pytest.MonkeyPatch) -> Iterator[QueryWatch]:
    monkeypatch.setattr(query_watch, "LOOK_S", 3_600.0)  # the test looks, not the thread
    pings = SimpleNamespace(readings=dict, close=lambda: None)
    monkeypatch.setattr(agent, "PingStation", lambda *_: pings)
    monkeypatch.setattr(query_watch, "task_times", lambda _, stage: {stage: 0.5})
    monkeypatch.setattr(query_watch, "batch_seconds", lambda *_: 0.25)
    config = Config.load(None, {"topics": {"items": {"served": True}}})
    follower: Any = domain
    watch = QueryWatch(Options(("items",), config, "alerts"), "items", follower, "somewhere")
    yield watch
    watch.close()


def reads(
    stage: int, slices: dict[int, int], topic: str = "items", consumer: str = "alerts"
) -> Any:
    """What a task has read of each slice; one of its payloads was damaged."""
    counts = tuple(slices.values())
    return SliceReads(topic, consumer, "query-1", stage, stage, tuple(slices), counts, counts, 1)


def share(*slices: int) -> Share:
    return Share("items", "", (), Range(slices, NOWHERE, NOWHERE, {}), 1.0)


def test_only_what_tasks_of_this_query_tell_counts(watch: QueryWatch, domain: Domain) -> None:
    domain.reads = [
        reads(1, {0: 5}),
        reads(2, {0: 5}),
        reads(3, {0: 5}, consumer="other"),
        reads(4, {0: 5}, topic="other"),
    ]
    watch._look(1.0)
    found = watch._agent.sensors.read(1.0)
    assert found["damaged_items"] == 2
    assert (found["lag_epochs"], found["lag_items"]) == (3, 450)
    assert found["thinned_items"] == 17


def test_a_query_that_wants_more_tasks_has_the_dear_shares_cut(
    watch: QueryWatch, domain: Domain
) -> None:
    domain.reads = [reads(1, {1: 10, 2: 500, 3: 40})]
    watch._look(1.0)
    watch._least_tasks = 3
    planned = watch.on_batch_planned([share(1), share(2, 3)])
    assert [one.asked.slices for one in planned] == [(2,), (3,), (1,)]
    assert watch._agent.sensors.read(1.0)["tasks"] == 3


def test_the_dearest_share_comes_first(watch: QueryWatch, domain: Domain) -> None:
    domain.reads = [reads(1, {1: 10, 2: 500, 3: 40})]
    watch._look(1.0)
    planned = watch.on_batch_planned([share(1), share(3), share(2)])
    assert [one.asked.slices for one in planned] == [(2,), (3,), (1,)]
    found = watch._agent.sensors.read(1.0)
    assert (found["tasks"], found["batch_s"]) == (3, 0.25)
