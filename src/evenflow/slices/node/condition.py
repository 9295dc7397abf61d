"""The condition of a node: what its machine and its application are busy with, and its state.

The readings come from outside (:class:`~evenflow.autonomic.monitor.sensors.Sensors`). A state is
found by the operation ranges of the papers: with the bounds 30 and 70 a CPU below 30 percent leaves
a node underloaded, and one above 70 makes it overloaded; so does an application that is always at
work.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from evenflow.model.load import NodeState, node_state

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

Bounds = tuple[float, float]
"""Where the lowest range of a percentage ends and the highest begins."""
RANGES: Mapping[str, Bounds] = {"cpu": (30.0, 70.0), "busy": (30.0, 70.0)}


def bounds_in(ranges: Mapping[str, Sequence[float]]) -> dict[str, Bounds]:
    """The bounds of the operator's operation ranges; ours where they set fewer than two."""
    known = {name: bounds for name in RANGES if len(bounds := ranges.get(name, ())) > 1}
    return {**RANGES, **{name: (bounds[0], bounds[-1]) for name, bounds in known.items()}}


@dataclass(slots=True)
class Condition:
    """What a node tells of how it fares.

    Args:
        bounds: The ranges of ``cpu`` and ``busy``, in percent.
        cores: How many cores its machine has.
    """

    bounds: Mapping[str, Bounds] = field(default_factory=lambda: dict(RANGES))
    cores: int = 1
    cpu: float = 0.0
    """Percent of all cores that are busy, whoever keeps them so."""
    process_cpu: float = 0.0
    """Percent of all cores that this process keeps busy."""
    memory: float = 0.0
    """Percent of the machine's memory that is in use."""
    state: NodeState = NodeState.NORMAL
    _worked: tuple[float, float] | None = None
    """Time of the last look, and seconds that the application had worked until then."""

    def observe(self, readings: Mapping[str, float], worked_s: float, now: float) -> None:
        """Take in the readings of the machine and what the application has worked since start."""
        self.cpu = readings.get("cpu", self.cpu)
        self.process_cpu = readings.get("process_cpu", 0.0) / self.cores
        self.memory = readings.get("memory", self.memory)
        before, self._worked = self._worked, (now, worked_s)
        if before is None or now <= before[0]:
            return
        busy = 100 * max(0.0, worked_s - before[1]) / (now - before[0])
        self.state = node_state({"cpu": self.cpu, "busy": busy}, self.bounds)
