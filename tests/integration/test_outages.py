"""Processes that stand still or are restarted, with a real domain: every item once."""

from __future__ import annotations

import json
import os
import signal
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.integration.reading import Reading, enter

import evenflow
from evenflow.cli import main
from evenflow.config import Config
from evenflow.processes import LocalCluster
from evenflow.slices.balancer.balancer import Balancer
from evenflow.slices.node.node import Node
from evenflow.slices.publisher.publisher import Publisher

pytestmark = [pytest.mark.domain, pytest.mark.processes, pytest.mark.timeout(150)]
SILENCE_S = 2.0
STOPPED_S = 7.0
COUNT = 3_000
PROGRAM = """
    import sys, time
    from evenflow import Config, Publisher
    with Publisher("items", config=Config.load(sys.argv[1])) as publisher:
        for number in range(int(sys.argv[2])):
            publisher.publish(b"x", id=number)
            time.sleep(0.002)
    """


def settings(domain_id: int, *, served: bool) -> dict[str, object]:
    return {
        "domain.id": domain_id,
        "topics": {"items": {"slices": 8, "served": served, "assignment": "hash:id"}},
        "node.writer_silence_s": SILENCE_S,
        "balancer.settle_s": 0.2,
        "publisher.epoch_ms": 50,
    }


@pytest.fixture
def config(domain_id: int, tmp_path: Path, request: pytest.FixtureRequest) -> Config:
    file = tmp_path / "evenflow.toml"
    file.write_text(Config.load(None, settings(domain_id, served=request.param)).as_toml())
    return Config.load(str(file))


def stop_for_a_while(pid: int) -> None:
    os.kill(pid, signal.SIGSTOP)
    time.sleep(STOPPED_S)
    os.kill(pid, signal.SIGCONT)


@pytest.mark.parametrize("config", [False], indirect=True)
def test_a_publisher_that_stood_still_before_a_slow_application(
    config: Config, python: Callable, eventually: Callable
) -> None:
    seen: Counter[int] = Counter()

    def slow(batch: evenflow.Batch) -> None:
        seen.update(batch.ids.tolist())
        time.sleep(0.0005 * len(batch))

    with Balancer(config=config), Node("items", slow, config=config) as node:
        eventually(lambda: len(node.slices) == 8)
        publisher = python(PROGRAM, config.file, COUNT)
        eventually(lambda: len(seen) > 500)
        stop_for_a_while(publisher.pid)
        eventually(lambda: len(seen) == COUNT, timeout_s=60)
        assert publisher.wait(30) == 0
        assert set(seen.values()) == {1}
        assert node._core.writers.ledger.entries  # the suspicion was wrong, and it was acted upon


@pytest.mark.parametrize("config", [True], indirect=True)
def test_a_publisher_that_stood_still_under_a_query(
    config: Config, python: Callable, eventually: Callable, tmp_path: Path
) -> None:
    with served(config, tmp_path), Reading(config, "query") as reading:
        publisher = python(PROGRAM, config.file, COUNT)
        eventually(lambda: len(reading.ids) > 200, timeout_s=40)
        stop_for_a_while(publisher.pid)
        eventually(lambda: len(set(reading.ids)) == COUNT, timeout_s=60)
        assert publisher.wait(30) == 0
        assert len(reading.ids) == COUNT


@pytest.mark.parametrize("config", [True], indirect=True)
def test_writers_says_why_the_end_of_a_silent_one_waits(
    config: Config,
    python: Callable,
    eventually: Callable,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    with served(config, tmp_path):
        read(config, "away", timeout=0.5)  # registers, and goes away
        publisher = python(PROGRAM, config.file, COUNT)
        eventually(lambda: "heard" in states(config, capsys), timeout_s=30)
        publisher.kill()
        eventually(lambda: "consumer away is away" in states(config, capsys), timeout_s=60)
        (row,) = json.loads(states(config, capsys))["writers"]
        assert row["silent_s"] > 0
        assert row["state"] in {"silent", "preparing"}
        main(["consumers", "--config", str(config.file), "--json"])
        (row,) = json.loads(capsys.readouterr().out)["consumers"]
        assert (row["consumer"], row["running"], row["registered"]) == ("away", False, True)


def states(config: Config, capsys: pytest.CaptureFixture[str]) -> str:
    """What ``evenflow writers`` tells."""
    assert main(["writers", "--config", str(config.file), "--json"]) == 0
    return capsys.readouterr().out


@pytest.mark.parametrize("config", [True], indirect=True)
def test_a_query_that_is_down_while_everything_is_restarted(
    config: Config, eventually: Callable, tmp_path: Path
) -> None:
    with served(config, tmp_path) as cluster:
        read(config, "first", timeout=0.5)  # registers, and goes away
        for name in ("balancer", "node-1", "node-2"):
            cluster.kill(name)
        start(cluster)
        with Reading(config, "second") as second, Publisher("items", config=config) as publisher:
            for number in range(COUNT):
                publisher.publish(b"x", id=number)
            eventually(lambda: len(set(second.ids)) == COUNT, timeout_s=40)
            assert sorted(read(config, "first", timeout=5.0)) == list(range(COUNT))


def served(config: Config, folder: Path) -> LocalCluster:
    cluster = LocalCluster(config, log_dir=folder)
    start(cluster)
    return cluster


def start(cluster: LocalCluster) -> None:
    cluster.start_balancer()
    for name in ("node-1", "node-2"):
        cluster.start(name, ["node", "--serve", "--name", name])


def read(config: Config, name: str, timeout: float) -> list[int]:
    """The items that come until nothing has come for so long."""
    with enter(config, name, timeout) as following:
        return [number for batch in following for number in batch.ids.tolist()]
