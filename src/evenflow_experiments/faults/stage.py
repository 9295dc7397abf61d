"""The processes of the cast on their hosts: started, killed, stopped, looked after.

Whoever ends by itself is started again after a moment, as systemd or Kubernetes would, and counted;
a process that has children (Spark has Java) is killed and stopped with all of them.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import subprocess
import time
from collections import Counter
from typing import TYPE_CHECKING, Final

import psutil

from evenflow.closing import Closing
from evenflow_experiments.faults import skewed
from evenflow_experiments.faults.cast import CONFIG, DISK_BYTES, configuration

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from pathlib import Path

    from evenflow_experiments.faults.cast import Part
    from evenflow_experiments.faults.hosts import Hosts

AGAIN_S: Final = 2.0
MOST_AGAIN_S: Final = 10.0
"""A process that ended by itself is started again this long after its last start: at first the
former, twice as long each time, up to the latter."""
_TOLD: Final = 200
_TAIL_LINES: Final = 6


class Stage(Closing):
    """Runs the parts.

    Args:
        hosts: Where.
        parts: Who, by name.
        folder: Each has a folder of its name in it, with its log.
        tell: Told when somebody ends by itself.
    """

    def __init__(
        self, hosts: Hosts, parts: Mapping[str, Part], folder: Path, tell: Callable[[str], None]
    ) -> None:
        self.hosts, self.parts = hosts, dict(parts)
        self.ended: Counter[str] = Counter()
        """How often each ended by itself."""
        self._folder, self._tell = folder, tell
        self._running: dict[str, subprocess.Popen[bytes]] = {}
        self._started: dict[str, float] = {}
        self._pauses = dict.fromkeys(parts, AGAIN_S)
        for name, part in parts.items():
            (folder / name / "tmp").mkdir(parents=True)
            (folder / name / CONFIG).write_text(configuration(), encoding="utf-8")
            if part.disk is not None:
                part.disk.mkdir()
                hosts.mount(name, part.disk, DISK_BYTES)

    def start(self, name: str, skew_s: float = 0.0) -> None:
        """Start a member; with a clock that is so far ahead."""
        part = self.parts[name]
        command = part.command + (part.again if name in self._started else [])
        self._started[name] = time.monotonic()
        if skew_s:
            command = _skewed(command, skew_s)
        env = {**self._own(name), **part.env}
        self._running[name] = self._launch(name, command, env)

    def run(self, name: str, command: Sequence[str], timeout_s: float) -> int:
        """Run another program on a member's host to its end; return its exit code."""
        process = self._launch(name, command, self._own(name))
        try:
            return process.wait(timeout_s)
        except subprocess.TimeoutExpired:
            return -1
        finally:
            process.kill()
            process.wait()

    def kill(self, name: str) -> None:
        """``kill -9``, for all that the member started too."""
        process = self._running.pop(name, None)
        if process is None:
            return
        family = _family(process)
        process.kill()
        process.wait()
        for one in family:
            with contextlib.suppress(psutil.NoSuchProcess):
                one.kill()
        psutil.wait_procs(family, 5.0)

    def send_all(self, name: str, number: signal.Signals) -> None:
        """Send a signal to a member and all that it started."""
        process = self._running.get(name)
        if process is None or process.poll() is not None:
            return
        for one in (psutil.Process(process.pid), *_family(process)):
            with contextlib.suppress(psutil.NoSuchProcess):
                one.send_signal(number)

    def send(self, name: str, number: signal.Signals) -> None:
        """Send a signal to a member and to nobody else."""
        process = self._running.get(name)
        if process is not None and process.poll() is None:
            process.send_signal(number)

    def dismiss(self, name: str) -> None:
        """Do without a member from now on."""
        self.kill(name)
        del self.parts[name]

    def is_running(self, name: str) -> bool:
        """Whether a member runs."""
        process = self._running.get(name)
        return process is not None and process.poll() is None

    def tend(self) -> None:
        """Start those again who ended by themselves."""
        for name, process in list(self._running.items()):
            code = process.poll()
            if code is None or time.monotonic() < self._started[name] + self._pauses[name]:
                continue
            self.ended[name] += 1
            lived = time.monotonic() - self._started[name]
            if lived > MOST_AGAIN_S + AGAIN_S:
                self._pauses[name] = AGAIN_S
            if self._pauses[name] < MOST_AGAIN_S:
                last = self.tail(name, 1).strip()[:_TOLD]
                self._tell(f"{name} ended by itself (code {code}) and is started again: {last}")
            self._pauses[name] = min(2 * self._pauses[name], MOST_AGAIN_S)
            self.start(name)

    def forgive(self) -> None:
        """Start those soon who ended again and again: the cause is gone."""
        self._pauses = dict.fromkeys(self.parts, AGAIN_S)

    def tail(self, name: str, lines: int = _TAIL_LINES) -> str:
        """The last lines of a member's log."""
        log = self._log(name)
        if not log.exists():
            return ""
        text = log.read_text(encoding="utf-8", errors="replace").rstrip()
        return "\n".join(text.splitlines()[-lines:])

    def close(self) -> None:
        """Kill everybody; nothing is owed any more."""
        for name in list(self._running):
            self.kill(name)

    # -- inside -----------------------------------------------------------------------------------

    def _log(self, name: str) -> Path:
        return self._folder / name / "log"

    def _launch(
        self, name: str, command: Sequence[str], env: Mapping[str, str]
    ) -> subprocess.Popen[bytes]:
        folder = self._folder / name
        return self.hosts.start(name, command, log=self._log(name), folder=folder, env=env)

    def _own(self, name: str) -> dict[str, str]:
        """An environment in which members share no folder."""
        folder = self._folder / name
        scratch = str(folder / "tmp")
        java = f'{os.environ.get("JAVA_TOOL_OPTIONS", "")} "-Djava.io.tmpdir={scratch}"'
        homes = dict.fromkeys(("HOME", "XDG_STATE_HOME", "XDG_CACHE_HOME"), str(folder))
        return homes | {
            "TMPDIR": scratch,
            "SPARK_LOCAL_DIRS": scratch,
            "JAVA_TOOL_OPTIONS": java.strip(),
            "PATH": os.environ.get("PATH", shutil.which("sh") or ""),
        }


def _family(process: subprocess.Popen[bytes]) -> list[psutil.Process]:
    try:
        return psutil.Process(process.pid).children(recursive=True)
    except psutil.NoSuchProcess:
        return []


def _skewed(command: Sequence[str], skew_s: float) -> list[str]:
    """The command of a Python program, with its wall clock set apart."""
    python, option, module, *arguments = command
    return [python, option, skewed.__name__, f"{skew_s:.3f}", module, *arguments]
