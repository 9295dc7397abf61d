"""The publisher on a real domain, against a small node written out by hand."""

from __future__ import annotations

import asyncio
import itertools
import signal
import subprocess
import sys
import threading
import time
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace

import numpy as np
import pyarrow as pa
import pytest
from tests.integration.small_balancer import SmallBalancer

from evenflow.config import Config, DomainConfig, PublisherConfig, TopicConfig
from evenflow.domain import channels
from evenflow.domain.channels import Gone
from evenflow.domain.cyclone import Participant
from evenflow.errors import (
    AssignmentError,
    ClosedError,
    DeliveryTimeout,
    PublishTimeout,
    UsageError,
)
from evenflow.model.batch import Item
from evenflow.model.messages import Commit, EpochClose, ReplayAnswer, ReplayRequest
from evenflow.model.sample import Sample
from evenflow.slices.publisher.aio import AsyncPublisher
from evenflow.slices.publisher.publisher import Publisher

pytestmark = pytest.mark.domain

SLICES = 8
LIMIT_S = 20.0
MIB = 1 << 20


@pytest.fixture
def config(domain_config: DomainConfig) -> Config:
    """A domain of this test's own."""
    return Config(
        domain=domain_config,
        publisher=PublisherConfig(linger_ms=0, retention_bytes=4 * MIB, block_s=LIMIT_S),
        topics=(TopicConfig(name="items", slices=SLICES, assignment="modulo:id"),),
    )


def until(condition: Callable[[], bool], *nodes: SmallNode) -> None:
    """Let the nodes work until the condition holds."""
    deadline = time.monotonic() + LIMIT_S
    while not condition():
        assert time.monotonic() < deadline, "the condition did not come true in time"
        for node in nodes:
            node.poll()
        if not nodes:
            time.sleep(0.005)


@dataclass
class SmallNode:
    """Reads what is sent to it, asks for what it lacks, commits when told to."""

    config: Config
    name: str = "small"
    term: int = 1
    slices: tuple[int, ...] = tuple(range(SLICES))
    items: dict[tuple[int, int], Item] = field(default_factory=dict)
    answers: list[ReplayAnswer] = field(default_factory=list)
    closes: list[EpochClose] = field(default_factory=list)
    arrived: dict[int, list[int]] = field(default_factory=lambda: defaultdict(list))
    """The first numbers of each slice's batches, as they came."""

    def __post_init__(self) -> None:
        self.participant = Participant(self.config.domain)
        partition = channels.node_partition(self.name)
        self.data = self.participant.reader(channels.data("items"), [partition])
        self.replay = self.participant.reader(channels.replay("items"), [partition])
        self.epochs = self.participant.reader(channels.EPOCHS)
        self.replies = self.participant.reader(channels.ANSWERS, [partition])
        self.waiter = self.participant.waiter()
        for reader in (self.data, self.replay, self.epochs, self.replies):
            self.waiter.attach(reader)
        self.writers: dict[tuple[str, int], object] = {}

    def send(self, message: Commit | ReplayRequest) -> None:
        channel = channels.channel_of(type(message))
        key = (channel.name, message.writer)
        if key not in self.writers:
            partition = channels.writer_partition(message.writer)
            self.writers[key] = self.participant.writer(channel, partition)
        assert self.writers[key].write(message)  # type: ignore[attr-defined]

    def poll(self) -> None:
        self.waiter.wait(0.01)
        for reader in (self.data, self.replay):
            for sample in reader.take():
                assert isinstance(sample, Sample)
                for batch in sample.batches():
                    self.arrived[batch.slice].append(batch.first)
                    for number, item in enumerate(batch, batch.first):
                        self.items[batch.slice, number] = item
        self.answers += self.replies.take()
        self.closes += [
            one for one in self.epochs.take() if not isinstance(one, Gone) and one.epoch
        ]

    def upto(self) -> dict[int, int]:
        """For each slice, the number up to which everything is here."""
        numbers = defaultdict(set)
        for slice_id, number in self.items:
            numbers[slice_id].add(number)
        return {
            slice_id: next(n for n in itertools.count(1) if n + 1 not in found)
            for slice_id, found in numbers.items()
            if 1 in found
        }

    def request(self, writer: int, slices: tuple[int, ...] | None = None) -> None:
        slices = self.slices if slices is None else slices
        terms = (self.term,) * len(slices)
        have = (0,) * len(slices)
        self.send(ReplayRequest("items", writer, self.name, 1, slices, terms, have))

    def commit(self, writer: int) -> None:
        upto = self.upto()
        slices = tuple(upto)
        terms = (self.term,) * len(slices)
        self.send(Commit("items", writer, self.name, "", slices, terms, tuple(upto.values())))

    def close(self) -> None:
        self.participant.close()


@pytest.fixture
def node(config: Config) -> Iterator[SmallNode]:
    small = SmallNode(config)
    yield small
    small.close()


def abandon(publisher: Publisher) -> None:
    """Leave without waiting, as a ``with`` block does that an error ends."""
    publisher.__exit__(RuntimeError, None, None)


@pytest.fixture
def publisher(config: Config) -> Iterator[Publisher]:
    opened = Publisher("items", config=config)
    yield opened
    abandon(opened)


@pytest.fixture
def balancer(config: Config) -> Iterator[SmallBalancer]:
    with Participant(config.domain) as participant:
        yield SmallBalancer(participant, SLICES)


def meet(publisher: Publisher, balancer: SmallBalancer, *nodes: SmallNode) -> None:
    """Wait until the publisher knows what the nodes own, and they read what it sends them."""
    expect(publisher, balancer, {node.name: node.slices for node in nodes})


def expect(
    publisher: Publisher, balancer: SmallBalancer, owned: Mapping[str, Iterable[int]]
) -> None:
    balancer.tell(owned)
    until(lambda: publisher._core.routing.map.version == balancer.version)
    until(lambda: publisher._shell.owner_writers.readers >= set(owned))


def test_items_arrive_as_they_were_published(
    publisher: Publisher, balancer: SmallBalancer, node: SmallNode
) -> None:
    meet(publisher, balancer, node)
    publisher.publish(b"\0bytes", sender="a", id=0, time=1)
    publisher.publish("größe", sender="b", id=1, time=2)
    publisher.publish({"n": 1, "unit": "°"}, sender="c", id=2, time=3)
    publisher.flush()
    until(lambda: len(node.items) == 3, node)
    assert node.items == {
        (0, 1): Item("a", 0, 1, b"\0bytes"),
        (1, 1): Item("b", 1, 2, "größe".encode()),
        (2, 1): Item("c", 2, 3, '{"n":1,"unit":"°"}'.encode()),
    }


def test_defaults_name_the_process_and_count(
    publisher: Publisher, balancer: SmallBalancer, node: SmallNode
) -> None:
    meet(publisher, balancer, node)
    for _ in range(3):
        publisher.publish(b"")
    until(lambda: len(node.items) == 3, node)
    items = node.items.values()
    assert sorted(item.id for item in items) == [1, 2, 3]
    assert {item.sender for item in items} == {publisher._intake._sender}
    assert all(item.time > 1_600_000_000_000_000 for item in items)


def test_lingering_items_travel_together(
    config: Config, balancer: SmallBalancer, node: SmallNode
) -> None:
    config = replace(config, publisher=replace(config.publisher, linger_ms=20))
    with Publisher("items", config=config) as publisher:
        meet(publisher, balancer, node)
        for n in range(3 * SLICES):
            publisher.publish(b"x", id=n)
        until(lambda: len(node.items) == 3 * SLICES, node)
        assert node.upto() == dict.fromkeys(range(SLICES), 3)
        assert publisher.stats.samples < SLICES, "items of all slices share samples"
        node.commit(publisher.writer)


@pytest.mark.parametrize("linger_ms", [0, 1])
def test_threads_may_publish_at_the_same_time(
    config: Config, balancer: SmallBalancer, node: SmallNode, linger_ms: int
) -> None:
    config = replace(config, publisher=replace(config.publisher, linger_ms=linger_ms))
    with Publisher("items", config=config) as publisher:
        meet(publisher, balancer, node)

        def publish(start: int) -> None:
            for n in range(start, start + 500):
                publisher.publish(b"x", id=n)
            publisher.publish_columns(pa.array([b"x"] * 500), ids=np.arange(500) + start + 500)

        threads = [threading.Thread(target=publish, args=(n * 1_000,)) for n in range(4)]
        for thread in threads:
            thread.start()
        until(lambda: len(node.items) == 4_000, node)
        for thread in threads:
            thread.join()
        node.commit(publisher.writer)
    assert sorted(item.id for item in node.items.values()) == list(range(4_000))
    assert all(firsts == sorted(firsts) for firsts in node.arrived.values())


def test_columns_arrive_as_they_were_published(
    publisher: Publisher, balancer: SmallBalancer, node: SmallNode
) -> None:
    meet(publisher, balancer, node)
    count = 5_000
    random = np.random.default_rng(1)
    payloads = [random.bytes(int(size)) for size in random.integers(0, 50, count)]
    senders = [f"car-{n % 7}" for n in range(count)]
    ids = np.arange(count)
    publisher.publish_columns(pa.array(payloads), senders=pa.array(senders), ids=ids, times=ids * 2)
    rows = zip(senders, ids.tolist(), (ids * 2).tolist(), payloads, strict=True)
    expected = {(n % SLICES, n // SLICES + 1): Item(*row) for n, row in enumerate(rows)}
    until(lambda: len(node.items) == count, node)
    assert node.items == expected


def test_rows_of_bytes_and_fields_for_the_assignment(
    config: Config, balancer: SmallBalancer, node: SmallNode
) -> None:
    payloads = np.arange(40, dtype=np.uint8).reshape(10, 4)
    with Publisher("items", config=config, assignment="hash:car") as publisher:
        meet(publisher, balancer, node)
        publisher.publish_columns(payloads, fields={"car": np.array(["a", "b"] * 5)})
        until(lambda: len(node.items) == 10, node)
        node.commit(publisher.writer)
    assert sorted(item.payload for item in node.items.values()) == [bytes(row) for row in payloads]
    assert len({slice_id for slice_id, _ in node.items}) == 2


def test_many_mappings_are_assigned_by_their_keys(
    config: Config, balancer: SmallBalancer, node: SmallNode
) -> None:
    with Publisher("items", config=config, assignment="modulo:n") as publisher:
        meet(publisher, balancer, node)
        publisher.publish_many([{"n": 3}, {"n": 5}, {"n": 11}], senders=["a", "b", "c"])
        until(lambda: len(node.items) == 3, node)
        node.commit(publisher.writer)
    assert {key: item.payload for key, item in node.items.items()} == {
        (3, 1): b'{"n":3}',
        (3, 2): b'{"n":11}',
        (5, 1): b'{"n":5}',
    }


def test_what_was_published_before_anybody_read_is_replayed(
    publisher: Publisher, config: Config
) -> None:
    for n in range(100):
        publisher.publish(str(n), id=n)
    late = SmallNode(config)
    try:
        until(lambda: bool(late.closes), late)
        close = late.closes[-1]
        assert close.writer == publisher.writer
        assert sum(close.last) <= 100
        late.request(publisher.writer)
        until(lambda: len(late.items) == 100, late)
        [answer] = late.answers
        assert (sum(answer.floor), sum(answer.last), answer.refused) == (0, 100, ())
        assert publisher.stats.replayed == 100
        late.commit(publisher.writer)
        publisher.close()
    finally:
        late.close()


def test_a_stale_owner_is_refused(config: Config, balancer: SmallBalancer) -> None:
    commits: list[tuple[int, int, int, str]] = []
    old = SmallNode(config, "old", term=1)
    new = SmallNode(config, "new", term=2)
    try:
        with Publisher(
            "items", config=config, on_commit=lambda *one: commits.append(one)
        ) as publisher:
            meet(publisher, balancer, old)
            for n in range(16):
                publisher.publish(b"x", id=n)
            until(lambda: len(old.items) == 16, old, new)
            assert new.items == {}
            new.request(publisher.writer)
            until(lambda: len(new.items) == 16 and bool(new.answers), old, new)
            old.commit(publisher.writer)
            until(lambda: bool(old.answers), old, new)
            assert old.answers[0].refused == old.slices
            assert set(old.answers[0].refused_terms) == {2}
            assert (publisher.committed, publisher.stats.stale_commits) == (0, SLICES)
            new.commit(publisher.writer)
        assert sorted(commits) == [(slice_id, 1, 2, "new") for slice_id in range(SLICES)]
    finally:
        old.close()
        new.close()


def test_who_asks_under_a_newer_term_is_sent_to_though_the_map_is_old(
    publisher: Publisher, balancer: SmallBalancer, config: Config
) -> None:
    old = SmallNode(config, "old", term=1)
    new = SmallNode(config, "new", term=3, slices=(2, 5))
    try:
        meet(publisher, balancer, old)
        for n in range(SLICES):
            publisher.publish(b"before", id=n)
        until(lambda: len(old.items) == SLICES, old, new)
        new.request(publisher.writer)
        until(lambda: set(new.items) == {(2, 1), (5, 1)}, old, new)
        replayed = publisher.stats.replayed

        for n in range(SLICES):
            publisher.publish(b"after", id=n)
        until(lambda: len(old.items) == 2 * SLICES - 2 and len(new.items) == 4, old, new)
        assert {key for key in old.items if key[1] == 2} == {(n, 2) for n in (0, 1, 3, 4, 6, 7)}
        assert {key for key in new.items if key[1] == 2} == {(2, 2), (5, 2)}

        # A page that was written before does not take the slices away, nor does its repetition.
        expect(publisher, balancer, {"old": range(SLICES)})
        for n in (2, 5):
            publisher.publish(b"later", id=n)
        until(lambda: len(new.items) == 6, old, new)
        assert publisher.stats.replayed == replayed, "nobody had to ask again"
        assert len(old.items) == 2 * SLICES - 2

        old.commit(publisher.writer)
        new.commit(publisher.writer)
        until(lambda: publisher.committed == 2 * SLICES + 2, old, new)
        assert publisher.stats.stale_commits == 2, "the old owner's word on the two slices"
    finally:
        old.close()
        new.close()


def test_full_retention_without_a_node_says_so(publisher: Publisher) -> None:
    for _ in range(3):
        publisher.publish(bytes(MIB))
    with pytest.raises(PublishTimeout, match="no node reads this topic") as caught:
        publisher.publish(bytes(MIB), timeout=0.05)
    assert caught.value.uncommitted == publisher.stats.published == 3
    assert publisher.stats.retained_bytes <= caught.value.limit_bytes == 4 * MIB


def test_full_retention_with_an_idle_node_says_so(
    publisher: Publisher, balancer: SmallBalancer, node: SmallNode
) -> None:
    meet(publisher, balancer, node)
    with pytest.raises(PublishTimeout, match="none has committed anything"):
        publisher.publish_columns(pa.array([bytes(MIB // 2)] * 20), timeout=0.05)


def test_publishing_goes_on_when_there_is_room_again(
    publisher: Publisher, balancer: SmallBalancer, node: SmallNode
) -> None:
    meet(publisher, balancer, node)
    items = 20
    caller = threading.Thread(
        target=lambda: [publisher.publish(bytes(MIB // 2), id=n) for n in range(items)]
    )
    caller.start()
    until(lambda: bool(node.items), node)
    node.request(publisher.writer)

    def all_are_committed() -> bool:
        if node.items:
            node.commit(publisher.writer)
            node.request(publisher.writer)
        return publisher.committed == items

    until(all_are_committed, node)
    caller.join()


def test_a_timeout_says_which_of_many_were_accepted(
    publisher: Publisher, balancer: SmallBalancer, node: SmallNode
) -> None:
    with pytest.raises(PublishTimeout) as caught:
        publisher.publish_columns(pa.array([bytes(MIB // 2)] * 20), ids=np.arange(20), timeout=0.05)
    accepted = caught.value.accepted
    assert 0 < accepted < 20
    assert publisher.stats.published == accepted
    node.request(publisher.writer)
    until(lambda: len(node.items) == accepted, node)
    assert sorted(item.id for item in node.items.values()) == list(range(accepted))


def test_an_item_larger_than_the_retention_is_refused(publisher: Publisher) -> None:
    for publish in (publisher.publish, lambda one: publisher.publish_columns(pa.array([one]))):
        with pytest.raises(UsageError, match="does not fit"):
            publish(bytes(4 * MIB))


READER = """
import sys
from evenflow.config import DomainConfig
from evenflow.domain import channels
from evenflow.domain.cyclone import Participant
participant = Participant(DomainConfig(id=int(sys.argv[1])))
reader = participant.reader(channels.data("items"), sys.argv[2:])
waiter = participant.waiter()
waiter.attach(reader)
print("reading", flush=True)
while True:
    waiter.wait(1.0)
    reader.take()
"""


def test_a_stopped_node_does_not_hold_up_the_others(
    config: Config, balancer: SmallBalancer
) -> None:
    stopped, living = (0, 1, 2, 3), (4, 5, 6, 7)
    config = replace(config, publisher=replace(config.publisher, retention_bytes=64 * MIB))
    command = [sys.executable, "-c", READER, str(config.domain.id), "stopped"]
    reader = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    node = SmallNode(config, slices=living)
    publisher = Publisher("items", config=config)
    try:
        assert reader.stdout is not None
        assert reader.stdout.readline() == "reading\n"
        expect(publisher, balancer, {"stopped": stopped, node.name: living})
        reader.send_signal(signal.SIGSTOP)
        count = 0

        def is_congested() -> bool:
            nonlocal count
            for _ in range(SLICES):
                publisher.publish(bytes(20_000), id=count)
                count += 1
            return publisher.stats.congested > 0

        until(is_congested, node)
        until(lambda: sum(node.upto().values()) == count // 2, node)
        assert publisher.stats.skipped > 0
        node.commit(publisher.writer)
        until(lambda: publisher.committed == count // 2, node)

        # The stopped process never comes back; its slices are taken over and replayed.
        reader.kill()
        heir = SmallNode(config, "heir", term=2, slices=stopped)
        try:
            heir.request(publisher.writer)
            until(lambda: sum(heir.upto().values()) == count // 2, heir)
            heir.commit(publisher.writer)
            publisher.close()
            assert publisher.stats.uncommitted == 0
        finally:
            heir.close()
    finally:
        reader.kill()
        reader.wait()
        reader.stdout.close()  # type: ignore[union-attr]
        abandon(publisher)
        node.close()


def test_a_congested_node_is_written_to_again_when_it_goes_on(
    config: Config, balancer: SmallBalancer
) -> None:
    command = [sys.executable, "-c", READER, str(config.domain.id), "slow"]
    reader = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    config = replace(config, publisher=replace(config.publisher, retention_bytes=64 * MIB))
    publisher = Publisher("items", config=config)
    try:
        assert reader.stdout is not None
        assert reader.stdout.readline() == "reading\n"
        expect(publisher, balancer, {"slow": range(SLICES)})
        reader.send_signal(signal.SIGSTOP)

        def is_congested() -> bool:
            publisher.publish(bytes(20_000), id=0)
            return publisher.stats.congested > 0

        until(is_congested)
        reader.send_signal(signal.SIGCONT)
        until(lambda: publisher.stats.congested == 0)
    finally:
        reader.kill()
        reader.wait()
        reader.stdout.close()  # type: ignore[union-attr]
        abandon(publisher)


def test_close_waits_for_the_commit_and_says_goodbye(
    config: Config, balancer: SmallBalancer, node: SmallNode
) -> None:
    publisher = Publisher("items", config=config)
    meet(publisher, balancer, node)
    for n in range(50):
        publisher.publish(b"x", id=n)
    closing = threading.Thread(target=publisher.close)
    closing.start()
    until(lambda: any(sum(close.last) == 50 for close in node.closes), node)
    assert closing.is_alive()
    assert not any(close.closing for close in node.closes)
    until(lambda: len(node.items) == 50, node)
    node.commit(publisher.writer)
    closing.join(LIMIT_S)
    assert publisher.stats.uncommitted == 0
    until(lambda: node.closes[-1].closing, node)
    assert node.closes[-1].slices == ()
    with pytest.raises(ClosedError):
        publisher.publish(b"x")
    publisher.close()


def test_close_says_what_stayed_uncommitted(
    config: Config, balancer: SmallBalancer, node: SmallNode
) -> None:
    publisher = Publisher("items", config=config)
    meet(publisher, balancer, node)
    for n in (1, 2, 9):
        publisher.publish(b"x", id=n)
    with pytest.raises(
        DeliveryTimeout, match=r"3 items are uncommitted in 2 slices \(1, 2\)"
    ) as caught:
        publisher.close(timeout=0.1)
    assert (caught.value.items, caught.value.slices) == (3, (1, 2))


def test_flush_without_a_reader_is_no_success(publisher: Publisher) -> None:
    publisher.publish(b"x", id=3)
    with pytest.raises(DeliveryTimeout, match=r"1 item is unacknowledged in 1 slice \(3\)"):
        publisher.flush(timeout=0.05)


def test_an_item_without_a_slice_is_refused_and_counted(config: Config) -> None:
    publisher = Publisher(
        "items", config=config, assignment=lambda fields, _: 0 if fields["id"] == 0 else None
    )
    with pytest.raises(AssignmentError, match="item 1 of 'car' on topic 'items' gets no slice"):
        publisher.publish(b"x", id=1, sender="car")
    with pytest.raises(AssignmentError, match="item 2 of 'car'"):
        publisher.publish_many([b"x", b"y"], ids=[0, 2], senders="car")
    assert (publisher.stats.refused, publisher.stats.published) == (2, 0)
    publisher.close()


def test_a_node_with_an_impossible_name_harms_nobody(
    publisher: Publisher, balancer: SmallBalancer, node: SmallNode
) -> None:
    node.slices = tuple(range(1, SLICES))
    balancer.tell({"*": [0], node.name: node.slices})
    until(lambda: publisher._core.routing.map.version == balancer.version)
    node.send(ReplayRequest("items", publisher.writer, "*", 1, (0, 1), (1, 1), (0, 0)))
    for n in range(SLICES):
        publisher.publish(b"x", id=n)
    until(lambda: len(node.items) == SLICES - 1, node)
    node.commit(publisher.writer)
    with pytest.raises(DeliveryTimeout, match=r"1 item is uncommitted in 1 slice \(0\)"):
        publisher.close(timeout=1.0)


def test_the_hook_may_fail_and_harms_nobody(
    config: Config, balancer: SmallBalancer, node: SmallNode
) -> None:
    def hook(*_: object) -> None:
        raise RuntimeError("boom")

    with Publisher("items", config=config, on_commit=hook) as publisher:
        meet(publisher, balancer, node)
        publisher.publish(b"x", id=0)
        until(lambda: len(node.items) == 1, node)
        node.commit(publisher.writer)
    assert publisher.committed == 1


def test_the_asyncio_form(config: Config, balancer: SmallBalancer, node: SmallNode) -> None:
    async def main() -> None:
        async with AsyncPublisher("items", config=config) as publisher:
            await asyncio.to_thread(meet, publisher.opened, balancer, node)
            await publisher.publish({"n": 1}, sender="a", id=0)
            await publisher.publish_many([b"x", b"y"], ids=[1, 2])
            await publisher.publish_columns(pa.array([b"z"]), ids=np.array([3]))
            await publisher.flush()
            await asyncio.to_thread(until, lambda: len(node.items) == 4, node)
            assert publisher.stats.published == 4
            node.commit(publisher.opened.writer)
            await publisher.close()
            assert publisher.committed == 4

    asyncio.run(main())
    assert sorted(item.id for item in node.items.values()) == [0, 1, 2, 3]


def test_the_asyncio_form_waits_for_room_in_a_thread(
    config: Config, balancer: SmallBalancer, node: SmallNode
) -> None:
    async def main() -> None:
        async with AsyncPublisher("items", config=config) as publisher:
            items = [publisher.publish(bytes(MIB), id=n) for n in range(8)]
            publishing = asyncio.gather(*items)

            def committed() -> bool:
                node.request(publisher.opened.writer)
                if node.items:
                    node.commit(publisher.opened.writer)
                return publisher.committed == 8

            await asyncio.to_thread(until, committed, node)
            await publishing

    asyncio.run(main())
    assert sorted(item.id for item in node.items.values()) == list(range(8))


def test_a_full_asyncio_form_raises_in_time(config: Config) -> None:
    async def main() -> None:
        publisher = await AsyncPublisher("items", config=config).open()
        for _ in range(3):
            await publisher.publish(bytes(MIB))
        with pytest.raises(PublishTimeout):
            await publisher.publish(bytes(MIB), timeout=0.02)
        with pytest.raises(DeliveryTimeout):
            await publisher.close(timeout=0.02)

    asyncio.run(main())
