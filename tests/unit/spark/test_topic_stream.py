"""One topic of a query: where it begins, and what it does about items that nobody has any more."""

from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest
from pyspark.sql.types import StructType

from evenflow.config import Config
from evenflow.errors import DomainError
from evenflow.model.ids import NOWHERE, Position
from evenflow.model.messages import EpochClose, Ledger
from evenflow.slices.consumer.core import ConsumerCore
from evenflow.slices.consumer.splits import Point, Split
from evenflow.slices.consumer.ticket import Range
from evenflow.spark import topic_stream
from evenflow.spark.offsets import Place
from evenflow.spark.options import Options
from evenflow.spark.source import StreamReader
from evenflow.spark.topic_stream import TopicStream

WRITER = 7


class Domain:
    """A follower over a core; nobody else is there."""

    def __init__(self) -> None:
        self.core = ConsumerCore("items", "query", 0)
        self.core.handle(Ledger("items", 1, (), (), (), (), ()), 0.0)
        self.said: list[tuple[str, Position, Position]] = []
        self.asked: Range | None = None
        self.left = 0

    def ask(self, question: Callable[[ConsumerCore], Any]) -> Any:
        return question(self.core)

    def wait(self, question: Callable[[ConsumerCore], bool], seconds: float) -> None: ...

    def register(self, position: Position, planned: Position, *, tell: bool) -> None:
        assert not tell
        self.said.append(("register", position, planned))

    def commit(self, position: Position, *, last: bool) -> None:
        self.said.append(("commit", position, NOWHERE))

    def shares_of(self, asked: Range) -> list[Any]:
        self.asked = asked
        return []

    def closed(self) -> Position:
        return self.core.closed()

    def close(self) -> None:
        self.left += 1


@pytest.fixture
def domain() -> Domain:
    return Domain()


@pytest.fixture
def stream(domain: Domain, monkeypatch: pytest.MonkeyPatch) -> Callable[..., TopicStream]:
    monkeypatch.setattr(topic_stream, "enter", lambda *_, **__: domain)
    watch = SimpleNamespace(on_batch_planned=list, damaged=0, close=lambda: None)
    monkeypatch.setattr(topic_stream, "QueryWatch", lambda *_: watch)
    config = Config.load(None, {"topics": {"items": {"served": True}}})

    def made(**more: Any) -> TopicStream:
        return TopicStream(Options(("items",), config, "query", **more), "items", "")

    return made


def close(domain: Domain, committed: int) -> None:
    domain.core.handle(EpochClose(WRITER, "items", 20, 4, (), (), False, committed), 0.0)


START, END = Place(Point(Position({WRITER: 3}))), Place(Point(Position({WRITER: 12})))


def test_a_split_epoch_is_planned_and_not_committed(
    stream: Callable[..., TopicStream], domain: Domain
) -> None:
    place = Place(Point(Position({WRITER: 3}), {WRITER: Split(5, 1, 10, 9)}))
    stream().commit(place)
    assert domain.said == [
        ("register", Position({WRITER: 3}), Position({WRITER: 5})),
        ("commit", Position({WRITER: 3}), NOWHERE),
    ]


def test_what_is_forgotten_fails_a_query_in_words(
    stream: Callable[..., TopicStream], domain: Domain
) -> None:
    close(domain, committed=8)
    with pytest.raises(DomainError, match=r"(?s)epochs 4 to 8.*new checkpoint.*failOnDataLoss"):
        stream().shares(START, END)
    assert not domain.said


def test_a_query_may_go_on_without_and_counts_it(
    stream: Callable[..., TopicStream], domain: Domain, caplog: pytest.LogCaptureFixture
) -> None:
    close(domain, committed=8)
    one = stream(fail_on_loss=False)
    one.shares(START, END)
    assert domain.said == [("register", Position({WRITER: 8}), Position({WRITER: 12}))]
    assert domain.asked is not None
    assert (domain.asked.start, domain.asked.end) == ({WRITER: 8}, {WRITER: 12})
    one.commit(START)
    assert domain.said[-1] == ("commit", Position({WRITER: 8}), NOWHERE), "it never goes back"
    assert "epochs 4 to 8" in caplog.text
    assert one._figures(domain.core, NOWHERE).lost == 5


def test_where_nothing_is_missing_nothing_is_lost(
    stream: Callable[..., TopicStream], domain: Domain
) -> None:
    close(domain, committed=3)
    one = stream()
    one.shares(START, END)
    assert domain.asked is not None
    assert domain.asked.start == {WRITER: 3}
    assert one._figures(domain.core, NOWHERE).lost == 0


def test_one_that_cannot_be_watched_leaves_the_domain(
    stream: Callable[..., TopicStream], domain: Domain, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*_: object) -> None:
        raise DomainError("agent", "a test")

    monkeypatch.setattr(topic_stream, "QueryWatch", broken)
    with pytest.raises(DomainError):
        stream()
    assert domain.left == 1


def test_one_whose_watch_fails_at_the_end_leaves_the_domain_too(
    stream: Callable[..., TopicStream], domain: Domain, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken() -> None:
        raise DomainError("agent", "a test")

    monkeypatch.setattr(topic_stream, "QueryWatch", lambda *_: SimpleNamespace(close=broken))
    one = stream()
    with pytest.raises(DomainError):
        one.stop()
    assert domain.left == 1


def test_what_is_available_now_and_lacking_at_nodes_is_told(
    stream: Callable[..., TopicStream], domain: Domain, caplog: pytest.LogCaptureFixture
) -> None:
    one = stream()
    one.prepare()
    assert not caplog.text
    close(domain, 2)
    one.prepare()
    assert "ends before the newest that publishers have closed" in caplog.text


def test_every_topic_of_a_query_is_stopped_though_another_fails() -> None:
    class Stopped:
        def __init__(self) -> None:
            self.times = 0

        def stop(self) -> None:
            self.times += 1
            raise DomainError("topic", "a test")

    config = Config.load(None, {"topics": {"items": {"served": True}}})
    reader = StreamReader(Options(("items",), config, "query"), StructType([]))
    streams = {"a": Stopped(), "b": Stopped()}
    reader._streams = dict(streams)  # type: ignore[arg-type]
    with pytest.raises(DomainError):
        reader.stop()
    reader.stop()
    assert [one.times for one in streams.values()] == [1, 1]
