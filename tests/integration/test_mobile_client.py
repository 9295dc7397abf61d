"""A mobile client as a real process, killed while it publishes."""

from __future__ import annotations

import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from evenflow.mobile.client.disk import ClientDisk

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.processes

NOBODY = "tls://127.0.0.1:1"
PUBLISHER = f"""
import sys
from evenflow.mobile import connect
client = connect({NOBODY!r}, node="car-7", token="t", trust="ca.pem", outbox=sys.argv[1],
                 timeout_s=0)
number = client.stats.kept
while True:
    client.publish(b"%d" % number)
    number += 1
    print(number, flush=True)
"""


def test_what_was_published_with_an_outbox_survives_kill_9(tmp_path: Path) -> None:
    promised = 0
    for _ in range(3):
        child = subprocess.Popen(
            [sys.executable, "-c", PUBLISHER, str(tmp_path)], stdout=subprocess.PIPE, text=True
        )
        assert child.stdout is not None
        wanted = promised + 50
        for line in child.stdout:
            promised = int(line)
            if promised >= wanted:
                break
        child.kill()
        # It may have published, and said so, until the moment of its death.
        promised = max([promised, *map(int, child.stdout.read().split())])
        child.stdout.close()
        child.wait()
        disk = ClientDisk(tmp_path, "car-7")
        kept = [int(item.payload) for item in disk.load().items]
        disk.close()
        assert kept == list(range(len(kept)))
        assert len(kept) in (promised, promised + 1), "on disk, and not yet said"
        promised = len(kept)
