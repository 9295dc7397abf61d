"""DDSB, the paper's baseline: every bridge serves every device that comes to it.

A bridge of ours that owns all devices and hears of nobody else's. It is here to be compared with,
and nowhere else::

    python -m evenflow_experiments.bridge.baseline NAME PORT DOMAIN MODE

Mode ``DDSB`` is that; ``C-DDSB`` is the bridge as it is, started the same way. Both print the
process's memory and what was relayed when they get a line of input, and end with it.
"""

from __future__ import annotations

import asyncio
import gc
import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import psutil

from evenflow.bridge.ring.core import RingSettings
from evenflow.bridge.settings import BridgeSettings
from evenflow.bridge.shell.bridge import Bridge
from evenflow.bridge.shell.keys import DeviceKeys
from evenflow.bridge.shell.udp import Doors
from evenflow.config import DomainConfig
from evenflow.domain.channels import Gone
from evenflow.domain.cyclone import Participant
from evenflow.model.messages import DeviceRecord

if TYPE_CHECKING:
    from collections.abc import Iterable

    from evenflow.bridge.ports import Ring
    from evenflow.bridge.ring.core import RingCore

GROUP: Final = ("239.255.76.1", 7601)
DDSB: Final = "DDSB"
C_DDSB: Final = "C-DDSB"


class Everything:
    """A ring on which one bridge owns all devices."""

    is_isolated = False

    def __init__(self, name: str) -> None:
        self._name = name
        self.members = (name,)

    def owner(self, guid: bytes) -> str:  # noqa: ARG002
        """Always the same."""
        return self._name


class Baseline(Bridge):
    """A bridge that serves every device, whoever else does."""

    def _owners(self, ring: RingCore) -> Ring:  # noqa: ARG002
        return Everything(self.name)

    def _hear(self, messages: Iterable[Any]) -> None:
        others = (DeviceRecord, Gone)
        super()._hear(one for one in messages if not isinstance(one, others))


async def run(bridge: Bridge, doors: Doors) -> None:
    """Serve; answer lines of input until it ends."""
    await bridge.start(doors)
    gc.freeze()
    print("ready", flush=True)
    own = psutil.Process()
    loop = asyncio.get_running_loop()
    while await loop.run_in_executor(None, sys.stdin.readline):
        gc.collect()
        relay, traffic = bridge.core.relay, bridge.ring.traffic
        said = {
            "kib": own.memory_full_info().uss // 1024,
            "cpu_s": sum(own.cpu_times()[:2]),
            "devices": bridge.devices,
            "relayed": relay.relayed_up,
            "ring_sent": traffic.sent,
        }
        print(json.dumps(said), flush=True)
    await bridge.close()


def main() -> None:
    """The program."""
    name, port, domain, mode = sys.argv[1:]
    kind = Baseline if mode == DDSB else Bridge
    with Participant(DomainConfig(id=int(domain))) as participant:
        bridge = kind(
            name,
            BridgeSettings(),
            RingSettings(),
            keys=DeviceKeys(Path("no keys")),
            participant=participant,
        )
        doors = Doors(("127.0.0.1", int(port)), GROUP if mode == C_DDSB else None)
        asyncio.run(run(bridge, doors))


if __name__ == "__main__":
    main()
