"""What the slices of served topics cost, as the queries that process them say.

The node of a served topic only keeps items; the work is done elsewhere, and no node can measure
it. Whoever does it says how much of it each slice asks for
(:class:`~evenflow.model.messages.SliceCosts`): seconds of work in each second, which is what the
balancer wants to know. Several consumers of one topic cost what they cost together. One that is
gone costs nothing any more, after a while: a busy machine may only have silenced it for a moment,
and a query that is started again goes on where it was.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from evenflow.model.messages import SliceCosts

GRACE_S: Final = 30.0
"""How long a consumer that is gone still counts."""
_NS: Final = 1e-9


class Costs:
    """The costs of one topic."""

    def __init__(self) -> None:
        self._told: dict[str, dict[int, float]] = {}
        self._gone: dict[str, float] = {}

    @property
    def known(self) -> bool:
        """Whether anybody says what slices cost."""
        return bool(self._told)

    def learn(self, message: SliceCosts) -> None:
        """A consumer says what its slices cost; this takes the place of what it said before."""
        rows = zip(message.slices, message.work_ns, strict=True)
        self._told[message.consumer] = {slice_id: work * _NS for slice_id, work in rows}
        self._gone.pop(message.consumer, None)

    def gone(self, consumer: str, now: float) -> None:
        """A consumer is gone."""
        if consumer in self._told:
            self._gone.setdefault(consumer, now)

    def forget_gone(self, now: float) -> bool:
        """Forget consumers that were gone for long; returns whether there were any."""
        over = [consumer for consumer, since in self._gone.items() if now - since >= GRACE_S]
        for consumer in over:
            del self._gone[consumer], self._told[consumer]
        return bool(over)

    def busy(self, slice_id: int) -> float:
        """Seconds of work in each second, for all consumers."""
        return sum(told.get(slice_id, 0.0) for told in self._told.values())
