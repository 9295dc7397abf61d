"""Processes that stand still or are restarted, with a real domain: every item once."""

from __future__ import annotations

import json
import os
import signal
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from tests.integration.reading import Reading, enter

import evenflow
from evenflow.cli import main
from evenflow.config import Config
from evenflow.domain.channels import CUTS, LEDGERS
from evenflow.domain.cyclone import Participant
from evenflow.domain.listener import Listener
from evenflow.model.messages import CutStage
from evenflow.processes import LocalCluster
from evenflow.slices.balancer.balancer import Balancer
from evenflow.slices.ending.writers_view import WritersView
from evenflow.slices.ledger_view import LedgerView
from evenflow.slices.node.node import Node
from evenflow.slices.publisher.publisher import Publisher

pytestmark = [pytest.mark.domain, pytest.mark.processes, pytest.mark.timeout(150)]
SILENCE_S = 2.0
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


@contextmanager
def standing_still(pid: int) -> Iterator[None]:
    os.kill(pid, signal.SIGSTOP)
    try:
        yield
    finally:
        os.kill(pid, signal.SIGCONT)


def is_cut(ledger: LedgerView) -> bool:
    """Whether the suspicion that a writer is dead, which is wrong, was acted upon."""
    return any(end.stage >= CutStage.DECIDED for end in list(ledger.entries.values()))


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
        ledger = node._core.writers.ledger
        with standing_still(publisher.pid):
            eventually(lambda: is_cut(ledger), "a cut", timeout_s=60)
        eventually(lambda: len(seen) == COUNT, timeout_s=60)
        assert publisher.wait(30) == 0
        assert set(seen.values()) == {1}


@pytest.mark.parametrize("config", [True], indirect=True)
def test_a_publisher_that_stood_still_under_a_query(
    config: Config, python: Callable, eventually: Callable, tmp_path: Path
) -> None:
    view = WritersView("items")

    def sees_a_cut() -> bool:
        listener.listen(0.2)
        return is_cut(view.ledger)

    with (
        served(config, tmp_path),
        Reading(config, "query") as reading,
        Participant(config.domain) as participant,
    ):
        listener = Listener(participant, (LEDGERS, CUTS), view.see)
        publisher = python(PROGRAM, config.file, COUNT)
        eventually(lambda: len(reading.ids) > 200, timeout_s=40)
        with standing_still(publisher.pid):
            # Nodes have what the query was promised: nobody waits for the publisher.
            eventually(sees_a_cut, "a cut", timeout_s=60)
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
        eventually(lambda: writers(config, capsys, "heard"), timeout_s=30)
        publisher.kill()
        told: list[dict[str, Any]] = []

        def waits() -> bool:
            told[:] = writers(config, capsys, "silent", "preparing")
            return any("consumer away is away" in row["waits"] for row in told)

        eventually(waits, timeout_s=60)
        (row,) = told
        assert row["silent_s"] > 0
        main(["consumers", "--config", str(config.file), "--json"])
        (row,) = json.loads(capsys.readouterr().out)["consumers"]
        assert (row["consumer"], row["running"], row["registered"]) == ("away", False, True)


def writers(
    config: Config, capsys: pytest.CaptureFixture[str], *states: str
) -> list[dict[str, Any]]:
    """What ``evenflow writers`` tells of those in one of some states."""
    assert main(["writers", "--config", str(config.file), "--json"]) == 0
    rows = json.loads(capsys.readouterr().out)["writers"]
    return [row for row in rows if row["state"] in states]


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
