"""What a loop over a topic commits, and when; over a domain in memory."""

from __future__ import annotations

import gc
from collections.abc import Callable, Iterator
from threading import Event, Thread
from typing import Any

import pyarrow as pa
import pytest
from tests.unit.slices.publisher.fakes import FakeParticipant, FakeWaiter

from evenflow.config import Config, TopicConfig
from evenflow.errors import ClosedError, ConfigError, DomainError, ReadFailed
from evenflow.model.batch import Item
from evenflow.model.ids import NOWHERE, Position
from evenflow.model.sample import Sample
from evenflow.slices.consumer import follower, following
from evenflow.slices.consumer.arrow_batches import record_batch
from evenflow.slices.consumer.follower import Follower
from evenflow.slices.consumer.following import Following
from evenflow.slices.consumer.row_numbers import Span, join_spans, numbered
from evenflow.testing.samples import encode_items

WRITER = 9


class Domain:
    """A topic with one writer and an item in each epoch, and what it remembers of the consumer.

    It stands in for a :class:`~evenflow.slices.consumer.follower.Follower`.
    """

    def __init__(self, epochs: int) -> None:
        self.epochs = epochs
        self.said: tuple[Position, Position] | None = None
        self.log: list[tuple[int, int]] = []
        self.closed = 0
        self.failures = 0
        self.empty: set[int] = set()
        """Epochs without items."""

        self.is_new = True

    def enter(self, *, alone: bool) -> None:
        assert alone

    def wait_heard(self) -> None: ...

    def remembered(self) -> tuple[Position, Position] | None:
        return self.said

    def begin(self, start: str) -> Position:
        return Position({WRITER: self.epochs}) if start == "latest" else NOWHERE

    def register(self, position: Position, planned: Position = NOWHERE) -> None:
        self.commit(position, planned)

    def commit(self, position: Position, planned: Position = NOWHERE, *, last: bool = True) -> None:
        self.said = (position, planned)
        self.log.append((position[WRITER], planned[WRITER]))

    def latest(self, start: Position, wait_s: float = 0.0) -> Position:
        return start.merged({WRITER: self.epochs})

    def limited(self, start: Position, end: Position, items: int) -> Position:
        return end.capped({WRITER: start[WRITER] + items})

    def shares(self, start: Position, end: Position) -> list[range]:
        return [range(start[WRITER] + 1, end[WRITER] + 1)]

    def read(self, share: range) -> Iterator[pa.RecordBatch]:
        if self.failures:
            self.failures -= 1
            raise ReadFailed("items", [0], "no node answers")
        for epoch in set(share) - self.empty:
            runs = {0: (epoch, [Item("s", epoch, 0, b"")])}
            rows = record_batch(Sample(encode_items(WRITER, epoch, epoch, runs)).batches())
            yield numbered(rows, join_spans([Span(0, WRITER, epoch, epoch)]))

    def close(self) -> None:
        self.closed += 1


@pytest.fixture
def domain(monkeypatch: pytest.MonkeyPatch) -> Domain:
    domain = Domain(epochs=5)
    monkeypatch.setattr(following, "read_numbered", domain.read)
    return domain


@pytest.fixture
def follow(domain: Domain) -> Callable[..., Following]:
    def follow(start: str | Position = "earliest", limit: int = 2) -> Following:
        return Following(domain, start, limit, 0.0)  # type: ignore[arg-type]

    return follow


def test_a_batch_is_committed_when_the_next_is_asked_for(
    domain: Domain, follow: Callable[..., Following]
) -> None:
    loop = follow()
    assert next(loop).ids.tolist() == [1, 2]
    assert (domain.said, loop.position) == ((NOWHERE, {WRITER: 2}), NOWHERE)
    assert next(loop).ids.tolist() == [3, 4]
    assert domain.said == ({WRITER: 2}, {WRITER: 4})
    assert next(loop).ids.tolist() == [5]
    assert list(loop) == [], "nothing came in time"
    assert domain.said == ({WRITER: 5}, NOWHERE)
    assert domain.log == [(0, 0), (0, 2), (2, 4), (4, 5), (5, 0)]


def test_one_that_died_in_a_batch_is_given_the_same_batch_though_more_has_come(
    domain: Domain, follow: Callable[..., Following]
) -> None:
    first = next(follow())
    domain.epochs = 50
    again = follow(limit=40)
    batch = next(again)
    assert (batch.start, batch.position) == (first.start, first.position)
    assert batch.ids.tolist() == first.ids.tolist()
    assert len(next(again)) == 40


def test_one_that_dies_again_before_it_reads_is_still_given_the_same_batch(
    domain: Domain, follow: Callable[..., Following]
) -> None:
    first = next(follow())
    follow().close()
    assert next(follow()).position == first.position


def test_one_that_has_committed_goes_on_behind_it(
    domain: Domain, follow: Callable[..., Following]
) -> None:
    loop = follow()
    next(loop)
    loop.commit()
    loop.close()
    assert domain.said == ({WRITER: 2}, NOWHERE)
    assert next(follow()).ids.tolist() == [3, 4]


def test_the_applications_own_position_counts_always(
    domain: Domain, follow: Callable[..., Following]
) -> None:
    next(follow())
    assert next(follow(Position({WRITER: 3}))).ids.tolist() == [4, 5]


def test_one_that_is_unknown_begins_where_it_wants(
    domain: Domain, follow: Callable[..., Following]
) -> None:
    assert list(follow("latest")) == []
    domain.said = None
    assert sum(len(batch) for batch in follow("earliest")) == 5


def test_one_that_is_registered_and_that_nobody_remembers_misses_nothing(
    domain: Domain, follow: Callable[..., Following]
) -> None:
    domain.is_new = False
    assert next(follow("latest")).ids.tolist() == [1, 2]


def test_stopping_commits_what_was_given_and_ends_the_loop(
    domain: Domain, follow: Callable[..., Following]
) -> None:
    loop = follow()
    for batch in loop:
        assert batch.ids.tolist() == [1, 2]
        loop.stop()
    assert domain.said == ({WRITER: 2}, NOWHERE)


def test_a_batch_that_could_not_be_read_is_tried_again(
    domain: Domain, follow: Callable[..., Following]
) -> None:
    loop = follow()
    domain.failures = 1
    with pytest.raises(ReadFailed):
        next(loop)
    loop.commit()
    assert domain.said == (NOWHERE, {WRITER: 2}), "nothing was given"
    assert next(loop).ids.tolist() == [1, 2]


def test_epochs_without_items_are_passed_over(
    domain: Domain, follow: Callable[..., Following]
) -> None:
    domain.empty = {1, 2}
    assert next(follow()).ids.tolist() == [3, 4]


def test_a_loop_that_nobody_holds_is_closed_once(
    domain: Domain, follow: Callable[..., Following]
) -> None:
    for _ in follow():
        break
    gc.collect()
    assert domain.closed == 1
    with follow() as loop:
        next(loop)
    loop.close()
    assert domain.closed == 2


def test_one_that_is_closed_gives_and_commits_nothing_and_says_so(
    domain: Domain, follow: Callable[..., Following]
) -> None:
    loop = follow()
    next(loop)
    loop.close()
    for call in (loop.commit, lambda: next(loop)):
        with pytest.raises(ClosedError):
            call()
    assert loop.position == NOWHERE
    assert domain.said == (NOWHERE, {WRITER: 2}), "the batch in hand comes again"


class Place(FakeParticipant):
    """A domain in which nothing happens."""

    def __enter__(self) -> Place:
        return self

    def __exit__(self, *_: object) -> None: ...

    def close(self) -> None: ...

    def waiter(self, *_: object) -> FakeWaiter:
        return super().waiter()


def test_who_waits_for_the_next_batch_is_told_when_another_thread_closes_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    with monkeypatch.context() as patched:
        patched.setattr(follower, "Participant", lambda _: Place())
        patched.setattr(Follower, "enter", lambda *_, **__: None)
        patched.setattr(Follower, "register", lambda *_, **__: None)
        config = Config(topics=(TopicConfig(served=True),))
        one = Follower("items", "audit", config)
        loop = Following(one, Position({WRITER: 3}), 10, None)
    waits, latest = Event(), one.latest
    told: list[BaseException] = []

    def look(start: Position, wait_s: float = 0.0) -> Position:
        if wait_s:
            waits.set()
        return latest(start, wait_s)

    monkeypatch.setattr(one, "latest", look)

    def wait() -> None:
        try:
            next(loop)
        except ClosedError as error:
            told.append(error)

    waiting = Thread(target=wait, daemon=True)
    waiting.start()
    assert waits.wait(10.0)
    loop.close()
    waiting.join(10.0)
    [error] = told
    assert "consumer 'audit' of topic 'items' is closed" in str(error)
    for _ in range(20):
        with pytest.raises(ClosedError) as raised:
            one.shares(NOWHERE, NOWHERE)
    assert len(raised.traceback) < 10, "it keeps nothing of those who were told before"


def test_what_fails_at_the_beginning_leaves_nothing_open(
    domain: Domain, follow: Callable[..., Following], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(domain, "remembered", lambda: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        follow()
    gc.collect()
    assert domain.closed == 1


@pytest.mark.parametrize(
    ("argument", "value", "said"),
    [
        ("consumer", "archive", "of our own"),
        ("consumer", "dead", "of our own"),
        ("consumer", 3, "consumer = 3"),
        ("start", 5, "a position"),
        ("start", "soon", "a position"),
        ("limit", "x", "whole number"),
        ("limit", 0, "whole number"),
        ("timeout", "3", "seconds"),
        ("timeout", -1, "seconds"),
        ("config", "evenflow.toml", r"Config.load\(FILE\)"),
    ],
)
def test_an_argument_that_cannot_be_used_is_told_in_words(
    argument: str, value: object, said: str
) -> None:
    config = Config(topics=(TopicConfig(served=True),))
    given: dict[str, Any] = {"consumer": "audit", "config": config, argument: value}
    with pytest.raises(ConfigError, match=said):
        following.follow("items", **given)


def test_one_that_cannot_begin_leaves_the_domain_at_once(
    domain: Domain, follow: Callable[..., Following], monkeypatch: pytest.MonkeyPatch
) -> None:
    def refused(*_: object) -> None:
        raise DomainError("consumer 'audit'", "a test")

    monkeypatch.setattr(domain, "register", refused)
    with pytest.raises(DomainError) as raised:
        follow()
    assert domain.closed == 1, "though the error, and so its frames, are still here"
    del raised
