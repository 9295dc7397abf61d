"""A fixed share of one core for a process, by a cgroup quota (version 1, needs root).

The kernel lets the process run for ``share`` of every period, whatever else the machine does; the
weight makes sure that it gets that much on a busy machine too. The group is removed at the end.
"""

from __future__ import annotations

import os
from pathlib import Path

from evenflow.closing import Closing
from evenflow.errors import ExperimentError

ROOT = Path("/sys/fs/cgroup/cpu")
PERIOD_US = 20_000
"""Short, so that a process that has used its share stands still for a moment only."""
WEIGHT = 20_480
"""Twenty times that of an ordinary process."""


class CpuShare(Closing):
    """A cgroup that holds processes to a share of one core.

    Raises:
        ExperimentError: Quotas cannot be set here.
    """

    def __init__(self, name: str, share: float) -> None:
        self._folder = ROOT / f"evenflow-{os.getpid()}-{name}"
        try:
            self._folder.mkdir()
            self._write("cpu.shares", WEIGHT)
            self._write("cpu.cfs_period_us", PERIOD_US)
            self._write("cpu.cfs_quota_us", max(1_000, int(PERIOD_US * share)))
        except OSError as error:
            self.close()
            raise ExperimentError(
                "throughput", f"needs root and CPU quotas of cgroup version 1 in {ROOT}: {error}"
            ) from None

    def add(self, pid: int) -> None:
        """Hold a process, with all its threads, to the share."""
        self._write("cgroup.procs", pid)

    def lift(self) -> None:
        """Let the processes run as fast as they can."""
        self._write("cpu.cfs_quota_us", -1)

    def close(self) -> None:
        """Remove the group; what is still in it goes back to the root group."""
        if not self._folder.exists():
            return
        for pid in (self._folder / "cgroup.procs").read_text(encoding="ascii").split():
            (ROOT / "cgroup.procs").write_text(pid, encoding="ascii")
        self._folder.rmdir()

    def _write(self, file: str, value: int) -> None:
        (self._folder / file).write_text(str(value), encoding="ascii")
