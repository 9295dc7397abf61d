"""A fresh DDS domain for each test, programs that run beside it, and which files go first.

A worker runs a file from its beginning to its end. Begun last, a long file would keep one worker
busy while the others have nothing left to do. All tests with Spark are one worker's: Spark needs
all cores, gives its Python processes ten seconds to start, and takes longer beside another Spark.
"""

from __future__ import annotations

import gc
import itertools
import os
import subprocess
import sys
import textwrap
import time
from typing import TYPE_CHECKING

import pytest

from evenflow.config import Config, DomainConfig
from evenflow.domain.cyclone import _domains

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

LEFT_WITHIN_S = 5.0
"""A participant that nobody holds any more is closed when Python finds out."""
PATIENCE_S = 60.0
"""How long a test waits for what takes a second or two: a busy machine must not make it fail."""
SLACK = 3
"""By what all limits are longer than they were set, on a quiet machine: one that others share may
be as much slower, and a limit costs nothing unless it is reached."""
DOMAINS = 89
"""Domain ids from 1; those above are for experiments."""
WORKER = int(os.environ.get("PYTEST_XDIST_WORKER", "gw0").removeprefix("gw"))
WORKERS = int(os.environ.get("PYTEST_XDIST_WORKER_COUNT", "1"))
LONGEST = (
    "test_spark",
    "test_outages",
    "test_qos_experiments",
    "test_spark_killed",
    "test_autonomic",
    "test_readme",
    "test_up",
    "test_store_paths",
    "test_cluster",
    "test_gateways",
    "test_spark_examples",
    "test_mailbox",
    "test_streams",
    "test_replies_example",
    "test_commands",
    "test_bounds",
    "test_bridge_experiment",
    "test_ring",
)
"""The longest first; of those with Spark, which are all one worker's, it is their order."""
DOOMED = """
import sys
from evenflow import Config, Node
node = Node("items", eval(sys.argv[2]), name="doomed", config=Config.load(sys.argv[1]))
print("ready", flush=True)
node.wait()
"""
_counter = itertools.count(os.getpid() * 7)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Put the longest files first; xdist must be told to keep this order. Give all of them time."""
    spark = {item.path for item in items if item.get_closest_marker("spark") is not None}
    for item in items:  # a file stays whole: its tests may share network namespaces
        item.add_marker(pytest.mark.xdist_group("spark" if item.path in spark else item.path.stem))
        limit = item.get_closest_marker("timeout")
        seconds = limit.args[0] if limit is not None else float(item.config.getini("timeout"))
        item.add_marker(pytest.mark.timeout(SLACK * seconds), append=False)
    items.sort(
        key=lambda item: (
            LONGEST.index(item.path.stem) if item.path.stem in LONGEST else len(LONGEST)
        )
    )


@pytest.fixture(autouse=True)
def _own_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What a balancer of this process writes down goes to the test's own folder."""
    monkeypatch.chdir(tmp_path)


@pytest.fixture(autouse=True)
def _leaves_its_domain() -> Iterator[None]:
    """Domain ids come round: who stays in a domain would be met by a later test."""
    before = set(_domains._open)
    yield
    deadline = time.monotonic() + LEFT_WITHIN_S
    while left := _domains._open.keys() - before:
        gc.collect()
        assert time.monotonic() < deadline, f"this test is still in domains {sorted(left)}"
        time.sleep(0.01)


@pytest.fixture
def domain_id() -> int:
    """A domain id that no test uses at the same time, nor (most likely) another run beside it."""
    share = DOMAINS // WORKERS
    return 1 + WORKER * share + next(_counter) % share


@pytest.fixture
def domain_config(domain_id: int) -> DomainConfig:
    """The settings of a fresh domain on the loopback interface."""
    return DomainConfig(id=domain_id)


@pytest.fixture
def python() -> Iterator[Callable[..., subprocess.Popen[str]]]:
    """Start Python programs given as text; they are killed when the test is over."""
    started: list[subprocess.Popen[str]] = []

    def start(program: str, *arguments: object) -> subprocess.Popen[str]:
        process = subprocess.Popen(
            [sys.executable, "-c", textwrap.dedent(program), *map(str, arguments)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        started.append(process)
        return process

    yield start
    for process in started:
        process.kill()
        process.communicate()


@pytest.fixture
def items_config(domain_id: int, tmp_path: Path) -> Config:
    """Topic `items` in 8 slices, in a file that other processes read too."""
    file = tmp_path / "evenflow.toml"
    file.write_text(f"[domain]\nid = {domain_id}\n[topics.items]\nslices = 8\n")
    return Config.load(file)


@pytest.fixture
def doomed(
    python: Callable[..., subprocess.Popen[str]], items_config: Config
) -> Callable[..., subprocess.Popen[str]]:
    """Start a node of `items` in a process of its own, to be killed."""

    def start(application: str = "lambda batch: None") -> subprocess.Popen[str]:
        process = python(DOOMED, items_config.file, application)
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
        return process

    return start


@pytest.fixture
def eventually() -> Callable[..., None]:
    """Wait until a condition holds; fail the test when it does not within a deadline."""

    def wait(
        condition: Callable[[], object], what: str = "", timeout_s: float = PATIENCE_S
    ) -> None:
        deadline = time.monotonic() + SLACK * timeout_s
        while not condition():
            if time.monotonic() > deadline:
                pytest.fail(f"not within {SLACK * timeout_s:g} s: {what or condition}")
            time.sleep(0.005)

    return wait
