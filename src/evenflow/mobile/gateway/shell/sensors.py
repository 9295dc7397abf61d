"""What a gateway shows of itself to the monitors: the names of ``properties.GATEWAY``."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

    from evenflow.autonomic.monitor.sensors import Sensor
    from evenflow.mobile.gateway.shell.gateway import Gateway


def gateway_sensors(
    gateway: Gateway, clock: Callable[[], float] = time.monotonic
) -> dict[str, Sensor]:
    """Sensors of all properties of a gateway."""
    last = (clock(), gateway.items)

    def items_s() -> float:
        nonlocal last
        now, items = clock(), gateway.items
        (before, counted), last = last, (now, items)
        return (items - counted) / (now - before) if now > before else 0.0

    return {
        "mobile_nodes": lambda: float(gateway.nodes),
        "mobile_items_s": items_s,
        "mobile_outbox_items": lambda: float(gateway.uncommitted),
        "mobile_held_bytes": lambda: float(gateway.core.held),
    }
