"""What the slices of served topics cost, as the queries that process them say.

The node of a served topic only keeps items; the work is done elsewhere, and no node can measure
it. Whoever does it says how much of it each slice asks for
(:class:`~evenflow.model.messages.SliceCosts`): seconds of work in each second, which is what the
balancer wants to know. Several consumers of one topic cost what they cost together; one that is
gone costs nothing any more.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from evenflow.model.messages import SliceCosts

_NS: Final = 1e-9


class Costs:
    """The costs of one topic."""

    def __init__(self) -> None:
        self._told: dict[str, dict[int, float]] = {}

    @property
    def known(self) -> bool:
        """Whether anybody says what slices cost."""
        return bool(self._told)

    def learn(self, message: SliceCosts) -> None:
        """A consumer says what its slices cost; this takes the place of what it said before."""
        rows = zip(message.slices, message.work_ns, strict=True)
        self._told[message.consumer] = {slice_id: work * _NS for slice_id, work in rows}

    def forget(self, consumer: str) -> None:
        """A consumer is gone."""
        self._told.pop(consumer, None)

    def busy(self, slice_id: int) -> float:
        """Seconds of work in each second, for all consumers."""
        return sum(told.get(slice_id, 0.0) for told in self._told.values())
