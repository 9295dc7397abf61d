"""Streams go to owners: endpoints, reading along, nodes that come late, maps that are old."""

from __future__ import annotations

import json
import time
from collections import Counter
from contextlib import ExitStack
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pytest
from cyclonedds.core import DDSException
from tests.integration.small_balancer import SmallBalancer

from evenflow import Balancer, Config, Node, Publisher
from evenflow.domain import channels
from evenflow.domain.cyclone import Participant
from evenflow.domain.settings import cyclone_xml
from evenflow.errors import DeliveryTimeout
from evenflow.slices.publisher.sending import replayer

if TYPE_CHECKING:
    import subprocess
    from collections.abc import Callable, Iterator, Sequence

    from evenflow.model.batch import Batch
    from evenflow.slices.publisher.sending.owner_writer import OwnerWriter

pytestmark = pytest.mark.domain

CONSTANT = 7
"""Endpoints of a publisher besides its writer for each node: epochs, commits, requests, maps,
ledgers, cuts and beats."""
BY_NUMBER = {"balancer.quiet_items": 1e9, "balancer.quiet_busy": 100.0}
"""Whatever the loads, each node has the same number of slices at once."""


def configured(domain_id: int, slices: int, **settings: Any) -> Config:
    topic = {"topics.items.slices": slices, "topics.items.assignment": "modulo:id"}
    return Config.load(None, {"domain.id": domain_id, "balancer.settle_s": 0.2} | topic | settings)


class Books:
    """The application of all nodes: how often each item was processed, and by whom."""

    def __init__(self) -> None:
        self.ids: Counter[int] = Counter()
        self.of: dict[str, Counter[int]] = {}

    def open(self, name: str, config: Config) -> Node:
        own = self.of[name] = Counter()

        def note(batch: Batch) -> None:
            own.update(batch.ids.tolist())
            self.ids.update(batch.ids.tolist())

        return Node("items", note, name=name, config=config)

    def are_right(self, count: int) -> bool:
        return self.ids == Counter(range(count))


@pytest.fixture
def books() -> Books:
    return Books()


@pytest.fixture
def stack() -> Iterator[ExitStack]:
    with ExitStack() as stack:
        yield stack


def publish(publisher: Publisher, ids: range) -> None:
    """Half of them one by one, the others as columns."""
    half = len(ids) // 2
    for number in ids[:half]:
        publisher.publish(str(number), id=number)
    payloads = pa.array([str(number).encode() for number in ids[half:]])
    publisher.publish_columns(payloads, ids=np.array(ids[half:]))


def share(nodes: Sequence[Node], slices: int) -> Callable[[], bool]:
    """Whether the nodes hold all slices evenly."""
    least = slices // len(nodes)
    return lambda: (
        sum(len(node.slices) for node in nodes) == slices
        and all(least <= len(node.slices) <= least + 1 for node in nodes)
    )


@pytest.mark.parametrize("slices", [10, 1_000])
def test_the_endpoints_of_a_publisher_are_the_nodes_and_a_constant(
    domain_id: int,
    books: Books,
    stack: ExitStack,
    eventually: Callable[..., None],
    slices: int,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(replayer, "IDLE_S", 1.0)  # waited for after every node
    config = configured(domain_id, slices, **BY_NUMBER)
    participant = stack.enter_context(Participant(config.domain))
    publisher = Publisher("items", config=config, participant=participant)
    assert participant.endpoints == CONSTANT
    publish(publisher, range(slices))
    published = slices
    stack.enter_context(Balancer(config=config))
    nodes: list[Node] = []
    for name in ("one", "two", "three"):
        nodes.append(stack.enter_context(books.open(name, config)))
        eventually(share(nodes, slices), f"{len(nodes)} nodes share the slices", 30.0)
        publish(publisher, range(published, published + 2 * slices))
        published += 2 * slices
        eventually(lambda count=published: publisher.committed == count, "all are committed")
        # Answers and replays have writers of their own, for as long as somebody asks.
        eventually(
            lambda: participant.endpoints == len(nodes) + CONSTANT,
            f"{len(nodes)} + {CONSTANT} endpoints",
            30.0,
        )
    assert publisher.stats.replayed > 0
    assert nodes.pop().leave()
    eventually(share(nodes, slices), "two nodes share the slices", 30.0)
    eventually(lambda: participant.endpoints == 2 + CONSTANT, f"2 + {CONSTANT} endpoints", 30.0)
    publisher.close()
    assert participant.endpoints == 0
    assert books.are_right(published)


FOREIGN = """
    import json, sys, time
    from dataclasses import dataclass
    from cyclonedds.core import Policy, Qos
    from cyclonedds.domain import Domain, DomainParticipant
    from cyclonedds.idl import IdlStruct
    from cyclonedds.idl.types import int32, int64, sequence, uint8, uint32, uint64
    from cyclonedds.sub import DataReader, Subscriber
    from cyclonedds.topic import Topic

    @dataclass
    class Sample(IdlStruct, typename="evenflow::Sample"):
        writer: uint64
        serial: uint64
        epoch: uint64
        slices: sequence[uint32]
        counts: sequence[uint32]
        firsts: sequence[uint64]
        ids: sequence[int64]
        times: sequence[int64]
        sender_offsets: sequence[int32]
        senders: sequence[uint8]
        payload_offsets: sequence[int32]
        payloads: sequence[uint8]

    domain = Domain(int(sys.argv[1]), sys.argv[2])
    participant = DomainParticipant(int(sys.argv[1]))
    everybody = Subscriber(participant, Qos(Policy.Partition(["*"])))
    every = Qos(Policy.Reliability.Reliable(0), Policy.History.KeepAll)
    data, replay = (
        DataReader(everybody, Topic(participant, f"evenflow/{name}/items", Sample), every)
        for name in ("data", "replay")
    )

    def items(sample):
        row = 0
        for slice_id, count, first in zip(sample.slices, sample.counts, sample.firsts):
            for number in range(first, first + count):
                begin, end = sample.payload_offsets[row : row + 2]
                payload = bytes(sample.payloads[begin:end]).decode()
                yield [slice_id, number, sample.ids[row], payload]
                row += 1

    print("reading", flush=True)
    seen, known = {"data": [], "replay": []}, set()
    for line in sys.stdin:
        wanted, deadline = int(line), time.monotonic() + 60
        quiet_since = time.monotonic()
        while time.monotonic() < min(deadline, quiet_since + 0.5):
            for name, reader in (("data", data), ("replay", replay)):
                for sample in reader.take(1000):
                    if isinstance(sample, Sample):  # else it tells that a writer is gone
                        seen[name] += items(sample)
                        known.update(map(tuple, items(sample)))
                        quiet_since = time.monotonic()
            if len(known) < wanted:
                quiet_since = time.monotonic()
            time.sleep(0.01)
        print(json.dumps(seen), flush=True)
"""


class Foreign:
    """A program that knows DDS, the IDL and nothing of ours."""

    def __init__(self, python: Callable[..., subprocess.Popen[str]], config: Config) -> None:
        self._process = python(FOREIGN, config.domain.id, cyclone_xml(config.domain))
        assert self._process.stdout is not None
        assert self._process.stdout.readline() == "reading\n"

    def seen(self, wanted: int) -> dict[str, Counter[tuple[int, int, int, str]]]:
        """Slice, number, id and payload of what it has read, when it has read so many items.

        And nothing came for half a second.
        """
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(f"{wanted}\n")
        self._process.stdin.flush()
        seen = json.loads(self._process.stdout.readline())
        return {name: Counter(map(tuple, items)) for name, items in seen.items()}


def readers_of(writer: OwnerWriter) -> int:
    """How many read what goes to a node: itself, and who reads along; -1 while that changes."""
    try:
        return len(writer._writer._writer.get_matched_subscriptions())
    except (DDSException, IndexError):
        return -1


def expected(ids: range, slices: int) -> Counter[tuple[int, int, int, str]]:
    return Counter((n % slices, n // slices + 1, n, str(n)) for n in ids)


def begin_with_both_nodes(publisher: Publisher, foreign: Foreign, slices: int) -> int:
    """Publish until the program has read from both nodes' writers; return the next id.

    A reader that is not durable drops what a reliable writer sends before its first heartbeat,
    even when both have matched: that comes again for the nodes, which ask for it.
    """
    published = 0
    while {slice_id for slice_id, *_ in foreign.seen(0)["data"]} != set(range(slices)):
        assert published < 20 * slices, "the program does not read from both nodes"
        publish(publisher, range(published, published + slices))
        published += slices
    return published


def test_a_foreign_program_that_reads_along_sees_every_item_once(
    domain_id: int,
    books: Books,
    stack: ExitStack,
    python: Callable[..., subprocess.Popen[str]],
    eventually: Callable[..., None],
) -> None:
    slices, count = 40, 2_000
    config = configured(domain_id, slices, **BY_NUMBER)
    stack.enter_context(Balancer(config=config))
    nodes = [stack.enter_context(books.open(name, config)) for name in ("one", "two")]
    publisher = Publisher("items", config=config)
    stack.callback(publisher.__exit__, RuntimeError, None, None)
    foreign = Foreign(python, config)
    eventually(share(nodes, slices), "the slices are shared", 30.0)
    writers = publisher._shell.owner_writers._writers
    eventually(
        lambda: [readers_of(one) for one in writers.values()] == [2, 2],
        "the nodes and the program read",
    )
    first = begin_with_both_nodes(publisher, foreign, slices)
    known = foreign.seen(0)
    publish(publisher, range(first, first + count))
    seen = foreign.seen(len(known["data"] | known["replay"]) + count)
    assert seen["data"] - known["data"] == expected(range(first, first + count), slices)

    # While slices move, some items are sent again, and they alone come twice.
    nodes.append(stack.enter_context(books.open("three", config)))
    published = first + count
    while not (share(nodes, slices)() and published > first + 2 * count):
        publish(publisher, range(published, published + 50))
        published += 50
        time.sleep(0.01)
    publisher.close()
    seen = foreign.seen(len(known["data"] | known["replay"]) + published - first)
    assert set(seen["data"].values()) == {1}
    assert set(seen["data"]) | set(seen["replay"]) >= set(expected(range(first, published), slices))
    assert books.are_right(published)


def test_what_is_published_before_there_are_nodes_and_a_balancer_waits_for_them(
    domain_id: int, books: Books, stack: ExitStack, eventually: Callable[..., None]
) -> None:
    slices, count = 100, 1_000
    config = configured(domain_id, slices)
    publisher = Publisher("items", config=config)
    stack.callback(publisher.__exit__, RuntimeError, None, None)
    publish(publisher, range(count))
    with pytest.raises(DeliveryTimeout, match="1000 items are unacknowledged in 100 slices"):
        publisher.flush(timeout=0.5)
    assert publisher.stats.samples == 0
    stack.enter_context(Balancer(config=config))
    publish(publisher, range(count, 2 * count))
    for name in ("one", "two"):
        stack.enter_context(books.open(name, config))
    publish(publisher, range(2 * count, 3 * count))
    publisher.close(timeout=60.0)
    assert books.are_right(3 * count)


def test_an_owner_that_the_publisher_has_not_heard_of_asks_and_is_sent_to(
    domain_id: int, books: Books, stack: ExitStack, eventually: Callable[..., None]
) -> None:
    slices, moved = 10, (3, 4)
    # Nobody confirms the reports of these nodes.
    config = configured(domain_id, slices, **{"node.lease_s": 600.0, "node.stall_s": 60.0})
    balancer = SmallBalancer(stack.enter_context(Participant(config.domain)), slices)
    commits: list[tuple[int, int, int, str]] = []
    old, new = (stack.enter_context(books.open(name, config)) for name in ("old", "new"))
    publisher = Publisher("items", config=config, on_commit=lambda *one: commits.append(one))
    stack.callback(publisher.__exit__, RuntimeError, None, None)
    balancer.take(old.id, range(slices), term=1)
    balancer.tell({old.id: range(slices)}, term=1)
    publish(publisher, range(100))
    eventually(lambda: publisher.committed == 100, "the old owner has processed everything")

    balancer.take(new.id, moved, term=2)
    eventually(lambda: new.slices == moved, "the new owner has begun")
    # Nobody takes the slices from the old owner, so nothing may go there any more.
    routed = publisher._core.routing.map
    eventually(
        lambda: {routed.owner(slice_id) for slice_id in moved} == {new.id},
        "the publisher has been asked by the new owner",
    )
    publish(publisher, range(100, 200))
    eventually(lambda: publisher.committed == 200, "everything is processed")
    skipped = publisher.stats.skipped
    publish(publisher, range(200, 300))
    publisher.close()
    assert publisher._core.routing.map.version == balancer.version == 1
    assert publisher.stats.skipped == skipped, "each item went to its owner at once"
    assert books.are_right(300)
    later = {n for n in range(100, 300) if n % slices in moved}
    assert set(books.of["new"]) == later
    numbers = Counter((one[0], n) for one in commits for n in range(one[1], one[2] + 1))
    assert numbers == Counter((s, n) for s in range(slices) for n in range(1, 31))
    assert {one[3] for one in commits if one[0] in moved} == {old.id, new.id}
    assert {one[3] for one in commits if one[0] not in moved} == {old.id}


def test_who_reads_along_is_taken_for_no_node(
    domain_id: int, books: Books, stack: ExitStack, eventually: Callable[..., None]
) -> None:
    slices = 10
    config = configured(domain_id, slices)
    along = stack.enter_context(Participant(config.domain))
    everything = along.reader(channels.data("items"), ["*"])
    balancer = SmallBalancer(along, slices)
    participant = stack.enter_context(Participant(config.domain))
    publisher = Publisher("items", config=config, participant=participant)
    stack.callback(publisher.__exit__, RuntimeError, None, None)
    balancer.tell({"gone": range(slices)})
    eventually(lambda: everything.matched() == 1, "a writer for the node that is named")
    publish(publisher, range(slices))
    with pytest.raises(DeliveryTimeout, match="no node reads this topic"):
        publisher.flush(timeout=1.5)
    assert publisher.stats.samples == 0
    assert everything.take() == []

    balancer.tell({"other": range(slices)}, term=2)
    eventually(lambda: participant.endpoints == 1 + CONSTANT, "no writer for who is gone")
