"""The README's programs and commands, as they stand, in their order, in one domain.

Of the configuration only the domain is another one, so that it meets nobody else's.
"""

from __future__ import annotations

import os
import shlex
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from evenflow.cli.commands import COMMANDS
from evenflow.config import Config

from .readme import blocks, commands, configuration

pytestmark = [pytest.mark.domain, pytest.mark.processes, pytest.mark.timeout(240)]

RUNNING = ("balancer", "node", "gateway", "mailbox", "bridge", "broker", "archive")
"""Commands that run until they are stopped."""
BIN = Path(sys.executable).parent


class Reader:
    """Whoever follows the README, in a folder of its own."""

    def __init__(self, folder: Path, domain_id: int) -> None:
        self.folder = folder
        self.imports = ""
        """What programs have imported so far: one goes on where the one before ended."""
        self._started: list[subprocess.Popen[bytes]] = []
        settings = configuration()
        settings["domain"]["id"] = domain_id
        config = Config._from_tables(settings, None)
        (folder / "evenflow.toml").write_text(config.as_toml(), encoding="utf-8")
        self._environment = {k: v for k, v in os.environ.items() if k != "EVENFLOW_CONFIG"}
        self._environment["PATH"] = f"{BIN}{os.pathsep}{os.environ['PATH']}"
        self._environment["PYTHONUNBUFFERED"] = "1"

    def start(self, line: str, name: str) -> Path:
        """Start something; return the file with what it says."""
        said = self.folder / f"{name}.out"
        with said.open("wb") as out:
            self._started.append(
                subprocess.Popen(
                    ["bash", "-c", f"exec {line}"],
                    cwd=self.folder,
                    env=self._environment,
                    stdout=out,
                    stderr=subprocess.STDOUT,
                )
            )
        return said

    def run(self, line: str, within_s: float = 60.0) -> None:
        """Run a command line, to its end."""
        done = subprocess.run(
            ["bash", "-c", line],
            cwd=self.folder,
            env=self._environment,
            capture_output=True,
            text=True,
            timeout=within_s,
            check=False,
        )
        assert done.returncode == 0, f"{line}: {done.stdout}{done.stderr}"

    def program(self, text: str, name: str) -> Path:
        """Write a program, with what those before have imported."""
        file = self.folder / f"{name}.py"
        file.write_text(self.imports + text, encoding="utf-8")
        self.imports += "".join(
            f"{line}\n" for line in text.splitlines() if line.startswith(("import ", "from "))
        )
        return file

    def stop(self) -> None:
        for process in self._started:
            process.send_signal(signal.SIGKILL)
            process.wait()

    def wait_for(self, text: str, said: Path, within_s: float = 40.0) -> None:
        deadline = time.monotonic() + within_s
        while text not in said.read_text(errors="replace"):
            outputs = {one.name: one.read_text(errors="replace")[-800:] for one in self.outputs()}
            assert time.monotonic() < deadline, f"{said.name} does not say {text!r}: {outputs}"
            time.sleep(0.05)

    def outputs(self) -> list[Path]:
        return sorted(self.folder.glob("*.out"))


@pytest.fixture
def reader(tmp_path, domain_id):
    one = Reader(tmp_path, domain_id)
    yield one
    one.stop()


@pytest.mark.spark
def test_the_section_on_use(reader):
    programs = iter(("app", "publish", "car", "device", "read", "follow", "spark"))
    said = {}
    for block in blocks("Use"):
        if block.kind == "python":
            name = next(programs)
            file = reader.program(block.text, name)
            if name in ("publish", "car", "device"):
                reader.run(f"python {file.name}")
            elif name != "app":
                said[name] = reader.start(f"python {file.name}", name)
        elif block.kind == "shell":
            for number, line in enumerate(commands(block)):
                words = line.split()
                if words[0] == "evenflow" and words[1] in RUNNING:
                    name = f"{words[1]}-{number}"
                    said[name] = reader.start(line, name)
                else:
                    reader.run(line)
    assert next(programs, None) is None, "a program of the README was not run"
    # The application has printed what the program and the pipe have published, and the car's.
    reader.wait_for("car-7", said["node-1"])
    # What was published to the durable topic comes to those who read it later; who follows the
    # live topic under a new name gets what is still kept, and what comes; Spark what comes.
    reader.wait_for("car-8", said["read"])
    reader.run("echo '{\"speed\": 1}' | evenflow publish --topic fleet --sender car-9", 90.0)
    reader.wait_for("car-9", said["read"])
    reader.wait_for("1 ", said["follow"])
    reader.wait_for("Batch: 0", said["spark"], 90.0)
    reader.run("echo '{\"speed\": 2}' | evenflow publish --topic fleet --sender car-10", 90.0)
    reader.wait_for("car-10", said["spark"])


@pytest.mark.parametrize("title", ["Start", "Use", "Measured"])
def test_every_command_is_understood(title):
    for block in blocks(title):
        for line in commands(block) if block.kind == "shell" else ():
            words = shlex.split(line.rpartition("| ")[2].partition(" > ")[0])
            if words[0] == "evenflow" and "--help" not in words:
                COMMANDS.get(words[1]).make_context(words[1], words[2:])
