"""Bridges, a crowd of devices and a DDS reader in a network namespace of their own.

Everything on the namespace's loopback interface belongs to the experiment, so its packets can be
counted there (:mod:`.packets`).
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from contextlib import ExitStack
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import psutil

from evenflow.errors import ExperimentError
from evenflow_experiments.bridge import baseline, crowd, packets, sink
from evenflow_experiments.bridge.baseline import DDSB
from evenflow_experiments.faults.hosts import Hosts

if TYPE_CHECKING:
    from collections.abc import Mapping

PLANT: Final = "plant"
DOMAIN: Final = 7
"""Nobody else is in the namespace."""
FIRST_PORT: Final = 7_610
READY_S: Final = 120.0


class Program:
    """A program of the experiment, which answers each line of input by one of JSON."""

    def __init__(self, words: list[str]) -> None:
        self._process = subprocess.Popen(
            words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )

    def line(self) -> str:
        """The next line that it prints."""
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        if not line:
            raise ExperimentError("bridge", f"a program ended: {self._process.args!r}")
        return line.strip()

    def ask(self, word: str = "") -> dict[str, Any]:
        """Ask for its figures, now."""
        assert self._process.stdin is not None
        self._process.stdin.write(f"{word}\n")
        self._process.stdin.flush()
        while True:
            said: dict[str, Any] = json.loads(self.line())
            if "served" not in said:
                return said

    def hold_to_one_core(self) -> None:
        """Let it run on the first core alone."""
        for thread in psutil.Process(self._process.pid).threads():
            os.sched_setaffinity(thread.id, {0})

    def close(self) -> None:
        """End it."""
        self._process.kill()
        self._process.communicate()


@dataclass(frozen=True, slots=True)
class Look:
    """All figures at one moment."""

    at: float
    bridges: list[dict[str, Any]]
    crowd: dict[str, Any]
    packets: Mapping[str, int]


class Stage:
    """A mode with so many bridges and devices; use ``with``."""

    def __init__(self, mode: str, bridges: int, devices: int) -> None:
        self.mode, self._devices = mode, devices
        self._stack = ExitStack()
        with self._stack:
            self._hosts = self._stack.enter_context(Hosts([PLANT]))
            self._packets = self._start(packets.__name__, "lo")
            self._packets.line()
            self._sink = self._start(sink.__name__, str(DOMAIN))
            self._sink.line()
            self._bridges = [
                self._start(
                    baseline.__name__, f"b{number}", str(FIRST_PORT + number), str(DOMAIN), mode
                )
                for number in range(bridges)
            ]
            for one in self._bridges:
                one.line()
            time.sleep(2.0)  # they have heard one another, and have their shares
            self._stack = self._stack.pop_all()
        self.empty = [one.ask() for one in self._bridges]
        """The bridges before any device came."""

    def __enter__(self) -> Stage:
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()

    def _start(self, module: str, *words: str) -> Program:
        command = [*self._hosts.enter(PLANT), sys.executable, "-m", module, *words]
        program = Program(command)
        self._stack.callback(program.close)
        return program

    def hold_to_one_core(self) -> None:
        """Let the bridges share one core."""
        for one in self._bridges:
            one.hold_to_one_core()

    def connect(self, rounds: int) -> None:
        """Start devices that will publish so often; return when all of them are served."""
        given: dict[str, Any] = {"devices": self._devices, "heartbeat_ms": 2_000, "rounds": rounds}
        wanted = self._devices
        if self.mode == DDSB:
            ports = range(FIRST_PORT, FIRST_PORT + len(self._bridges))
            given["bridges"] = [("127.0.0.1", port) for port in ports]
            wanted *= len(self._bridges)
        given["spread_s"] = max(1.0, wanted / 300)
        self._crowd = self._start(crowd.__name__, json.dumps(given))
        end = time.monotonic() + READY_S + wanted / 50
        while json.loads(self._crowd.line()).get("served") != wanted:
            if time.monotonic() > end:
                raise ExperimentError("bridge", f"{wanted} sessions are not there in time")

    def publish(self) -> None:
        """Let every device publish at each of its bridges; return when all have."""
        self._crowd.ask("publish")
        end = time.monotonic() + READY_S
        while self._crowd.ask()["unpublished"]:
            if time.monotonic() > end:
                raise ExperimentError("bridge", "not all devices publish in time")
            time.sleep(0.5)
        time.sleep(1.0)

    def look(self) -> Look:
        """All figures now."""
        return Look(
            time.monotonic(),
            [one.ask() for one in self._bridges],
            self._crowd.ask(),
            self._packets.ask(),
        )
