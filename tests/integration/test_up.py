"""The main job: the example fleet, which is ``evenflow up``, with everything real."""

from __future__ import annotations

import re
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import psutil
import pytest

EXAMPLE = Path(__file__).parents[2] / "examples" / "fleet" / "fleet.py"
pytestmark = [
    pytest.mark.domain, pytest.mark.spark, pytest.mark.processes, pytest.mark.timeout(400),
]  # fmt: skip


class Job:
    """A running job, and everybody it started."""

    def __init__(self, *options: object) -> None:
        self.process = subprocess.Popen(
            [sys.executable, str(EXAMPLE), *map(str, options)],
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        self.family: set[psutil.Process] = set()
        self.lines: list[str] = []

    def read_until(self, words: str) -> None:
        """Read lines, and meet the processes there are meanwhile, until one has some words."""
        assert self.process.stdout is not None
        for line in self.process.stdout:
            self.lines.append(line)
            self.meet()
            if words in line:
                return
        pytest.fail(f"{words!r} did not come:\n{self.text}")

    def meet(self) -> None:
        self.family |= set(psutil.Process(self.process.pid).children(recursive=True))

    def read_to_the_end(self) -> int:
        assert self.process.stdout is not None
        self.lines += self.process.stdout.readlines()
        return self.process.wait()

    @property
    def text(self) -> str:
        return "".join(self.lines)

    def left_behind(self) -> list[str]:
        """Processes that the job started and that run on."""
        _, alive = psutil.wait_procs(self.family, timeout=5)
        return [" ".join(process.cmdline()) for process in alive]


@pytest.fixture
def start(domain_id: int) -> Iterator[Callable[..., Job]]:
    jobs = []

    def start(*options: object) -> Job:
        jobs.append(Job("--domain", domain_id, *options))
        return jobs[-1]

    yield start
    for job in jobs:
        job.process.kill()
        job.process.communicate()


def test_it_ends_by_itself_with_clean_books_and_nobody_left(start: Callable[..., Job]) -> None:
    job = start("--vehicles", 40, "--nodes", 2, "--slices", 20, "--troubles", 60, "--for", "15s")
    job.read_until("items  ")
    assert job.read_to_the_end() == 0, job.text
    assert "lost      0\nrepeated  0\n" in job.text
    assert re.search(r"devices \d+/\d+  ", job.text), "devices are at both bridges"
    items = re.search(r"items +(\S+) published, (\S+) committed, (\S+) in Spark", job.text)
    assert items, job.text
    published, committed, kept = items.groups()
    assert published == committed == kept != "0"
    found, planted, false = re.findall(r"(\d+) found of (\d+) planted, (\d+) false", job.text)[0]
    assert 0 < int(found) <= int(planted)
    assert int(false) == 0
    assert re.search(r"answers +[1-9]\d*, round trip", job.text)
    assert len(job.family) > 4
    assert job.left_behind() == []


@pytest.mark.parametrize("presses", [1, 2])
def test_ctrl_c_while_spark_starts_leaves_nobody_behind(
    start: Callable[..., Job], presses: int
) -> None:
    job = start("--vehicles", 5, "--nodes", 1, "--slices", 4)
    job.read_until("Spark: starting Java")
    for _ in range(presses):
        job.meet()
        job.process.send_signal(signal.SIGINT)
    assert job.read_to_the_end() == 130, job.text
    assert job.left_behind() == []
