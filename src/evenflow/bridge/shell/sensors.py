"""What a bridge shows of itself to the monitors: the names of ``properties.BRIDGE``."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

    from evenflow.autonomic.monitor.sensors import Sensor
    from evenflow.bridge.shell.bridge import Bridge


def bridge_sensors(
    bridge: Bridge, clock: Callable[[], float] = time.monotonic
) -> dict[str, Sensor]:
    """Sensors of all properties of a bridge."""
    last = (clock(), bridge.messages)

    def messages_s() -> float:
        nonlocal last
        now, messages = clock(), bridge.messages
        (before, counted), last = last, (now, messages)
        return (messages - counted) / (now - before) if now > before else 0.0

    return {
        "bridge_devices": lambda: float(bridge.devices),
        "bridge_messages_s": messages_s,
        "bridge_refused": lambda: float(bridge.refused),
    }
