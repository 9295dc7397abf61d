"""A durable topic: archived by a process that is killed, read by those who come late."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

import evenflow
from evenflow.config import Config
from evenflow.durable.archiver import Archiver
from evenflow.errors import ConfigError, EvenflowError
from evenflow.overlay.broker.local import LocalBrokers
from evenflow.overlay.space.coordinate import Coordinate
from evenflow.processes import LocalCluster, wait_until
from evenflow.slices.publisher.publisher import Publisher

pytestmark = [pytest.mark.domain, pytest.mark.processes, pytest.mark.timeout(120)]
Eventually = Callable[..., None]
PLACES = [(0.2, 0.3), (0.7, 0.2), (0.5, 0.6)]
SENDERS = ("a", "b", "c")


@pytest.fixture
def brokers(tmp_path: Path) -> Iterator[LocalBrokers]:
    places = {f"b{number}": Coordinate(*place) for number, place in enumerate(PLACES)}
    with LocalBrokers(places, tmp_path, silence_s=1.5) as brokers:
        brokers.start_all()
        yield brokers


@pytest.fixture
def config(domain_id: int, brokers: LocalBrokers) -> Config:
    topic = {"slices": 8, "served": True, "durable": True, "assignment": "hash:sender"}
    return Config.load(
        None,
        {
            "domain.id": domain_id,
            "topics": {"items": topic},
            "balancer.settle_s": 0.2,
            "publisher.epoch_ms": 20,
            "store.brokers": list(brokers.addresses.values()),
        },
    )


@pytest.fixture
def cluster(config: Config, tmp_path: Path) -> Iterator[LocalCluster]:
    with LocalCluster(config, log_dir=tmp_path) as cluster:
        cluster.start_balancer()
        for number in (1, 2):
            cluster.start(f"node-{number}", ["node", "--serve", "--name", f"node-{number}"])
        cluster.start("archive", ["archive", "-v"])
        yield cluster


class Writing(threading.Thread):
    """Publishes in a steady trickle until told to stop."""

    def __init__(self, config: Config) -> None:
        super().__init__(daemon=True)
        self.count = 0
        self._publisher = Publisher("items", config=config)
        self._ending = threading.Event()
        self.start()

    def run(self) -> None:
        while not self._ending.wait(0.002):
            for sender in SENDERS:
                self._publisher.publish(b"x" * 20, sender=sender, id=self.count)
            self.count += 1

    def end(self) -> int:
        self._ending.set()
        self.join()
        return self.count

    def one_more(self) -> None:
        self._publisher.publish(b"x", sender=SENDERS[0], id=self.count)

    def close(self) -> None:
        self._publisher.close()


class Late(threading.Thread):
    """Reads from the beginning, and notes what comes."""

    def __init__(self, config: Config) -> None:
        super().__init__(daemon=True)
        self.seen: dict[str, list[int]] = {sender: [] for sender in SENDERS}
        self.error: Exception | None = None
        self._config = config
        self._ending = False
        self.start()

    def run(self) -> None:
        try:
            for item in evenflow.read_from("items", 0, config=self._config):
                self.seen[item.sender].append(item.id)
                if self._ending:
                    return
        except EvenflowError as error:
            self.error = error

    def has(self, count: int) -> bool:
        assert self.error is None, self.error
        return all(len(ids) >= count for ids in self.seen.values())

    def end(self, writing: Writing) -> None:
        """Stop when the next item comes, and leave the domain."""
        self._ending = True
        writing.one_more()
        self.join(20)
        assert not self.is_alive()


def archived(config: Config) -> int:
    return sum(1 for _ in evenflow.read_from("items", 0, config=config, live=False))


def test_a_late_reader_gets_the_past_and_then_the_live_stream(
    config: Config, cluster: LocalCluster, eventually: Eventually
) -> None:
    writing = Writing(config)
    eventually(lambda: archived(config) > 300, "the archive has something", 40)
    cluster.kill("archive")
    killed_at = writing.count
    eventually(lambda: writing.count > killed_at + 100, "more is published")
    cluster.start("archive", ["archive", "-v"])
    late = Late(config)
    eventually(lambda: late.has(killed_at + 100), "the late reader catches up", 40)
    count = writing.end()
    eventually(lambda: late.has(count), "the late reader has everything", 40)
    assert late.seen == {sender: list(range(count)) for sender in SENDERS}
    eventually(lambda: archived(config) >= count * len(SENDERS), "all of it is archived", 40)
    again: dict[str, list[int]] = {sender: [] for sender in SENDERS}
    for item in evenflow.read_from("items", 0, config=config, live=False):
        again[item.sender].append(item.id)
    assert again == late.seen
    late.end(writing)
    writing.close()
    assert cluster.stop("archive") == 0


def test_a_second_archive_ends_with_one_line(config: Config, cluster: LocalCluster) -> None:
    assert wait_until(lambda: "archiving items" in cluster.log("archive"), 40)
    cluster.start("second", ["archive"])
    assert cluster.processes["second"].wait(60) == 2
    begun, ended = cluster.log("second").splitlines()
    assert "looking for the nodes and brokers of items" in begun
    assert "topic 'items': another process archives it already" in ended


def test_a_topic_without_nodes_does_not_stop_the_archiving_of_another(
    config: Config, tmp_path: Path, eventually: Eventually
) -> None:
    topics = {one: {"slices": 8, "served": True, "durable": True} for one in ("idle", "items")}
    brokers = list(config.store.brokers)
    both = {"domain.id": config.domain.id, "topics": topics, "store.brokers": brokers}
    config = Config.load(None, both)
    with LocalCluster(config, log_dir=tmp_path) as cluster:
        cluster.start_balancer()
        cluster.start("node", ["node", "--serve", "--name", "node", "--topic", "items"])
        cluster.start("archive", ["archive"])
        with Publisher("items", config=config) as publisher:
            publisher.publish(b"x", sender="a", id=1)
        eventually(lambda: archived(config) == 1, "the served topic is archived", 40)
        eventually(lambda: "waiting: topic 'idle'" in cluster.log("archive"), "it is told", 40)
        begun = time.monotonic()
        assert cluster.stop("archive") == 0
        assert time.monotonic() - begun < 10


def test_a_reading_is_closed_while_it_waits(config: Config, cluster: LocalCluster) -> None:
    with Publisher("items", config=config) as publisher:
        publisher.publish(b"x", sender="a", id=1)
    before = set(threading.enumerate())
    reading = evenflow.read_from("items", 0, config=config)
    assert next(reading).id == 1
    began = set(threading.enumerate()) - before
    assert len(began) > 1
    reading.close()
    assert [thread for thread in began if thread.name == "evenflow-store-client"]
    assert not [
        thread
        for thread in began
        if thread.is_alive() and thread.name.startswith(("evenflow-store-client", "archive"))
    ]


def test_what_a_durable_topic_needs_is_said() -> None:
    with pytest.raises(ConfigError, match="must be true, and served too, to archive it"):
        Archiver("items", Config.load(None, {"topics.items.durable": True}))
    served = Config.load(None, {"topics.items.served": True})
    with pytest.raises(ConfigError, match="must be true, and served too, to read it"):
        next(evenflow.read_from("items", 0, config=served))
    plain = Config.load(None, {"topics.items.served": True, "topics.items.durable": True})
    with pytest.raises(ConfigError, match="must be a datetime with a zone"):
        next(evenflow.read_from("items", "yesterday", config=plain))  # type: ignore[arg-type]
    with pytest.raises(ConfigError, match=r"store\.brokers"):
        next(evenflow.read_from("items", time.time(), config=plain))
