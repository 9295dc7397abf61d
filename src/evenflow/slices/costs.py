"""What the items of served topics cost, as the queries that process them say.

The node of a served topic only keeps items; the work is done elsewhere, and no node can measure
it. Whoever does it says what an item and a byte of each slice cost
(:class:`~evenflow.model.messages.SliceCosts`). With the rates that the nodes count this gives what
the balancer wants to know: the seconds of work that a slice asks for in each second. Several
consumers of one topic cost what they cost together; one that is gone costs nothing any more.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

if TYPE_CHECKING:
    from evenflow.model.load import SliceLoad
    from evenflow.model.messages import SliceCosts

_PS: Final = 1e-12


class _Cost(NamedTuple):
    item_s: float
    octet_s: float


class _Told(NamedTuple):
    usual: _Cost
    slices: dict[int, _Cost]


class Costs:
    """The costs of one topic."""

    def __init__(self) -> None:
        self._told: dict[str, _Told] = {}

    @property
    def known(self) -> bool:
        """Whether anybody says what items cost."""
        return bool(self._told)

    def learn(self, message: SliceCosts) -> None:
        """A consumer says what its slices cost; this takes the place of what it said before."""
        rows = zip(message.slices, message.item_ps, message.octet_ps, strict=True)
        self._told[message.consumer] = _Told(
            _cost(message.usual_item_ps, message.usual_octet_ps),
            {slice_id: _cost(item, octet) for slice_id, item, octet in rows},
        )

    def forget(self, consumer: str) -> None:
        """A consumer is gone."""
        self._told.pop(consumer, None)

    def busy(self, slice_id: int, load: SliceLoad) -> float:
        """Seconds of work in each second, for all consumers, at this rate of items and bytes."""
        costs = (told.slices.get(slice_id, told.usual) for told in self._told.values())
        return sum(cost.item_s * load.items + cost.octet_s * load.octets for cost in costs)


def _cost(item_ps: int, octet_ps: int) -> _Cost:
    return _Cost(item_ps * _PS, octet_ps * _PS)
