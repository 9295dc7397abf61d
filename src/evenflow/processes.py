"""A balancer and nodes as child processes on this machine: for ``evenflow up``, experiments, tests.

The children are the same commands an operator would start (``python -m evenflow node ...``), with
the configuration of the parent written to a file of theirs. They end with their parent, even when
it is killed: the kernel tells them.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import signal
import socket
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

from evenflow.errors import DomainError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from types import TracebackType

    from evenflow.config import Config

_PR_SET_PDEATHSIG = 1
_LIBC = ctypes.CDLL(None)


def end_with_parent() -> None:
    """In a child before it begins: let the kernel end it when its parent is gone."""
    _LIBC.prctl(_PR_SET_PDEATHSIG, signal.SIGTERM)


def free_ports(count: int) -> list[int]:
    """Ports of the loopback that nobody has now, neither for TCP nor for UDP; no two the same."""
    found: list[int] = []
    with contextlib.ExitStack() as held:
        while len(found) < count:
            tcp = held.enter_context(socket.socket(socket.AF_INET, socket.SOCK_STREAM))
            udp = held.enter_context(socket.socket(socket.AF_INET, socket.SOCK_DGRAM))
            tcp.bind(("127.0.0.1", 0))
            port = int(tcp.getsockname()[1])
            with contextlib.suppress(OSError):  # somebody has it for UDP: the next one
                udp.bind(("127.0.0.1", port))
                found.append(port)
    return found


class LocalCluster:
    """Starts, stops and kills Evenflow processes on this machine."""

    def __init__(self, config: Config, *, log_dir: Path | None = None) -> None:
        self.config = config
        self.processes: dict[str, subprocess.Popen[bytes]] = {}
        self._folder = tempfile.TemporaryDirectory(prefix="evenflow-")
        self.log_dir = log_dir or Path(self._folder.name)
        self._file = Path(self._folder.name) / "evenflow.toml"
        self._file.write_text(config.as_toml(), encoding="utf-8")

    def start(
        self, name: str, command: Sequence[str], env: Mapping[str, str] | None = None
    ) -> subprocess.Popen[bytes]:
        """Start an ``evenflow`` command; its output goes to ``NAME.log`` in the log folder."""
        with (self.log_dir / f"{name}.log").open("ab") as log:
            process = subprocess.Popen(
                [sys.executable, "-m", "evenflow", *command, "--config", str(self._file)],
                stdout=log,
                stderr=subprocess.STDOUT,
                stdin=subprocess.DEVNULL,
                env={**os.environ, **(env or {})},
                start_new_session=True,  # Ctrl-C is for the parent, which ends us in order
                preexec_fn=end_with_parent,  # noqa: PLW1509 - one prctl call, no locks
            )
        self.processes[name] = process
        return process

    def start_balancer(self, name: str = "balancer") -> subprocess.Popen[bytes]:
        """Start the balancer."""
        return self.start(name, ["balancer", "-v"])

    def start_node(
        self, name: str, app: str, *options: str, env: Mapping[str, str] | None = None
    ) -> subprocess.Popen[bytes]:
        """Start a node."""
        return self.start(name, ["node", "--name", name, "--app", app, *options], env)

    def log(self, name: str) -> str:
        """What a process has printed."""
        return (self.log_dir / f"{name}.log").read_text(encoding="utf-8", errors="replace")

    def check(self) -> None:
        """Raise `DomainError`, with its last line, when a process has given up by itself.

        One that was killed has not: it may be replaced.
        """
        for name, process in self.processes.items():
            if (process.poll() or 0) > 0:
                last = self.log(name).strip().rpartition("\n")[2]
                raise DomainError(name, last.removeprefix("evenflow: error: "))

    def kill(self, name: str) -> None:
        """``kill -9``."""
        process = self.processes.pop(name)
        process.kill()
        process.wait()

    def signal(self, name: str, number: signal.Signals) -> None:
        """Send a signal to a process."""
        self.processes[name].send_signal(number)

    def stop(self, name: str, timeout_s: float = 15.0) -> int:
        """End a process in order and return its exit code; kill it when it does not end in time."""
        process = self.processes.pop(name)
        process.terminate()
        try:
            return process.wait(timeout_s)
        except subprocess.TimeoutExpired:
            process.kill()
            return process.wait()

    def close(self, patience_s: float = 10.0) -> None:
        """End all processes, together; who has not ended in time is killed."""
        deadline = time.monotonic() + patience_s
        try:
            for process in self.processes.values():
                process.terminate()
            for process in self.processes.values():
                with contextlib.suppress(subprocess.TimeoutExpired):
                    process.wait(max(0.0, deadline - time.monotonic()))
        finally:  # also when whoever waits has no more patience
            for process in self.processes.values():
                process.kill()
                process.wait()
            self.processes.clear()
            self._folder.cleanup()

    def __enter__(self) -> LocalCluster:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close(0.0 if kind is KeyboardInterrupt else 10.0)


def wait_until(condition: Any, timeout_s: float, every_s: float = 0.02) -> bool:
    """Wait until ``condition()`` holds; False when it did not in time."""
    deadline = time.monotonic() + timeout_s
    while not condition():
        if time.monotonic() >= deadline:
            return False
        time.sleep(every_s)
    return True
