"""What the nodes' machines are busy with, and what other programs leave to the nodes there.

A node reports how busy its machine is and what part of that its own process causes. What the nodes
of one machine do not cause together is other work: it takes their room away, whatever their slices
weigh. Readings swing, so they are averaged over a while, a little other work counts as none, and
the room is told in steps of a tenth.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import exp, isfinite
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from evenflow.model.messages import NodeReport

MEMORY_S: Final = 20.0
"""Over about this time readings are averaged."""
NEGLIGIBLE: Final = 20.0
"""Percent of a machine that other work may take before it counts."""
LEAST: Final = 0.1
"""The least part of a machine that a node is thought to have."""


@dataclass(slots=True)
class _Readings:
    cpu: float
    process_cpu: float
    time: float


class Machines:
    """The machines of a topic's nodes."""

    def __init__(self) -> None:
        self._readings: dict[str, _Readings] = {}

    def observe(self, report: NodeReport, now: float) -> None:
        """A node reported; what is no percentage is left out."""
        if not (isfinite(report.cpu) and isfinite(report.process_cpu)):
            return
        cpu, process_cpu = (min(100.0, max(0.0, p)) for p in (report.cpu, report.process_cpu))
        known = self._readings.get(report.node)
        if known is None:
            self._readings[report.node] = _Readings(cpu, process_cpu, now)
            return
        part = 1 - exp(-max(0.0, now - known.time) / MEMORY_S)
        known.cpu += part * (cpu - known.cpu)
        known.process_cpu += part * (process_cpu - known.process_cpu)
        known.time = now

    def forget(self, node: str) -> None:
        """A node is gone."""
        self._readings.pop(node, None)

    def headrooms(self, nodes: Mapping[str, NodeReport]) -> dict[str, float]:
        """The part of its machine that other programs leave to each node's machine, up to 1."""
        machines: dict[str, list[NodeReport]] = {}
        for report in nodes.values():
            machines.setdefault(report.host, []).append(report)
        return {
            report.node: room
            for reports in machines.values()
            for room in [self._room(reports)]
            for report in reports
        }

    def _room(self, reports: Iterable[NodeReport]) -> float:
        """Of one machine; nodes of one process report the same process."""
        known = {r.node: self._readings[r.node] for r in reports if r.node in self._readings}
        processes = {r.pid: known[r.node].process_cpu for r in reports if r.node in known}
        busy = max((each.cpu for each in known.values()), default=0.0)
        other = busy - sum(processes.values())
        return 1.0 if other <= NEGLIGIBLE else max(LEAST, round(1 - other / 100, 1))
