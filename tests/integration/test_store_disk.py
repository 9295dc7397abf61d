"""A broker whose disk is full says so, keeps what it acknowledged, and can be started again."""

from __future__ import annotations

import contextlib
import os
import subprocess
from typing import TYPE_CHECKING

import pytest

from evenflow.config import Config
from evenflow.errors import StoreTimeout
from evenflow.overlay.client.blocking import Client
from evenflow.processes import LocalCluster

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

pytestmark = [
    pytest.mark.processes,
    pytest.mark.timeout(120),
    pytest.mark.skipif(os.geteuid() != 0, reason="only root can mount a small disk"),
]
ADDRESS = "127.0.0.1:7431"
MEGABYTE = bytes(1 << 20)


@pytest.fixture
def small(tmp_path: Path) -> Iterator[Path]:
    """A disk of 12 MiB."""
    folder = tmp_path / "small"
    folder.mkdir()
    mounting = ["mount", "-t", "tmpfs", "-o", "size=12m", "tmpfs", str(folder)]
    if subprocess.run(mounting, check=False, capture_output=True).returncode:
        pytest.skip("this machine lets nobody mount a disk")
    yield folder
    subprocess.run(["umount", "--lazy", str(folder)], check=True)


def test_a_full_disk_ends_a_broker_in_words_and_loses_nothing(
    small: Path, tmp_path: Path, eventually: Callable[..., None]
) -> None:
    cluster = LocalCluster(Config.load(None, {}), log_dir=tmp_path)
    command = ["broker", "--name", "b1", "--listen", ADDRESS, "--data", str(small / "store")]

    def start(name: str) -> subprocess.Popen[bytes]:
        process = cluster.start(name, command)
        eventually(lambda: "listens at" in cluster.log(name), "the broker listens")
        return process

    acknowledged = 0
    try:
        process = start("first")
        with Client([ADDRESS], timeout_s=5) as client, contextlib.suppress(StoreTimeout):
            while acknowledged < 12:
                client.publish("meters", b"%d" % acknowledged + MEGABYTE, level=1)
                acknowledged += 1
        assert process.wait(20) == 2
        told = cluster.log("first").splitlines()[-1]
        assert "the disk is full" in told
        assert f"folder {small / 'store'} on the disk mounted at {small}" in told
        assert "Traceback" not in cluster.log("first")
        assert 0 < acknowledged < 12

        subprocess.run(["mount", "-o", "remount,size=64m", str(small)], check=True)
        start("second")
        with Client([ADDRESS], timeout_s=30) as client:
            found = [int(message.payload.rstrip(b"\0")) for message in client.read("meters")]
            assert found[:acknowledged] == list(range(acknowledged))
            client.publish("meters", b"more", level=1)
        assert cluster.stop("second") == 0
    finally:
        cluster.close()
