"""Hosts of a network, each a network namespace of this machine, joined by a bridge.

A process in a namespace sees the interface of its own host and nothing else, so what runs here runs
on several machines: no loopback between them, addresses that differ, a cable that can be pulled.
"""

from __future__ import annotations

import os
import shutil
import subprocess
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

SUBNET = "10.213.77"
HUB = "hub"


def require_hosts() -> None:
    """Skip the test where namespaces cannot be made."""
    if os.geteuid() != 0 or shutil.which("ip") is None:
        pytest.skip("network namespaces need root and the command 'ip'")


class Hosts:
    """A hub, and hosts connected to it. Use ``with``."""

    def __init__(self, names: Sequence[str]) -> None:
        self.addresses = {HUB: f"{SUBNET}.1"}
        self.addresses |= {name: f"{SUBNET}.{number}" for number, name in enumerate(names, 2)}
        self._processes: list[subprocess.Popen[str]] = []

    def __enter__(self) -> Hosts:
        self._remove()
        for name in self.addresses:
            _ip("netns", "add", _space(name))
            _ip("-n", _space(name), "link", "set", "lo", "up")
        hub = ["-n", _space(HUB)]
        _ip(*hub, "link", "add", "bridge", "type", "bridge", "mcast_snooping", "0")
        _ip(*hub, "addr", "add", f"{self.addresses[HUB]}/24", "dev", "bridge")
        _ip(*hub, "link", "set", "bridge", "up")
        for name, address in self.addresses.items():
            if name != HUB:
                host = ["-n", _space(name)]
                _ip(*hub, "link", "add", name, "type", "veth", "peer", "cable", "netns", host[1])
                _ip(*hub, "link", "set", name, "master", "bridge", "up")
                _ip(*host, "addr", "add", f"{address}/24", "dev", "cable")
                _ip(*host, "link", "set", "cable", "up")
        return self

    def __exit__(self, *_: object) -> None:
        for process in self._processes:
            process.kill()
            process.wait()
        self._remove()

    def start(self, host: str, command: Sequence[object], log: Path) -> subprocess.Popen[str]:
        """Start a program on a host."""
        with log.open("w") as output:
            process = subprocess.Popen(
                ["ip", "netns", "exec", _space(host), *map(str, command)],
                stdout=output,
                stderr=subprocess.STDOUT,
                text=True,
            )
        self._processes.append(process)
        return process

    def run(self, host: str, command: Sequence[object], timeout_s: float = 60) -> str:
        """Run a program on a host to its end; return what it printed."""
        done = subprocess.run(
            ["ip", "netns", "exec", _space(host), *map(str, command)],
            capture_output=True,
            text=True,
            timeout=timeout_s,
            check=False,
        )
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    def pull_cable(self, host: str) -> None:
        """Nobody hears of this host any more, nor it of anybody."""
        _ip("-n", _space(HUB), "link", "set", host, "down")

    def plug_in(self, host: str) -> None:
        """Mend that."""
        _ip("-n", _space(HUB), "link", "set", host, "up")

    def _remove(self) -> None:
        for name in self.addresses:
            subprocess.run(["ip", "netns", "del", _space(name)], check=False, capture_output=True)


def _space(name: str) -> str:
    """A name of this process's own: another worker may have hosts at the same time."""
    return f"evenflow-test-{os.getpid()}-{name}"


def _ip(*words: str) -> None:
    subprocess.run(["ip", *words], check=True, capture_output=True)
