"""The archiver's turns: nothing is committed before the archive has it, nothing is stored twice."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest
from tests.unit.durable.stores import Store
from tests.unit.durable.test_archive import WRITER, bundle, numbers, up_to

from evenflow.config import Config
from evenflow.durable import archiver
from evenflow.durable.archive import Archive
from evenflow.durable.archiver import Archiver
from evenflow.durable.index import index_topic
from evenflow.errors import ReadFailed, StoreTimeout
from evenflow.model.ids import NOWHERE, Position


class Live:
    """The nodes: one writer, an item in each epoch but for those that are empty."""

    def __init__(self) -> None:
        self.closed = 0
        self.empty: set[int] = set()
        self.commits: list[Position] = []

    def __enter__(self) -> Live:
        return self

    def __exit__(self, *_: object) -> None:
        """It leaves."""

    def register(self, position: Position) -> None:
        self.commits.append(position)

    def latest(self, start: Position, wait_s: float) -> Position:
        return up_to(self.closed)

    def limited(self, start: Position, end: Position, items: int) -> Position:
        return end

    def read(self, start: Position, end: Position) -> list[Any]:
        wanted = [n for n in range(start[WRITER] + 1, end[WRITER] + 1) if n not in self.empty]
        return [batch for n in wanted for batch in bundle(n - 1, n)]

    def commit(self, position: Position) -> None:
        self.commits.append(position)


class Failing(Store):
    """A store that does not answer when it is told so, though it may have stored what it got."""

    silent = ""
    stores = True

    def publish(self, topic: str, payload: bytes, **_: Any) -> int:
        if topic.startswith(self.silent or "-"):
            if self.stores:
                super().publish(topic, payload)
            raise StoreTimeout("publish", 1.0, "a test")
        return super().publish(topic, payload)

    def close(self) -> None:
        """It stays open."""


@pytest.fixture
def parts(monkeypatch: pytest.MonkeyPatch) -> tuple[Archiver, Live, Failing]:
    live, store = Live(), Failing()
    monkeypatch.setattr(archiver, "Client", lambda _: store)
    monkeypatch.setattr(archiver, "Live", lambda *_: live)
    topics = {"fleet": {"served": True, "durable": True}}
    config = Config.load(None, {"topics": topics, "store.brokers": ["127.0.0.1:1"]})
    return Archiver("fleet", config), live, store


def test_what_is_stored_is_committed(parts: tuple[Archiver, Live, Failing]) -> None:
    one, live, store = parts
    live.closed = 3
    assert one.work() == 3
    assert one.work() == 0
    live.closed, live.empty = 5, {4, 5}
    assert one.work() == 0
    live.closed = 6
    assert one.work() == 1
    assert live.commits == [NOWHERE, up_to(3), up_to(5), up_to(6)]
    assert numbers(Archive(store, "fleet", 0)) == [1, 2, 3, 6]  # type: ignore[arg-type]


@pytest.mark.parametrize("stores", [True, False])
def test_an_archiver_that_did_not_hear_looks_before_it_goes_on(
    parts: tuple[Archiver, Live, Failing], stores: bool
) -> None:
    one, live, store = parts
    store.silent, store.stores = index_topic("fleet"), stores
    live.closed = 3
    with pytest.raises(StoreTimeout):
        one.work()
    assert live.commits == [NOWHERE]
    store.silent, live.closed = "", 5
    one.work()
    assert live.commits[-1] == up_to(5)
    assert numbers(Archive(store, "fleet", 0)) == [1, 2, 3, 4, 5]  # type: ignore[arg-type]


def test_items_that_were_forgotten_end_the_archiver_in_words(
    parts: tuple[Archiver, Live, Failing], monkeypatch: pytest.MonkeyPatch
) -> None:
    one, live, _ = parts
    live.closed = 1

    def forgotten(*_: object) -> list[Any]:
        raise ReadFailed("fleet", [1], "forgotten", forgotten=True)

    monkeypatch.setattr(live, "read", forgotten)
    with pytest.raises(ReadFailed, match="cannot be archived"):
        one.run(lambda: False)


def test_what_another_archived_while_this_one_stood_still_is_not_lost(
    parts: tuple[Archiver, Live, Failing], monkeypatch: pytest.MonkeyPatch
) -> None:
    one, live, store = parts
    live.closed = 2
    assert one.work() == 2
    other = Archive(store, "fleet", 2)  # type: ignore[arg-type]
    other.open()
    other.add(bundle(2, 4), up_to(4))
    read = live.read

    def kept(start: Position, end: Position) -> list[Any]:
        if start[WRITER] < 4:
            raise ReadFailed("fleet", [1], "forgotten", forgotten=True)
        return read(start, end)

    monkeypatch.setattr(live, "read", kept)
    monkeypatch.setattr(archiver, "GATHER_S", 0.0)
    live.closed = 6
    one.run(lambda: live.commits[-1] == up_to(6))
    assert live.commits == [NOWHERE, up_to(2), up_to(4), up_to(6)]
    assert numbers(Archive(store, "fleet", 0)) == [1, 2, 3, 4, 5, 6]  # type: ignore[arg-type]


def test_an_archiver_that_nobody_answers_pauses_before_it_asks_again(
    parts: tuple[Archiver, Live, Failing], monkeypatch: pytest.MonkeyPatch
) -> None:
    one, live, _ = parts
    live.closed = 1
    pauses: list[float] = []

    def silent(*_: object) -> list[Any]:
        raise ReadFailed("fleet", [1], "no node answers")

    monkeypatch.setattr(live, "read", silent)
    # Ours alone: other threads of the process sleep as they do.
    monkeypatch.setattr(archiver, "time", SimpleNamespace(sleep=pauses.append))
    one.run(lambda: len(pauses) == 3)
    assert pauses == [archiver.GATHER_S] * 3
