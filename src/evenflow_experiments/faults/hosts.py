"""Hosts as network namespaces without names, joined by a bridge, that end with this process.

A host is a process that sleeps in a network and a mount namespace of its own; programs enter the
namespaces of that process. Nothing is written under ``/run/netns``, no interface is made outside,
so runs cannot collide, and whatever ends this process ends its hosts: the kernel kills those who
sleep and all programs started on them, and takes namespaces, interfaces, rules and mounts away.

A hub has the bridge. Each host has one interface, `CABLE`, whose other end is a port of the bridge.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import shutil
import signal
import subprocess
import time
from pathlib import Path
from typing import TYPE_CHECKING, Final, Self

from evenflow.closing import Closing
from evenflow.errors import ExperimentError
from evenflow_experiments.faults.kinds import Action

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

NAME: Final = "faults"
CABLE: Final = "cable"
"""The interface of every host."""
SUBNET: Final = "10.213.78"
_COMMANDS: Final = {"ip": "iproute2", "nsenter": "util-linux", "unshare": "util-linux"}
_PR_SET_PDEATHSIG: Final = 1
_LIBC: Final = ctypes.CDLL(None)


def require() -> None:
    """Raise `ExperimentError` where hosts cannot be made."""
    if os.geteuid() != 0:
        raise ExperimentError(NAME, "hosts are network namespaces, which only root can make")
    for command, package in _COMMANDS.items():
        if shutil.which(command) is None:
            raise ExperimentError(NAME, f"no command {command}: install {package} ('make setup')")


def left_out() -> dict[Action, str]:
    """The actions that cannot be had on this machine, and why."""
    reasons = {}
    if shutil.which("nft") is None:
        reasons[Action.PATH] = "no command nft: install nftables ('make setup')"
    return reasons


def die_with_parent() -> None:
    """In a child before it begins: let the kernel kill it, also when it is stopped."""
    _LIBC.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)


class Hosts(Closing):
    """A hub, and hosts connected to it. Use ``with``; the main thread alone may start programs."""

    def __init__(self, names: Sequence[str]) -> None:
        self.addresses = {name: f"{SUBNET}.{number}" for number, name in enumerate(names, 2)}
        self._ports = {name: f"port{number}" for number, name in enumerate(names)}
        self._sleepers: dict[str, subprocess.Popen[bytes]] = {}
        self._hub = _sleeper()
        try:
            self._make_hub()
            for name in names:
                self._make(name)
        except BaseException:
            self.close()
            raise

    def __enter__(self) -> Self:
        return self

    def close(self) -> None:
        """End all hosts, and with them what runs on them."""
        for process in (*self._sleepers.values(), self._hub):
            process.kill()
            process.wait()

    def start(
        self,
        host: str,
        command: Sequence[str],
        *,
        log: Path,
        folder: Path,
        env: Mapping[str, str] | None = None,
    ) -> subprocess.Popen[bytes]:
        """Start a program on a host, in a folder; the process is the program itself."""
        words = [*self.enter(host), "env", f"--chdir={folder}", *command]
        with log.open("ab") as output:
            return subprocess.Popen(
                words,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                env={**os.environ, **(env or {})},
                start_new_session=True,  # Ctrl-C is for the experiment, which ends it in order
                preexec_fn=die_with_parent,  # noqa: PLW1509 - one prctl call, no locks
            )

    def ask(self, host: str, command: Sequence[str], timeout_s: float = 30.0) -> str:
        """Run a program on a host to its end; return what it printed, whether it failed or not."""
        words = [*self.enter(host), *command]
        try:
            done = subprocess.run(words, capture_output=True, timeout=timeout_s, check=False)
        except subprocess.TimeoutExpired:
            return ""
        return done.stdout.decode(errors="replace")

    # -- what can break ---------------------------------------------------------------------------

    def set_cable(self, host: str, state: str) -> None:
        """Pull the cable of a host (``down``) or plug it in (``up``)."""
        _run([*_net(self._hub), "ip", "link", "set", self._ports[host], state])

    def block(self, sender: str, receiver: str) -> None:
        """Let a host hear nothing any more of what another one sends."""
        nft = [*_net(self._sleepers[receiver]), "nft"]
        _run([*nft, "add table ip faults"])
        _run([*nft, "add chain ip faults input { type filter hook input priority 0 ; }"])
        _run([*nft, f"add rule ip faults input ip saddr {self.addresses[sender]} drop"])

    def unblock(self, receiver: str) -> None:
        """Let a host hear everybody."""
        _run([*_net(self._sleepers[receiver]), "nft", "flush ruleset"])

    def mount(self, host: str, folder: Path, octets: int) -> None:
        """Give a host a small disk of its own at a folder."""
        options = ["-t", "tmpfs", "-o", f"size={octets}", "none"]
        _run([*self.enter(host), "mount", *options, str(folder)])

    def fill(self, host: str, folder: Path) -> None:
        """Leave no room on a host's small disk."""
        ballast = self._inside(host, folder) / "ballast"
        with ballast.open("wb", buffering=0) as file, contextlib.suppress(OSError):
            while True:
                file.write(bytes(1 << 16))

    def free(self, host: str, folder: Path) -> None:
        """Give the room back."""
        (self._inside(host, folder) / "ballast").unlink(missing_ok=True)

    # -- inside -----------------------------------------------------------------------------------

    def _inside(self, host: str, folder: Path) -> Path:
        """A folder as the host sees it."""
        return Path(f"/proc/{self._sleepers[host].pid}/root") / folder.relative_to("/")

    def enter(self, host: str) -> list[str]:
        """What a command begins with that runs on a host."""
        sleeper = self._sleepers[host]
        return [*_net(sleeper), f"--mount=/proc/{sleeper.pid}/ns/mnt"]

    def _make_hub(self) -> None:
        _ip(self._hub, "link add bridge type bridge mcast_snooping 0", "link set bridge up")

    def _make(self, name: str) -> None:
        sleeper = self._sleepers[name] = _sleeper()
        port = self._ports[name]
        _run(["ip", "link", "add", port, "netns", str(self._hub.pid), "type", "veth",
              "peer", "name", CABLE, "netns", str(sleeper.pid)])  # fmt: skip
        _ip(self._hub, f"link set {port} master bridge up")
        _ip(
            sleeper,
            "link set lo up",
            f"addr add {self.addresses[name]}/24 dev {CABLE}",
            f"link set {CABLE} up",
        )


def _sleeper(patience_s: float = 5.0) -> subprocess.Popen[bytes]:
    """A process in namespaces of its own; returns when it has them."""
    command = ["unshare", "--net", "--mount", "--propagation", "private", "sleep", "infinity"]
    process = subprocess.Popen(
        command,
        start_new_session=True,
        preexec_fn=die_with_parent,  # noqa: PLW1509 - one prctl call, no locks
    )
    deadline = time.monotonic() + patience_s
    while Path(f"/proc/{process.pid}/comm").read_text(encoding="utf-8") != "sleep\n":
        if process.poll() is not None or time.monotonic() > deadline:
            process.kill()
            raise ExperimentError(NAME, "this machine lets root make no network namespace")
        time.sleep(0.005)
    return process


def _net(sleeper: subprocess.Popen[bytes]) -> list[str]:
    return ["nsenter", f"--net=/proc/{sleeper.pid}/ns/net"]


def _ip(sleeper: subprocess.Popen[bytes], *lines: str) -> None:
    _run([*_net(sleeper), "ip", "-batch", "-"], "\n".join(lines) + "\n")


def _run(command: Sequence[str], text: str = "") -> None:
    done = subprocess.run(command, input=text, capture_output=True, text=True, check=False)
    if done.returncode:
        raise ExperimentError(NAME, f"{' '.join(command)}: {done.stderr.strip()}")
