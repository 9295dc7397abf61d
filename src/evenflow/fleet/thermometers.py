"""The devices of ``evenflow up``: thermometers of the depots, too small for DDS, at two bridges.

Each is the Python device client, as it would run on a board; one thread gives all of them their
turns. They publish a plain DDS topic, which whoever knows the type can read::

    depot::Reading(thermometer text32, celsius f32, number u32)
"""

from __future__ import annotations

import math
import threading
import time
from collections import Counter
from typing import TYPE_CHECKING, Final

from evenflow.closing import Closing
from evenflow.device.evenflow_device import Device

if TYPE_CHECKING:
    from evenflow.processes import LocalCluster

BRIDGES: Final = ("bridge-1", "bridge-2")
GROUP: Final = "239.255.76.1"
FIRST_PORT: Final = 6_400
"""Of the group, in domain 0: each domain has its own, outside of what the system gives out."""
LOOPBACK: Final = "127.0.0.1"
TOPIC: Final = "depot-temperatures"
TYPE: Final = "depot::Reading(thermometer text32, celsius f32, number u32)"
TURN_S: Final = 0.02
PUBLISH_S: Final = 1.0


def start_bridges(cluster: LocalCluster) -> int:
    """Start the bridges; return the port of the group in which they are found."""
    port = FIRST_PORT + cluster.config.domain.id
    doors = ["--listen", f"{LOOPBACK}:0", "--group", f"{GROUP}:{port}"]
    for name in BRIDGES:
        cluster.start(name, ["bridge", "--name", name, *doors, "--drain-within", "1s"])
    return port


class Thermometers(Closing):
    """Some devices, until they are closed.

    Args:
        count: How many.
        port: Of the group in which bridges are found.
    """

    def __init__(self, count: int, port: int) -> None:
        self._devices = [
            Device(f"thermometer-{number:03}", group=(GROUP, port), interface=LOOPBACK)
            for number in range(count)
        ]
        self._readings = [device.publisher(TOPIC, TYPE, reliable=False) for device in self._devices]
        self.published = 0
        """Readings given to a bridge."""
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._run, name="thermometers", daemon=True)
        self._thread.start()

    def _run(self) -> None:
        number, due = 0, time.monotonic()
        while not self._stopping.wait(TURN_S):
            for device in self._devices:
                device.poll()
            if time.monotonic() >= due:
                number, due = number + 1, due + PUBLISH_S
                self._publish(number)
        for device in self._devices:
            device.close()

    def _publish(self, number: int) -> None:
        for place, reading in enumerate(self._readings):
            celsius = 8.0 + 4.0 * math.sin(number / 60.0 + place)
            self.published += reading.publish(f"thermometer-{place:03}", celsius, number)

    def served(self) -> dict[str, int]:
        """How many each bridge serves, by name."""
        cores = [device.core for device in self._devices]
        found = Counter(core.bridge for core in cores if core.serving)
        return {name: found[name] for name in BRIDGES if found[name]}

    def close(self) -> None:
        """Say goodbye to the bridges."""
        self._stopping.set()
        self._thread.join()
