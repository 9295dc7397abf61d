"""The examples run as their texts say."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from evenflow.processes import wait_until

EXAMPLES = Path(__file__).parents[2] / "examples"

pytestmark = [pytest.mark.domain, pytest.mark.processes]


@pytest.fixture
def start(tmp_path, domain_id):
    """Start a command in a copy of an example, in a domain of its own.

    Its output goes to a file, which is returned too.
    """
    running = []

    def start(example, *command):
        folder = tmp_path / example
        if not folder.exists():
            shutil.copytree(EXAMPLES / example, folder)
            file = folder / "evenflow.toml"
            file.write_text(re.sub(r"id = \d+", f"id = {domain_id}", file.read_text()))
        log = tmp_path / f"{len(running)}.log"
        with log.open("wb") as output:
            process = subprocess.Popen(command, cwd=folder, stdout=output, stderr=subprocess.STDOUT)
        running.append(process)
        return process, log

    yield start
    for process in running:
        process.terminate()
    for process in running:
        process.wait(20)


def test_sensors(start):
    evenflow = (sys.executable, "-m", "evenflow")
    start("sensors", *evenflow, "balancer")
    _, node = start(
        "sensors", *evenflow, "node", "--topic", "temperatures", "--app", "app:on_new_data"
    )
    publisher, log = start("sensors", sys.executable, "publish.py", "2")
    assert publisher.wait(60) == 0, log.read_text()
    assert log.read_text().splitlines()[-1] == "200 readings processed"
    warned = re.compile(r"^sensor-(\d+): .* °C$", re.MULTILINE)
    assert wait_until(lambda: len(warned.findall(node.read_text())) == 2, 10), node.read_text()
    assert set(warned.findall(node.read_text())) == {"17"}


def test_ambulances(start):
    example, log = start("ambulances", sys.executable, "ambulances.py", "8")
    assert example.wait(60) == 0, log.read_text()
    last = log.read_text().splitlines()[-1]
    heard, sent = re.search(r"(\d+) of (\d+) calls heard", last).groups()
    assert heard == sent != "0"
    assert "filtered 0" not in log.read_text().splitlines()[-2]
