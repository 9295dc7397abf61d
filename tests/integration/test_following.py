"""A plain program follows a served topic, is killed and comes back; every item counts once."""

from __future__ import annotations

import contextlib
import random
import sqlite3
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

import evenflow
from evenflow.config import Config
from evenflow.errors import ConfigError, DeliveryTimeout, DomainError
from evenflow.model.ids import NOWHERE
from evenflow.processes import LocalCluster
from evenflow.slices.consumer.follower import Follower
from evenflow.slices.publisher.publisher import Publisher

pytestmark = [pytest.mark.domain, pytest.mark.processes, pytest.mark.timeout(150)]
Eventually = Callable[..., None]
AUDIT = Path(__file__).with_name("audit.py")
TABLES = """
    CREATE TABLE batches (position TEXT PRIMARY KEY, times INTEGER);
    CREATE TABLE items (writer TEXT, slice INTEGER, number INTEGER, id INTEGER,
                        PRIMARY KEY (writer, slice, number));
"""


@pytest.fixture
def config(domain_id: int) -> Config:
    return Config.load(
        None,
        {
            "domain.id": domain_id,
            "topics": {"items": {"slices": 8, "served": True}, "plain": {}},
            "balancer.settle_s": 0.2,
            "publisher.epoch_ms": 20,
        },
    )


@pytest.fixture
def cluster(config: Config, tmp_path: Path) -> Iterator[LocalCluster]:
    with LocalCluster(config, log_dir=tmp_path) as cluster:
        cluster.start_balancer()
        for name in ("node-1", "node-2"):
            serve(cluster, name)
        yield cluster


def serve(cluster: LocalCluster, name: str) -> None:
    cluster.start(name, ["node", "--serve", "--name", name])


@pytest.fixture
def laggard(config: Config, cluster: LocalCluster, eventually: Eventually) -> Iterator[Follower]:
    """Another consumer, registered before everything, that commits nothing: all is kept for it."""
    with contextlib.closing(Follower("items", "laggard", config)) as follower:
        eventually(lambda: follower.ask(lambda core: not core.lacking()), "nobody serves")
        follower.register(NOWHERE)
        yield follower


class Trickle:
    """Publishes items, numbered from 0, while it is told to."""

    def __init__(self, publisher: Publisher) -> None:
        self.count = 0
        self._publisher = publisher
        self._stop = threading.Event()
        self.go_on()

    def go_on(self) -> None:
        self._stop.clear()
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def _run(self) -> None:
        while not self._stop.wait(0.005):
            self._publisher.publish(b"payload", id=self.count, sender=f"sender-{self.count % 50}")
            self.count += 1

    def stop(self) -> None:
        self._stop.set()
        self._thread.join()


@pytest.fixture
def trickle(config: Config, laggard: Follower) -> Iterator[Trickle]:
    publisher = Publisher("items", config=config)
    trickle = Trickle(publisher)
    yield trickle
    trickle.stop()
    laggard.commit(laggard.latest(NOWHERE))
    with contextlib.suppress(DeliveryTimeout):
        publisher.close(timeout=1.0)


class Audit:
    """The program and its database."""

    def __init__(self, config: Config, folder: Path) -> None:
        self.file = folder / "audit.toml"
        self.file.write_text(config.as_toml())
        self.database = folder / "audit.db"
        with contextlib.closing(sqlite3.connect(self.database)) as store:
            store.executescript(TABLES)
        self._process: subprocess.Popen[bytes] | None = None

    def start(self, timeout_s: float, batches: int = 0) -> None:
        command = [sys.executable, AUDIT, self.file, self.database, str(timeout_s), str(batches)]
        self._process = subprocess.Popen(command)

    def kill(self) -> None:
        if self._process is not None:
            self._process.kill()
            self._process.wait()

    def wait(self) -> None:
        """Wait until it ends because nothing comes."""
        assert self._process is not None
        assert self._process.wait(60) == 0

    def run(self) -> None:
        self.start(2.0)
        self.wait()

    def ask(self, query: str) -> list[tuple[int, ...]]:
        with contextlib.closing(sqlite3.connect(self.database, timeout=30)) as store:
            return store.execute(query).fetchall()

    def ids(self) -> list[int]:
        return sorted(row[0] for row in self.ask("SELECT id FROM items"))

    def batches(self) -> int:
        return self.ask("SELECT count(*) FROM batches")[0][0]

    def repeated(self) -> int:
        return self.ask("SELECT coalesce(sum(times - 1), 0) FROM batches")[0][0]


@pytest.fixture
def audit(config: Config, tmp_path: Path) -> Iterator[Audit]:
    audit = Audit(config, tmp_path)
    yield audit
    audit.kill()


def test_every_item_counts_once_though_the_program_is_killed_at_any_moment(
    trickle: Trickle, audit: Audit, eventually: Eventually
) -> None:
    rng = random.Random()
    for life in range(4):
        before = len(audit.ids())
        audit.start(60.0)
        eventually(lambda before=before: len(audit.ids()) > before, f"life {life} gets items")
        time.sleep(rng.uniform(0.0, 0.4))
        audit.kill()
        eventually(lambda: trickle.count > len(audit.ids()), "there is more")
    trickle.stop()
    audit.run()
    assert audit.ids() == list(range(trickle.count))
    assert audit.repeated() <= 4, "at most the batch in hand, for each kill"


def test_a_program_killed_in_a_batch_is_given_that_batch_again_though_more_has_come(
    trickle: Trickle, audit: Audit, eventually: Eventually
) -> None:
    for life in (1, 2):
        audit.start(60.0, batches=3)
        eventually(lambda life=life: audit.batches() >= 2 * life + 1, "it stands still")
        audit.kill()
        count = trickle.count
        eventually(lambda count=count: trickle.count > count + 100, "there is more")
    trickle.stop()
    audit.run()
    assert audit.ids() == list(range(trickle.count))
    assert audit.repeated() == 2, "the batch that was stored and not committed, in each life"


def test_a_program_that_was_stopped_goes_on_without_repeating_though_nodes_were_replaced(
    cluster: LocalCluster, trickle: Trickle, audit: Audit, eventually: Eventually
) -> None:
    audit.start(2.0)
    eventually(lambda: len(audit.ids()) > 100, "it gets items")
    trickle.stop()
    audit.wait()
    assert (audit.ids(), audit.repeated()) == (list(range(trickle.count)), 0)
    for old, new in (("node-1", "node-3"), ("node-2", "node-4")):
        serve(cluster, new)
        eventually(lambda new=new: f"{new}~" in cluster.log("balancer"), f"{new} has joined")
        assert cluster.stop(old) == 0
    trickle.go_on()
    eventually(lambda: trickle.count > len(audit.ids()) + 100, "there is more")
    trickle.stop()
    audit.run()
    assert (audit.ids(), audit.repeated()) == (list(range(trickle.count)), 0)


def test_only_a_topic_that_is_served_can_be_followed_and_only_with_sound_arguments(
    config: Config,
) -> None:
    with pytest.raises(ConfigError, match="served"):
        evenflow.follow("plain", "audit", config=config)
    with pytest.raises(ConfigError, match="consumer"):
        evenflow.follow("items", "no name", config=config)
    with pytest.raises(ConfigError, match="start"):
        evenflow.follow("items", "audit", config=config, start="yesterday")
    with pytest.raises(ConfigError, match="limit"):
        evenflow.follow("items", "audit", config=config, limit=0)
    with pytest.raises(DomainError, match="evenflow balancer"):
        evenflow.follow("items", "audit", config=config)


FORKS = """
import os, sys
import evenflow

loop = evenflow.follow("items", "forks", config=evenflow.Config.load(sys.argv[1]), timeout=20)
with loop:
    first = next(loop)
    child = os.fork()
    if not child:
        sys.exit(0)
    _, status = os.waitpid(child, 0)
    second = next(loop)
assert status == 0
assert second.start == first.position
print("went on")
"""


def test_a_forked_child_ends_in_the_usual_way_and_its_parent_goes_on(
    config: Config, trickle: Trickle, tmp_path: Path
) -> None:
    file = tmp_path / "forks.toml"
    file.write_text(config.as_toml())
    command = [sys.executable, "-c", FORKS, str(file)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=90, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (0, "went on\n", "")
