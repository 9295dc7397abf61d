"""A process is held to its share of a core, and the group is removed afterwards."""

from __future__ import annotations

import time

import psutil
import pytest

from evenflow.errors import ExperimentError
from evenflow.processes import wait_until
from evenflow_experiments.slices.cpu_share import CpuShare

pytestmark = pytest.mark.processes


def test_a_busy_process_gets_no_more_than_its_share(python):
    try:
        share = CpuShare("test", 0.1)
    except ExperimentError as error:
        pytest.skip(str(error))
    with share:
        busy = python("print('on', flush=True)\nwhile True: pass")
        assert busy.stdout.readline() == "on\n"
        share.add(busy.pid)
        process = psutil.Process(busy.pid)
        before, started = process.cpu_times().user, time.monotonic()
        assert not wait_until(lambda: process.status() == psutil.STATUS_ZOMBIE, 2)
        used = process.cpu_times().user - before
        assert used / (time.monotonic() - started) < 0.3
        folder = share._folder
        assert folder.exists()
        busy.kill()
        busy.wait()
    assert not folder.exists()
