"""A publisher with an outbox stands still until its stream is cut; then it goes on, or is killed.

Everything that was safe arrives, and nothing twice.
"""

from __future__ import annotations

import os
import signal
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Self

import pytest
from tests.integration.reading import Reading

from evenflow.config import Config
from evenflow.processes import LocalCluster, wait_until
from evenflow_experiments.slices.arrivals import APP, FILE_VARIABLE, Arrivals

pytestmark = [pytest.mark.domain, pytest.mark.processes, pytest.mark.timeout(300)]
NODES = ("node-1", "node-2")
SECOND_LIFE = 1_000_000
"""The first id of the second process."""
PROGRAM = """
    import sys, time
    from pathlib import Path
    from evenflow import Config, Publisher
    config, outbox, first, notes = sys.argv[1:]
    with Publisher("items", config=Config.load(config), outbox=outbox) as publisher:
        number = int(first)
        while not Path(notes, "enough").exists():
            publisher.publish_many([b"x"] * 20, ids=range(number, number + 20))
            number += 20
            publisher.flush()
            Path(notes, f"{first}.safe").write_text(str(number))
            time.sleep(0.01)
    """


@pytest.fixture
def config(domain_id: int, tmp_path: Path, request: pytest.FixtureRequest) -> Config:
    file = tmp_path / "evenflow.toml"
    settings = {
        "domain.id": domain_id,
        "topics": {"items": {"slices": 8, "served": request.param, "assignment": "hash:id"}},
        "node.writer_silence_s": 2.0,
        "balancer.settle_s": 0.2,
    }
    file.write_text(Config.load(None, settings).as_toml())
    return Config.load(str(file))


class Arrived:
    """What came out: at the applications of the nodes, or at a consumer of a served topic."""

    def __init__(self, config: Config, cluster: LocalCluster, folder: Path) -> None:
        self._folder = folder
        self._reading = Reading(config, "query") if config.topics[0].served else None
        cluster.start_balancer()
        for name in NODES:
            if self._reading is None:
                file = {FILE_VARIABLE: str(folder / f"{name}.arrivals")}
                cluster.start_node(name, APP, env=file)
            else:
                cluster.start(name, ["node", "--serve", "--name", name])

    def __enter__(self) -> Self:
        if self._reading is not None:
            self._reading.start()
        return self

    def __exit__(self, *error: object) -> None:
        if self._reading is not None:
            self._reading.__exit__(*error)

    def ids(self) -> list[int]:
        reading = self._reading
        return Arrivals.read(self._folder).ids.tolist() if reading is None else reading.ids


@pytest.mark.parametrize(
    ("config", "killed"),
    [(False, False), (True, False), (True, True)],
    indirect=["config"],
    ids=["application-continued", "served-continued", "served-killed"],
)
def test_a_publisher_with_an_outbox_whose_stream_is_cut(
    config: Config, tmp_path: Path, python: Callable, eventually: Callable, killed: bool
) -> None:
    with (
        LocalCluster(config, log_dir=tmp_path) as cluster,
        Arrived(config, cluster, tmp_path) as arrived,
    ):
        is_cut = lambda: " is cut: " in cluster.log("balancer")  # noqa: E731
        publisher = python(PROGRAM, config.file, tmp_path / "outbox", 0, tmp_path)
        eventually(lambda: len(set(arrived.ids())) > 500, "items arrive", 60)
        os.kill(publisher.pid, signal.SIGSTOP)
        # A node or a consumer that does not answer in time puts it off, each time for longer.
        assert wait_until(is_cut, 100), cluster.log("balancer")
        first = 0
        if killed:
            publisher.kill()
            first = SECOND_LIFE
            publisher = python(PROGRAM, config.file, tmp_path / "outbox", first, tmp_path)
        else:
            os.kill(publisher.pid, signal.SIGCONT)
        before = safe(tmp_path, first)
        eventually(lambda: safe(tmp_path, first) > before + 200, "it publishes again", 60)
        (tmp_path / "enough").touch()
        assert publisher.wait(60) == 0
        owed = {*range(safe(tmp_path, 0)), *range(first, safe(tmp_path, first))}
        eventually(lambda: owed <= set(arrived.ids()), "everything that was safe is there", 30)
        assert max(Counter(arrived.ids()).values()) == 1


def safe(folder: Path, first: int) -> int:
    """Beyond the last id that was safe, of those from a first one on."""
    notes = folder / f"{first}.safe"
    return int(notes.read_text() or first) if notes.exists() else first
