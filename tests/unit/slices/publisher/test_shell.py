"""The publisher's threads, on a domain in the test's hands: room, flush, close, and bad company."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from threading import Thread
from typing import Any

import numpy as np
import pytest

from evenflow.config import Config
from evenflow.domain import channels
from evenflow.errors import (
    AssignmentError,
    ClosedError,
    DeliveryTimeout,
    PublishTimeout,
    UsageError,
)
from evenflow.model.batch import Int32s
from evenflow.model.messages import (
    Beat,
    Commit,
    CutStage,
    EpochClose,
    Ledger,
    ReplayRequest,
    WriterCut,
)
from evenflow.model.sample import Sample
from evenflow.slices.assignment import Assignment
from evenflow.slices.publisher import publisher as publisher_module
from evenflow.slices.publisher.publisher import Publisher
from evenflow.slices.publisher.sending import owner_writer

from .fakes import LIMIT_S, FakeParticipant, leave_at_once, until
from .items import SLICES, map_page

DATA = channels.data("items")
FOREVER = {"timeout": float("inf")}
LONG_MS = 60_000
"""Longer than a test waits for an epoch to end by itself."""


class Domain(FakeParticipant):
    """A domain in which node ``a`` owns all slices."""

    def own(self, publisher: Publisher, *owners: str) -> None:
        page = map_page(owners or ["a"] * SLICES)
        self.say(channels.MAPS, page)
        until(lambda: publisher._core.routing.map.version == page.version)

    def commit(self, publisher: Publisher, node: str = "a") -> None:
        newest = publisher._core.retention.newest.tolist()
        slices, terms = tuple(range(SLICES)), (1,) * SLICES
        message = Commit("items", publisher.writer, node, "", slices, terms, tuple(newest))
        self.say(channels.COMMITS, message)

    def samples(self, node: str = "a") -> list[Sample]:
        return [Sample(encoded) for encoded in self.of(DATA, node).written]

    def ids(self, node: str = "a") -> list[int]:
        return sorted(number for one in self.samples(node) for number in one.rows.ids.tolist())

    def closes(self) -> list[EpochClose]:
        hello, *closes = self.of(channels.EPOCHS).written
        assert (hello.epoch, hello.slices) == (0, ())
        # On a slow machine a writer says more than once that it is there before its first epoch.
        return [one for one in closes if one.epoch or one.closing]


@pytest.fixture
def domain() -> Domain:
    return Domain(readers=1)


@contextmanager
def opened(domain: Domain, assignment: Any = "modulo:id", **settings: Any) -> Iterator[Publisher]:
    config = Config()
    [topic] = config.topics
    served, on_commit = settings.pop("served", False), settings.pop("on_commit", None)
    config = replace(
        config,
        topics=(replace(topic, slices=SLICES, served=served),),
        publisher=replace(config.publisher, **settings),
    )
    publisher = Publisher(
        "items",
        config=config,
        assignment=assignment,
        participant=domain,  # type: ignore[arg-type]
        on_commit=on_commit,
    )
    yield publisher
    leave_at_once(publisher)


def test_an_item_alone_is_written_after_the_linger(domain: Domain) -> None:
    with opened(domain, epoch_ms=LONG_MS) as publisher:
        domain.own(publisher)
        publisher.publish(b"x", id=1)
        until(lambda: domain.ids() == [1])


def test_without_linger_the_caller_writes(domain: Domain) -> None:
    with opened(domain, linger_ms=0) as publisher:
        domain.own(publisher, "a", "b", "a", "b")
        publisher.publish(b"x", id=1)
        publisher.publish_many([b"y", b"z"], ids=[2, 3])
        assert (domain.ids("a"), domain.ids("b")) == ([2], [1, 3])


def test_what_fills_a_sample_is_written_by_the_caller_with_what_waits(domain: Domain) -> None:
    with opened(domain, served=True, batch_items=4, epoch_ms=LONG_MS) as publisher:
        domain.own(publisher)
        payloads = np.zeros((2, 3), np.uint8)
        publisher.publish(b"x", id=0)
        publisher.publish_columns(payloads, ids=np.array([1, 2]))
        payloads[:] = 9
        publisher.publish(b"y", id=3)
        [sample] = domain.samples()
        assert {row.id: row.payload for row in sample.rows} == {
            0: b"x",
            1: bytes(3),
            2: bytes(3),
            3: b"y",
        }


class ByColumn(Assignment):
    """The slices are a column of the caller's own."""

    def assign(self, fields: Mapping[str, Any], slice_count: int) -> int:
        return int(fields["slice"])

    def assign_columns(self, columns: Mapping[str, Any], slice_count: int) -> Int32s:
        chosen: Int32s = columns["slice"]
        return chosen


def test_a_caller_may_change_the_column_that_the_slices_are_from(domain: Domain) -> None:
    with opened(domain, ByColumn(), linger_ms=1_000, epoch_ms=LONG_MS) as publisher:
        domain.own(publisher)
        slices = np.array([1, 2], np.int32)
        publisher.publish_columns(np.zeros((2, 3), np.uint8), fields={"slice": slices})
        slices[:] = SLICES + 1
        publisher.flush(LIMIT_S)
        assert [one.slices.tolist() for one in domain.samples()] == [[1, 2]]


def test_flush_writes_what_waits_and_waits_until_it_is_acknowledged(domain: Domain) -> None:
    with opened(domain, linger_ms=1_000, epoch_ms=LONG_MS) as publisher:
        domain.own(publisher)
        publisher.publish(b"x", id=1)
        publisher.flush(LIMIT_S)
        assert domain.ids() == [1]
        domain.of(DATA, "a").caught_up = False
        publisher.publish(b"x", id=2)
        with pytest.raises(DeliveryTimeout):
            publisher.flush(0.05)
        domain.of(DATA, "a").caught_up = True
        publisher.flush(LIMIT_S)
        assert domain.ids() == [1, 2]


def test_flush_is_no_success_when_nobody_has_the_items(domain: Domain) -> None:
    with opened(domain, epoch_ms=LONG_MS) as publisher:
        publisher.publish(b"x", id=1)
        with pytest.raises(DeliveryTimeout, match="no node reads this topic"):
            publisher.flush(0.05)
        domain.own(publisher)
        domain.commit(publisher)
        publisher.flush(LIMIT_S)


def test_flush_is_no_success_when_the_node_is_gone(domain: Domain) -> None:
    with opened(domain, epoch_ms=LONG_MS) as publisher:
        domain.own(publisher)
        publisher.publish(b"x", id=1)
        publisher.flush(LIMIT_S)
        domain.of(DATA, "a").readers = 0
        with pytest.raises(DeliveryTimeout):
            publisher.flush(0.05)
        domain.commit(publisher, "b")
        publisher.flush(LIMIT_S)


def test_flush_of_a_served_topic_does_not_wait_for_the_epoch(domain: Domain) -> None:
    with opened(domain, served=True, epoch_ms=LONG_MS) as publisher:
        domain.own(publisher)
        for number in range(3):
            publisher.publish(b"x", id=number)
            publisher.flush(LIMIT_S)
            assert domain.closes()[-1].epoch == number + 1
        assert domain.ids() == [0, 1, 2]


def test_samples_wait_for_the_reader_of_a_new_node_and_not_for_the_epoch(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(owner_writer, "MATCH_S", LIMIT_S)
    domain = Domain(readers=0)
    with opened(domain, linger_ms=0, epoch_ms=LONG_MS) as publisher:
        domain.own(publisher)
        publisher.publish(b"x", id=1)
        assert domain.samples() == []
        domain.of(DATA, "a").readers = 1
        publisher.flush(LIMIT_S)
        assert (domain.ids(), publisher.stats.skipped) == ([1], 0)


def test_a_congested_node_does_not_hold_up_another(domain: Domain) -> None:
    with opened(domain, linger_ms=0, epoch_ms=LONG_MS) as publisher:
        domain.own(publisher, "a", "b", "a", "b")
        for number in range(2):
            publisher.publish(b"x", id=number)
        stuck = domain.of(DATA, "a")
        stuck.full, stuck.caught_up = True, False
        for number in range(2, 8):
            publisher.publish(b"x", id=number)
        assert (domain.ids("a"), domain.ids("b")) == ([0], [1, 3, 5, 7])
        assert (publisher.stats.congested, publisher.stats.skipped) == (1, 3)
        stuck.full, stuck.caught_up = False, True
        until(lambda: publisher.stats.congested == 0)
        publisher.publish(b"x", id=8)
        assert domain.ids("a") == [0, 8]


def test_what_a_node_lacks_is_sent_to_it_again(domain: Domain) -> None:
    with opened(domain, linger_ms=0, epoch_ms=LONG_MS) as publisher:
        publisher.publish(b"x", id=1)
        request = ReplayRequest("items", publisher.writer, "b", 5, (1,), (1,), (0,))
        domain.say(channels.REQUESTS, request)
        until(lambda: publisher.stats.replayed == 1)
        [encoded] = domain.of(channels.replay("items"), "b").written
        assert Sample(encoded).rows.ids.tolist() == [1]
        [answer] = domain.of(channels.ANSWERS, "b").written
        assert (answer.request, answer.last) == (5, (1,))
        publisher.publish(b"y", id=5)
        assert domain.ids("b") == [5], "it has proved that it owns the slice"


def test_publish_waits_for_room_until_something_is_committed(domain: Domain) -> None:
    with opened(domain, retention_bytes=1 << 20, batch_bytes=1 << 20) as publisher:
        domain.own(publisher)
        publisher.publish(bytes(1_000_000), id=1)
        with pytest.raises(PublishTimeout) as caught:
            publisher.publish(bytes(100_000), id=2, timeout=0.02)
        assert (caught.value.accepted, publisher.stats.published) == (0, 1)
        waits = Thread(target=publisher.publish, args=(bytes(100_000),), kwargs={"id": 2})
        waits.start()
        until(lambda: bool(domain.samples()))
        domain.commit(publisher)
        waits.join(LIMIT_S)
        publisher.flush(LIMIT_S)
        assert domain.ids() == [1, 2]


def test_of_many_items_the_first_are_accepted_while_there_is_room(domain: Domain) -> None:
    with opened(domain, retention_bytes=1 << 20, linger_ms=0) as publisher:
        domain.own(publisher)
        with pytest.raises(PublishTimeout) as caught:
            publisher.publish_many([bytes(100_000)] * 20, ids=range(20), timeout=0.02)
        assert 0 < caught.value.accepted < 20
        assert publisher.stats.published == caught.value.accepted
        assert domain.ids() == list(range(caught.value.accepted))


@pytest.mark.parametrize(
    ("call", "said"),
    [
        (lambda p: p.publish(b"x", sender="\ud800"), "give a string"),
        (lambda p: p.publish(b"x", sender=3), "give a string"),
        (lambda p: p.publish(bytes(2 << 20)), "does not fit publisher.retention_bytes"),
        (lambda p: p.publish_many([b"x"], senders="\ud800"), "senders must be strings"),
        (lambda p: p.publish_many([b"x"], senders=["\ud800"]), "senders must be strings"),
        (lambda p: p.publish_many([b"x", bytes(2 << 20)]), "does not fit"),
        (lambda p: p.publish_columns([3]), "payloads must be bytes"),
    ],
)
@pytest.mark.parametrize("assignment", ["hash:sender", "random"])
def test_of_a_wrong_call_nothing_is_published(
    domain: Domain, assignment: str, call: Callable[[Publisher], None], said: str
) -> None:
    with opened(domain, assignment, retention_bytes=1 << 20) as publisher:
        with pytest.raises(UsageError, match=said):
            call(publisher)
        assert publisher._core.is_empty
        assert (publisher.stats.published, publisher.stats.retained_bytes) == (0, 0)


def test_an_item_that_gets_no_slice_is_told_to_its_caller(domain: Domain) -> None:
    with opened(domain, "modulo:n") as publisher:
        with pytest.raises(AssignmentError):
            publisher.publish({"m": 1})
        with pytest.raises(AssignmentError):
            publisher.publish_many([{"n": 1}, {}])
        assert (publisher.stats.published, publisher.stats.refused) == (0, 2)


def test_no_items_are_no_publication(domain: Domain) -> None:
    with opened(domain) as publisher:
        publisher.publish_many([])
        publisher.publish_columns(np.zeros((0, 3), np.uint8))
        assert publisher._core.is_empty


def test_close_waits_until_everything_is_committed(domain: Domain) -> None:
    with opened(domain, linger_ms=1_000, epoch_ms=LONG_MS) as publisher:
        domain.own(publisher)
        publisher.publish(b"x", id=1)
        closes = Thread(target=publisher.close, args=(LIMIT_S,))
        closes.start()
        until(lambda: bool(domain.closes()))
        assert closes.is_alive()
        assert (domain.closes()[-1].slices, domain.closes()[-1].closing) == ((1,), False)
        domain.commit(publisher)
        closes.join(LIMIT_S)
        assert not closes.is_alive()
        assert (domain.closes()[-1].slices, domain.closes()[-1].closing) == ((), True)
        assert (domain.ids(), domain.of(DATA, "a").closed) == ([1], True)
        with pytest.raises(ClosedError):
            publisher.publish(b"x")


def test_a_hook_that_fails_is_told_of_all_the_other_commits(domain: Domain) -> None:
    told = []

    def hook(slice_id: int, first: int, last: int, node: str) -> None:
        told.append((slice_id, first, last, node))
        raise RuntimeError

    with opened(domain, on_commit=hook, linger_ms=0) as publisher:
        domain.own(publisher)
        publisher.publish_many([b"x"] * SLICES, ids=range(SLICES))
        domain.commit(publisher)
        publisher.close(LIMIT_S)
    assert sorted(told) == [(slice_id, 1, 1, "a") for slice_id in range(SLICES)]


def test_whoever_closes_as_well_waits_as_long(domain: Domain) -> None:
    with opened(domain, epoch_ms=LONG_MS) as publisher:
        domain.own(publisher)
        publisher.publish(b"x", id=1)
        closes = Thread(target=publisher.close, args=(LIMIT_S,))
        closes.start()
        until(lambda: bool(domain.closes()))
        with pytest.raises(DeliveryTimeout):
            publisher.close(0.02)
        domain.commit(publisher)
        publisher.close(LIMIT_S)
        assert publisher.committed == 1
        closes.join(LIMIT_S)
        publisher.close(0.0)


def test_close_says_what_stayed_uncommitted(domain: Domain) -> None:
    with opened(domain) as publisher:
        for number in (1, 2, 5):
            publisher.publish(b"x", id=number)
        with pytest.raises(DeliveryTimeout) as caught:
            publisher.close(0.02)
        assert (caught.value.items, caught.value.slices) == (3, (1, 2))


def test_epochs_are_announced_until_all_is_committed(domain: Domain) -> None:
    with opened(domain, epoch_ms=10) as publisher:
        domain.own(publisher)
        publisher.publish(b"x", id=1)
        until(lambda: len(domain.closes()) >= 2)
        assert {(close.epoch, close.slices, close.last) for close in domain.closes()} == {
            (1, (1,), (1,))
        }
        domain.commit(publisher)
        until(lambda: domain.closes()[-1].slices == ())


def test_who_goes_on_behind_a_cut_says_that_another_writer_begins(domain: Domain) -> None:
    with opened(domain, epoch_ms=LONG_MS) as publisher:
        domain.own(publisher)
        publisher.publish(b"x", id=1)
        writer, slices = publisher.writer, tuple(range(SLICES))
        domain.say(channels.CUTS, WriterCut("items", writer, 5, 0, slices, (0,) * SLICES, (), 1))
        ended = Ledger("items", 9, (writer,), (5,), (CutStage.COMPLETE,), (), ())
        domain.say(channels.LEDGERS, ended)
        until(lambda: publisher.writer != writer)
        until(lambda: len({one.writer for one in domain.of(channels.EPOCHS).written}) > 1)
        told = [one for one in domain.of(channels.EPOCHS).written if one.writer == publisher.writer]
        assert (told[0].epoch, told[0].slices) == (0, ())


def beat(*nodes: str) -> Beat:
    return Beat("items", 1, 1, nodes, (1,) * len(nodes), ())


def test_writers_are_there_before_slices_come_and_go_with_their_nodes(domain: Domain) -> None:
    with opened(domain, epoch_ms=LONG_MS) as publisher:
        writers = publisher._shell.owner_writers
        domain.say(channels.BEATS, beat("a", "b"))
        until(lambda: writers.nodes in (["a", "b"], ["b", "a"]))
        domain.of(DATA, "b").readers = 0
        domain.say(channels.BEATS, beat("a"))
        until(lambda: writers.nodes == ["a"])
        assert domain.of(DATA, "b").closed


@pytest.mark.parametrize("name", ["*", "", "two words", "x" * 300])
def test_a_name_that_no_node_can_have_harms_nobody(domain: Domain, name: str) -> None:
    with opened(domain, linger_ms=0, epoch_ms=LONG_MS) as publisher:
        domain.own(publisher)
        domain.say(channels.BEATS, beat("a", name))
        request = ReplayRequest("items", publisher.writer, name, 5, (1,), (9,), (0,))
        domain.say(channels.REQUESTS, request)
        until(lambda: publisher._core.fencing.term(1) == 9)
        for number in range(3):
            publisher.publish(b"x", id=number)
        assert (domain.ids(), publisher.stats.skipped) == ([0, 2], 1)
        assert publisher._shell.owner_writers.nodes == ["a"]


def test_many_threads_publish_and_flush_without_a_loss(domain: Domain) -> None:
    with opened(domain, batch_items=7, linger_ms=1, epoch_ms=10) as publisher:
        domain.own(publisher, "a", "b", "a", "b")

        def publish(first: int) -> None:
            for number in range(first, first + 200):
                if number % 10:
                    publisher.publish(b"x", id=number)
                else:
                    publisher.publish_many([b"x"], ids=[number])
                if number % 50 == 0:
                    publisher.flush(LIMIT_S)

        threads = [Thread(target=publish, args=(first,)) for first in (0, 200, 400, 600)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(LIMIT_S)
        publisher.flush(LIMIT_S)
        assert sorted(domain.ids("a") + domain.ids("b")) == list(range(800))
        for node in "ab":
            serials = [sample.serial for sample in domain.samples(node)]
            assert serials == sorted(serials)


def test_a_block_that_raises_waits_for_what_can_be_committed_and_tells_what_is_given_up(
    domain: Domain, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(publisher_module, "AFTER_ERROR_S", 0.2)
    with opened(domain, epoch_ms=LONG_MS, linger_ms=1_000) as publisher:
        domain.own(publisher)

        def fail() -> None:
            with publisher:
                publisher.publish(b"x", id=1)
                raise ZeroDivisionError

        with pytest.raises(ZeroDivisionError):
            fail()
        assert domain.ids() == [1]  # nobody commits it, but it has left the process
        assert "ZeroDivisionError ended the block of a publisher of topic items" in caplog.text
        assert "1 item is given up" in caplog.text


def test_one_may_wait_without_end(domain: Domain) -> None:
    with opened(domain, retention_bytes=1 << 20) as publisher:
        domain.own(publisher)
        publisher.publish(bytes(1_000_000), id=1)
        more = Thread(target=publisher.publish, args=(bytes(100_000),), kwargs=FOREVER, daemon=True)
        more.start()
        publisher.flush(**FOREVER)
        domain.commit(publisher)
        more.join(LIMIT_S)
        publisher.flush(**FOREVER)
        closing = Thread(target=publisher.close, kwargs=FOREVER, daemon=True)
        closing.start()
        domain.commit(publisher)
        closing.join(LIMIT_S)
        assert publisher.committed == 2


@pytest.mark.parametrize("timeout", ["5", float("nan"), object()])
def test_a_timeout_that_is_no_number_is_refused_and_nothing_is_lost_by_it(
    domain: Domain, timeout: Any
) -> None:
    with opened(domain) as publisher:
        for call in (publisher.flush, publisher.close, partial(publisher.wait_for_unit, 1)):
            with pytest.raises(UsageError, match="give seconds"):
                call(timeout=timeout)
        with pytest.raises(UsageError, match="give seconds"):
            publisher.publish(b"x", timeout=timeout)
        assert publisher.publish(b"y")
        assert publisher.stats.published == 1


def test_who_is_told_of_a_failure_again_and_again_keeps_nothing_of_it(domain: Domain) -> None:
    with opened(domain) as publisher:
        publisher._shell._on_failure(ValueError("a test"))
        for _ in range(100):
            with pytest.raises(ValueError, match="a test") as raised:
                publisher.publish(b"x")
        assert len(raised.traceback) < 10
        publisher._shell._failure = None
