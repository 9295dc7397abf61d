"""The example of answers to mobile nodes runs as its text says, with an application and Spark."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from evenflow.processes import wait_until

EXAMPLE = Path(__file__).parents[2] / "examples" / "replies"
EVENFLOW = (sys.executable, "-m", "evenflow")

pytestmark = [pytest.mark.domain, pytest.mark.processes]


class Stage:
    """A copy of the example in a domain of its own, and what runs in it."""

    def __init__(self, folder, domain_id):
        self.folder = folder
        self.running = []
        shutil.copytree(EXAMPLE, folder, ignore=shutil.ignore_patterns("__pycache__"))
        file = folder / "evenflow.toml"
        file.write_text(re.sub(r"id = \d+", f"id = {domain_id}", file.read_text()))

    def start(self, *command):
        log = self.folder / f"{len(self.running)}.log"
        with log.open("wb") as output:
            process = subprocess.Popen(
                command, cwd=self.folder, stdout=output, stderr=subprocess.STDOUT
            )
        self.running.append(process)
        return log

    def run(self, *command, **environment):
        return subprocess.run(
            command, cwd=self.folder, capture_output=True, text=True, timeout=120, check=False,
            env={**os.environ, **environment},
        )  # fmt: skip

    def drive(self, topic):
        """Let the car drive; return what it printed."""
        assert self.run(*EVENFLOW, "keys", "init").returncode == 0
        token = self.run(*EVENFLOW, "token", "issue", "car-7", "--publish", topic)
        gateway = self.start(*EVENFLOW, "gateway", "--name", "g1", "--listen", "tls://127.0.0.1:0")
        mailbox = self.start(*EVENFLOW, "mailbox", "--name", "m1")
        pattern = re.compile(r"listens at (\S+)")
        assert wait_until(lambda: pattern.search(gateway.read_text()), 30), gateway.read_text()
        assert wait_until(lambda: "holds messages" in mailbox.read_text(), 30)
        address = pattern.search(gateway.read_text()).group(1)
        car = self.run(sys.executable, "car.py", topic, GATEWAYS=address, TOKEN=token.stdout)
        assert car.returncode == 0, car.stderr + gateway.read_text()
        return car.stdout


@pytest.fixture
def stage(tmp_path, domain_id):
    stage = Stage(tmp_path / "replies", domain_id)
    yield stage
    for process in stage.running:
        process.terminate()
    for process in stage.running:
        process.wait(30)


def test_an_application_answers(stage):
    stage.start(*EVENFLOW, "balancer")
    stage.start(*EVENFLOW, "node", "--topic", "speeds", "--app", "app:on_new_data")
    assert 'speeds says {"limit":50.0} at' in stage.drive("speeds")


@pytest.mark.spark
@pytest.mark.timeout(300)
def test_a_spark_query_answers(stage):
    stage.start(*EVENFLOW, "balancer")
    stage.start(*EVENFLOW, "node", "--serve", "--topic", "watched")
    stage.start(sys.executable, "watch.py")
    assert 'spark-limit says {"limit":50.0} at' in stage.drive("watched")
