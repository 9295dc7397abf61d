"""What a processing node shows of itself: rates, backlog, delay, slices.

Several nodes of one process (one for each topic) count together. Rates are over the time since the
last look, so the first look has none: a sensor that has nothing to say yet gives no number, which
its reader skips.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, NamedTuple, Protocol

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from evenflow.autonomic.monitor.sensors import Sensor


class Vitals(NamedTuple):
    """What a node counts."""

    items: int
    """Items processed since start."""
    payload_bytes: int
    """Payload bytes processed since start."""
    busy_s: float
    """Seconds the application was at work since start."""
    backlog_items: int
    backlog_bytes: int
    backlog_since: float | None
    """Time of day of the oldest item that waits; None when nothing waits."""
    delay_s: float
    """From an item's own time to the end of its processing, of the newest delivery."""
    slices: int


class Alive(Protocol):
    """Anything that has vitals: a node."""

    def vitals(self) -> Vitals:
        """What it counts, now."""
        ...


def node_sensors(
    nodes: Sequence[Alive],
    clock: Callable[[], float] = time.monotonic,
    wall: Callable[[], float] = time.time,
) -> dict[str, Sensor]:
    """Sensors of all properties of a node, by the names of ``properties.NODE``."""

    def total(field: str) -> Callable[[], float]:
        return lambda: float(sum(getattr(node.vitals(), field) for node in nodes))

    def waited() -> float:
        since = [
            v.backlog_since for node in nodes if (v := node.vitals()).backlog_since is not None
        ]
        return max(0.0, wall() - min(since)) if since else 0.0

    busy = _Rate(total("busy_s"), clock)
    return {
        "items": _Rate(total("items"), clock),
        "payload_bytes": _Rate(total("payload_bytes"), clock),
        "busy": lambda: 100.0 * busy(),
        "backlog_items": total("backlog_items"),
        "backlog_bytes": total("backlog_bytes"),
        "backlog_s": waited,
        "delay_s": lambda: max(node.vitals().delay_s for node in nodes),
        "slices": total("slices"),
    }


class _Rate:
    """How fast a running count grows."""

    def __init__(self, count: Callable[[], float], clock: Callable[[], float]) -> None:
        self._count = count
        self._clock = clock
        self._last = (clock(), count())

    def __call__(self) -> float:
        now, count = self._clock(), self._count()
        (before, counted), self._last = self._last, (now, count)
        return max(0.0, count - counted) / (now - before) if now > before else 0.0
