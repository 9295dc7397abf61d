"""Brokers as child processes on this machine: for experiments and tests.

The children are what an operator would start (``evenflow broker ...``), on the loopback interface.
"""

from __future__ import annotations

import asyncio
import re
import time
from typing import TYPE_CHECKING

from evenflow.closing import Closing
from evenflow.config import Config
from evenflow.errors import OverlayError, StoreTimeout
from evenflow.overlay.client.aio import AsyncClient
from evenflow.processes import LocalCluster

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from evenflow.overlay.protocol.messages import BrokerStatus
    from evenflow.overlay.space.coordinate import Coordinate


class LocalBrokers(Closing):
    """Starts, kills and watches brokers. Use ``with``.

    Args:
        places: Name and coordinate of each broker.
        folder: Where their storage and logs go.
        silence_s: A neighbour that is silent for this long is dead.
        options: More options for every broker, as on the command line.
        config: The configuration of the brokers.
    """

    def __init__(
        self,
        places: Mapping[str, Coordinate],
        folder: Path,
        *,
        silence_s: float = 2.0,
        options: Sequence[str] = (),
        config: Config | None = None,
    ) -> None:
        self._places = dict(places)
        self._folder = folder
        self._silence_s = silence_s
        self._options = list(options)
        self._cluster = LocalCluster(config or Config.load(None, {}), log_dir=folder)
        self._known: dict[str, str] = {}

    @property
    def addresses(self) -> dict[str, str]:
        """Addresses of the brokers that run."""
        return {name: self._known[name] for name in self._cluster.processes}

    def start_all(self, patience_s: float = 90.0) -> None:
        """Start every broker and wait until all know one another."""
        first, *others = self._places
        self.start(first)
        for name in others:
            self._launch(name)
        for name in others:
            self._await_address(name)
        self.await_settled(patience_s)

    def start(self, name: str) -> None:
        """Start one, again at its old address if it had one."""
        self._launch(name)
        self._await_address(name)

    def _launch(self, name: str) -> None:
        place = self._places[name]
        listen = self._known.get(name, "127.0.0.1:0")
        contacts = [f"--contact={address}" for address in list(self.addresses.values())[:3]]
        (self._folder / f"{name}.log").unlink(missing_ok=True)
        command = [
            "broker", "--name", name, "--at", f"{place.x!r},{place.y!r}", "--listen", listen,
            "--silence", f"{self._silence_s}s", "--data", str(self._folder), *contacts,
            *self._options,
        ]  # fmt: skip
        self._cluster.start(name, command)
        self._known.setdefault(name, listen)

    def _await_address(self, name: str, patience_s: float = 60.0) -> None:
        deadline = time.monotonic() + patience_s
        while not (found := re.search(r"listens at (\S+)", self._cluster.log(name))):
            ended = self._cluster.processes[name].poll() is not None
            if ended or time.monotonic() > deadline:
                raise OverlayError(f"broker {name} does not start: {self._cluster.log(name)}")
            time.sleep(0.02)
        self._known[name] = found[1]

    def kill(self, name: str) -> None:
        """``kill -9``."""
        self._cluster.kill(name)

    def stop(self, name: str) -> int:
        """End one in good order (SIGTERM); return its exit code."""
        return self._cluster.stop(name)

    def log(self, name: str) -> str:
        """Return what one has logged since it was started."""
        return self._cluster.log(name)

    async def statuses(self) -> list[BrokerStatus]:
        """Ask every running broker for its status."""

        async def ask(address: str) -> BrokerStatus:
            async with AsyncClient([address], timeout_s=5.0) as client:
                return await client.status()

        return await asyncio.gather(*map(ask, self.addresses.values()))

    async def settled(self, patience_s: float = 60.0) -> list[BrokerStatus]:
        """Wait until all agree on who lives and every topic has all its copies."""
        deadline = time.monotonic() + patience_s
        count = len(self._cluster.processes)
        while True:
            try:
                found = await self.statuses()
            except StoreTimeout:
                found = []
            if found and all(c.members == count and not c.unsettled for c in found):
                return found
            if time.monotonic() > deadline:
                raise OverlayError(f"after {patience_s:g} s copies are missing: {found}")
            await asyncio.sleep(0.05)

    def await_settled(self, patience_s: float = 60.0) -> list[BrokerStatus]:
        """Wait until all agree on who lives and every topic has all its copies."""
        return asyncio.run(self.settled(patience_s))

    def close(self) -> None:
        """End all brokers."""
        self._cluster.close()
