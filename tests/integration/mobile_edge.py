"""A mobile edge of real processes: gateways that are killed and started again, and who hears of it.

The balancer, the node that processes items, the mailbox and the messenger are in the test's own
process; gateways are processes of their own, and clients run in the test's loop.
"""

from __future__ import annotations

import asyncio
import importlib.util
import secrets
import time
from collections import defaultdict
from contextlib import ExitStack
from typing import TYPE_CHECKING, Any

from evenflow.access.keys import init_keys, signing_key
from evenflow.access.tokens import Allowed, issue
from evenflow.config import Config
from evenflow.domain.cyclone import Participant
from evenflow.mobile.client.aio import AsyncClient, connect
from evenflow.processes import LocalCluster, free_ports, wait_until
from evenflow.slices.balancer.balancer import Balancer
from evenflow.slices.node.node import Node

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

SLICES = 8
SCHEME = "quic" if importlib.util.find_spec("qh3") else "tls"


class Edge:
    """Gateways by name; use ``with``."""

    def __init__(self, folder: Path, domain_id: int, **settings: Any) -> None:
        self.folder = folder
        self.companions: list[Any] = []
        """What the balancer keeps even besides slices."""
        self.config = Config.load(
            None,
            {
                "domain.id": domain_id,
                "topics.items.slices": SLICES,
                "access.dir": str(folder / "keys"),
                "gateway.state_dir": str(folder / "gateways"),
                "mailbox.state_dir": str(folder / "mail"),
                "gateway.idle_s": 5.0,
                "gateway.keep_alive_s": 1.0,
                **settings,
            },
        )
        init_keys(folder / "keys")
        self.items: dict[str, list[int]] = defaultdict(list)
        """Numbers of the items that arrived, by their node."""
        self.addresses: dict[str, str] = {}
        self._stack = ExitStack()

    def __enter__(self) -> Edge:
        enter = self._stack.enter_context
        self.cluster = enter(LocalCluster(self.config, log_dir=self.folder))
        self.participant = enter(Participant(self.config.domain))
        enter(
            Balancer(config=self.config, participant=self.participant, companions=self.companions)
        )
        node = enter(
            Node("items", self._on_items, config=self.config, participant=self.participant)
        )
        assert wait_until(lambda: len(node.slices) == SLICES, 20.0)
        return self

    def __exit__(self, *cause: Any) -> None:
        self._stack.__exit__(*cause)

    def _on_items(self, batch: Any) -> None:
        for item in batch:
            self.items[item.sender].append(int(item.payload))

    def enter(self, part: Any) -> Any:
        """Let something end with the edge."""
        return self._stack.enter_context(part)

    # -- gateways ----------------------------------------------------------------------------------

    def start(self, name: str) -> None:
        """Start a gateway, where it was if it was; wait until it listens."""
        address = self.addresses.setdefault(name, f"{SCHEME}://127.0.0.1:{free_ports(1)[0]}")
        said = f"{name} listens at"
        before = self.log(name).count(said)
        self.cluster.start(name, ["gateway", "--name", name, "--listen", address, "-v"])
        assert wait_until(lambda: self.log(name).count(said) > before, 30.0), self.log(name)

    def log(self, name: str) -> str:
        """What a gateway has printed."""
        return self.cluster.log(name) if (self.folder / f"{name}.log").exists() else ""

    # -- clients -----------------------------------------------------------------------------------

    def token(self, subject: str, token_id: str = "") -> str:
        """A token for some nodes."""
        return issue(
            signing_key(self.folder / "keys"),
            subject=subject,
            allowed=Allowed(publish=("items",)),
            issued=time.time(),
            expires=time.time() + 3_600,
            id=token_id or secrets.token_hex(8),
        )

    async def connect(
        self,
        node: str,
        first: str = "",
        on_message: Callable[[Any], None] | None = None,
        **more: Any,
    ) -> AsyncClient:
        """A client of all gateways, one of them first."""
        addresses = sorted(self.addresses, key=lambda name: name != first)
        return await connect(
            [self.addresses[name] for name in addresses],
            node=node,
            token=more.pop("token", None) or self.token(node),
            trust=self.folder / "keys" / "ca.pem",
            on_message=on_message,
            **more,
        )


async def until(condition: Callable[[], object], what: str, timeout_s: float = 20.0) -> None:
    """Wait until something holds."""
    end = time.monotonic() + timeout_s
    while not condition():
        assert time.monotonic() < end, f"not within {timeout_s:g} s: {what}"
        await asyncio.sleep(0.01)
