"""The disk of a simulated door: it outlives the process."""

from __future__ import annotations

from typing import TYPE_CHECKING

from evenflow.testing.invariants import Violation

if TYPE_CHECKING:
    from collections.abc import Iterable

    from evenflow.edge.actions import Accept


class SimDisk:
    """Marks and the newest unit of each topic, kept as the real one keeps them."""

    def __init__(self, topics: Iterable[str]) -> None:
        self.marks: dict[tuple[str, str, str], tuple[int, int, int]] = {}
        """By client, run and topic: number, unit, number before."""
        self.units = dict.fromkeys(topics, -1)
        self.forgotten: tuple[str, ...] = ()

    def write_marks(self, unit: Accept) -> None:
        """The marks of a unit are synced."""
        for (client, run), mark in unit.marks.items():
            self.marks[client, run, unit.topic] = (mark.number, unit.unit, mark.before)

    def recover(self) -> None:
        """Take back the marks of units that the outbox does not have."""
        for (client, run, topic), (_, unit, before) in list(self.marks.items()):
            newest = self.units[topic]
            if unit > newest + 1:
                raise Violation(f"a mark of unit {unit}, the outbox has {newest}")
            if unit > newest:
                self.marks[client, run, topic] = (before, newest, before)

    def of(self, client: str, run: str) -> dict[str, int]:
        """How far a run of a client is accepted."""
        found = {topic: self.marks.get((client, run, topic), (0, 0, 0))[0] for topic in self.units}
        return {topic: number for topic, number in found.items() if number}
