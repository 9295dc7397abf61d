"""A Spark driver in a process of its own, as the process sees it that started it.

The child says what happens on its standard output, a line of JSON each, and ends in order when its
input is closed. It has a session of its own, so Ctrl-C at a terminal does not reach it or Java: who
started it decides when it ends. However that happens, nobody is left behind: Java, and the Python
processes that Java starts in process groups of their own, are killed with it. When the parent is
killed, the kernel ends the child, and Java ends with it.
"""

from __future__ import annotations

import contextlib
import json
import os
import queue
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path
from typing import Any, Final, Self

import psutil

from evenflow.errors import SparkFailed
from evenflow.processes import end_with_parent

FAILED: Final = "failed"
"""What a child says when it ends with a fault: the reason, in words."""
GONE_WITHIN_S: Final = 10.0
_TAIL: Final = 2_000


class SparkProcess:
    """A child that runs Spark.

    Args:
        module: What it runs, as in ``python -m MODULE``.
        arguments: Given to it.
        log: Where what Spark and Java say goes. Their temporary files go to the same folder, so
            that who removes it removes what Spark had no time to.
    """

    def __init__(self, module: str, *arguments: str, log: Path) -> None:
        check_java()
        self._heard: queue.SimpleQueue[dict[str, Any] | None] = queue.SimpleQueue()
        self._log = log
        with log.open("ab") as stderr:
            self._process = subprocess.Popen(
                [sys.executable, "-m", module, *arguments],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=stderr,
                env=os.environ | _scratch(log.parent),
                start_new_session=True,
                preexec_fn=end_with_parent,  # noqa: PLW1509 - one prctl call, no locks
            )
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    @property
    def pid(self) -> int:
        """The driver's process id."""
        return self._process.pid

    def hear(self) -> list[dict[str, Any]]:
        """What was said since the last call, without waiting; `SparkFailed` when it has ended."""
        said = []
        while not self._heard.empty():
            said.append(self._checked(self._heard.get()))
        return said

    def take(self, said: dict[str, Any]) -> None:
        """Called with everything that is heard; for those who want to remember it."""

    def wait_for(self, what: str, timeout_s: float) -> dict[str, Any]:
        """Wait until the child says something; `SparkFailed` when it ends or stays silent."""
        deadline = time.monotonic() + timeout_s
        while True:
            try:
                said = self._heard.get(timeout=max(0.01, deadline - time.monotonic()))
            except queue.Empty:
                raise SparkFailed(f"no {what} within {timeout_s:g} s", self.tail()) from None
            if what in self._checked(said):
                assert said is not None
                return said

    def end(self, what: str = "summary", timeout_s: float = 120.0) -> Any:
        """End the child in order; return what it says at the end."""
        assert self._process.stdin is not None
        family = self.family()  # once the child has ended, nobody knows whose they were
        self._process.stdin.close()
        said = self.wait_for(what, timeout_s)[what]
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(GONE_WITHIN_S)
        self._kill(family)
        return said

    def kill(self) -> None:
        """``kill -9`` for the child, Java, and all that Java started."""
        self._kill(self.family())

    def _kill(self, family: list[psutil.Process]) -> None:
        if self._process.poll() is None:
            os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait()
        for one in family:
            with contextlib.suppress(psutil.NoSuchProcess):
                one.kill()
        psutil.wait_procs(family, GONE_WITHIN_S)
        self._reader.join()
        for pipe in (self._process.stdin, self._process.stdout):
            if pipe is not None:
                pipe.close()

    def family(self) -> list[psutil.Process]:
        """The processes below the child: Java, and Spark's Python processes."""
        try:
            return psutil.Process(self._process.pid).children(recursive=True)
        except psutil.NoSuchProcess:
            return []

    def tail(self) -> str:
        """The last of what Spark and Java said."""
        return self._log.read_text(encoding="utf-8", errors="replace")[-_TAIL:].strip()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.kill()

    def _read(self) -> None:
        assert self._process.stdout is not None
        for line in self._process.stdout:
            try:
                said = json.loads(line)
            except ValueError:
                continue
            if isinstance(said, dict):
                self._heard.put(said)
        self._heard.put(None)

    def _checked(self, said: dict[str, Any] | None) -> dict[str, Any]:
        if said is None:
            self._heard.put(None)
            raise SparkFailed("the process has ended", self.tail())
        if FAILED in said:
            raise SparkFailed(str(said[FAILED]))
        self.take(said)
        return said


def _scratch(folder: Path) -> dict[str, str]:
    """The environment that keeps temporary files in a folder."""
    scratch = tempfile.mkdtemp(prefix="spark-", dir=folder)
    java = f'{os.environ.get("JAVA_TOOL_OPTIONS", "")} "-Djava.io.tmpdir={scratch}"'
    return {"TMPDIR": scratch, "SPARK_LOCAL_DIRS": scratch, "JAVA_TOOL_OPTIONS": java.strip()}


def check_java() -> None:
    """Raise `SparkFailed` when there is no Java to run Spark."""
    home = os.environ.get("JAVA_HOME")
    if shutil.which(Path(home, "bin", "java") if home else "java") is None:
        where = f"in JAVA_HOME={home}" if home else "on the path"
        raise SparkFailed(f"no Java {where}: install Java 17 or newer ('make setup' does)")


# -- inside the process ---------------------------------------------------------------------------


def say(**what: Any) -> None:
    """Tell the parent."""
    sys.stdout.write(json.dumps(what) + "\n")
    sys.stdout.flush()


def input_closed() -> threading.Event:
    """An event that is set when the parent closes the input, or is gone."""
    closed = threading.Event()

    def wait() -> None:
        sys.stdin.read()
        closed.set()

    threading.Thread(target=wait, daemon=True).start()
    return closed
