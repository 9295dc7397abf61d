"""The experiment with failing hosts: its hosts break and heal, and what it reports is true."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from evenflow.cli import main
from evenflow_experiments.faults import skewed
from evenflow_experiments.faults.cast import Scale
from evenflow_experiments.faults.experiment import run
from evenflow_experiments.faults.hosts import Hosts

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

pytestmark = [pytest.mark.processes, pytest.mark.timeout(120)]
NEEDED = ("ip", "nsenter", "unshare")


@pytest.fixture(autouse=True)
def root() -> None:
    if os.geteuid() != 0 or not all(map(shutil.which, NEEDED)):
        pytest.skip(f"hosts need root and the commands {', '.join(NEEDED)}")


@pytest.fixture
def hosts() -> Iterator[Hosts]:
    with Hosts(["left", "right"]) as hosts:
        yield hosts


def is_open(hosts: Hosts, sender: str, receiver: str) -> bool:
    """Whether a datagram reaches the other host: it listens, is sent one, and says so."""
    listen = (
        "import socket; s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM);"
        "s.bind(('0.0.0.0', 7000)); s.settimeout(1.5); print('bound', flush=True);"
        "print(s.recv(9).decode(), flush=True)"
    )
    send = (
        "import socket, time; s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)\n"
        "for _ in range(5):\n"
        f"    s.sendto(b'heard', ('{hosts.addresses[receiver]}', 7000)); time.sleep(0.1)"
    )
    with subprocess.Popen(
        [*hosts.enter(receiver), sys.executable, "-c", listen],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    ) as listener:
        assert listener.stdout is not None
        assert listener.stdout.readline() == "bound\n"
        hosts.ask(sender, [sys.executable, "-c", send])
        return listener.stdout.read() == "heard\n"


def test_a_cable_is_pulled_and_plugged_in(hosts: Hosts, eventually: Callable[..., None]) -> None:
    assert is_open(hosts, "left", "right")
    hosts.set_cable("right", "down")
    assert not is_open(hosts, "left", "right")
    hosts.set_cable("right", "up")
    eventually(lambda: is_open(hosts, "left", "right"), "the cable is plugged in")


@pytest.mark.skipif(shutil.which("nft") is None, reason="blocking a path needs nftables")
def test_a_path_is_blocked_in_one_direction(hosts: Hosts) -> None:
    hosts.block("left", "right")
    assert not is_open(hosts, "left", "right")
    assert is_open(hosts, "right", "left")
    hosts.unblock("right")
    assert is_open(hosts, "left", "right")


def test_a_disk_is_full_on_its_host_alone(hosts: Hosts, tmp_path: Path) -> None:
    hosts.mount("left", tmp_path, 1 << 20)
    write = ["dd", "if=/dev/zero", f"of={tmp_path}/file", "bs=4096", "count=4"]

    def said(host: str) -> str:
        hosts.ask(host, [*write, "status=none"])
        return hosts.ask(host, ["stat", "--format=%s", f"{tmp_path}/file"])

    hosts.fill("left", tmp_path)
    assert said("left").strip() in ("", "0")
    assert said("right").strip() == "16384"
    hosts.free("left", tmp_path)
    assert said("left").strip() == "16384"


def test_whatever_ends_the_experiment_ends_its_hosts(
    tmp_path: Path, eventually: Callable[..., None]
) -> None:
    program = (
        "import sys, time; from pathlib import Path\n"
        "from evenflow_experiments.faults.hosts import Hosts\n"
        "hosts = Hosts(['left'])\n"
        f"log = Path({str(tmp_path)!r}) / 'log'\n"
        "one = hosts.start('left', ['sleep', '1000'], log=log, folder=log.parent)\n"
        "one.send_signal(19)\n"
        "print(one.pid, hosts._hub.pid, hosts._sleepers['left'].pid, flush=True)\n"
        "time.sleep(1000)"
    )
    with subprocess.Popen(
        [sys.executable, "-c", program], stdout=subprocess.PIPE, text=True
    ) as experiment:
        assert experiment.stdout is not None
        pids = experiment.stdout.readline().split()
        assert len(pids) == 3
        experiment.kill()
    eventually(
        lambda: not any(Path(f"/proc/{pid}").exists() for pid in pids),
        "its hosts and the program on them, which was stopped, are gone",
    )


def test_a_program_runs_with_another_clock(tmp_path: Path) -> None:
    (tmp_path / "clock_teller.py").write_text(
        "import sys, time; time.sleep(0.01); print(time.time(), time.time_ns(), *sys.argv[1:])"
    )
    command = [sys.executable, "-m", skewed.__name__, "-3600", "clock_teller", "one", "two"]
    said = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=True)
    seconds, nanoseconds, *words = said.stdout.split()
    assert words == ["one", "two"]
    assert time.time() - float(seconds) == pytest.approx(3600, abs=60)
    assert int(nanoseconds) / 1e9 == pytest.approx(float(seconds), abs=10)


@pytest.mark.domain
def test_a_node_is_killed_and_nothing_is_lost(tmp_path: Path) -> None:
    scale = Scale(1, 2, servers=0, balancers=1, brokers=0, spark=False, follower=False)
    figures = run(scale, tmp_path, 1, ["kill-node"], 1)
    (row,) = figures["rows"]
    assert (figures["faults"], figures["unrecovered"]) == (1, ""), figures
    assert (row["fault"], row["count"]) == ("kill-node", 1)
    assert row["published"] > 30
    assert (row["lost"], row["repeated"]) == (0, 0), row
    assert row["recovered_s_max"] > 0
    assert figures["ended_by_themselves"] == {}


def test_a_kind_that_there_is_not_is_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["experiment", "faults", "--only", "kill-nobody"]) != 0
    assert "kill-node" in capsys.readouterr().err
