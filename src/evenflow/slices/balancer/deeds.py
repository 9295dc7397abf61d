"""Moves of slices in the history: from a receipt to a deed, and what can be learned back from it.

A new balancer that reads the deeds of the last hour knows when each slice last moved and from
where, so that no slice moves to and fro only because the balancer was started anew.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from evenflow.autonomic.knowledge.records import Deed
from evenflow.model.ids import NodeId
from evenflow.model.ranges import numbers_in, ranges
from evenflow.slices.balancer.receipts import DONE

if TYPE_CHECKING:
    from collections.abc import Iterable

    from evenflow.model.messages import Receipt
    from evenflow.slices.balancer.owners import Owners

PLANNED = "plan "
"""How the cause of a planned move begins; its plan's id follows."""


def deed_of(receipt: Receipt) -> Deed:
    """What a move did, for the history."""
    giver, taker = (NodeId(node).name for node in (receipt.giver, receipt.taker))
    slices = ranges(receipt.slices)
    _, planned, plan_id = receipt.cause.partition(PLANNED)
    return Deed(
        receipt.time,
        PLANNED.strip() if planned else receipt.cause,
        f"slices {slices} of {receipt.topic} from {giver or 'nobody'} to {taker}",
        receipt.why,
        receipt.outcome,
        plan_id,
        {
            "topic": receipt.topic,
            "slices": slices,
            "from": receipt.giver,
            "to": receipt.taker,
            "ms": round(receipt.ms, 1),
            "items": receipt.moved,
            "replayed": receipt.replayed,
            "repeated": receipt.repeated,
        },
    )


def moves_slice(deed: Deed, slice_id: int) -> bool:
    """Whether a deed moved a slice."""
    return slice_id in numbers_in(str(deed.figures.get("slices", "")))


def remember_moves(
    deeds: Iterable[Deed], topic: str, owners: Owners, offset: float, now: float
) -> None:
    """Tell the table of owners when the slices of a topic last moved.

    Args:
        deeds: The newest first.
        topic: The topic.
        owners: Its owners, as the nodes have reported them.
        offset: Leads from the clock that never jumps to the time of day.
        now: The time by the former; nothing moved later, whatever a clock said then.
    """
    known: set[int] = set()
    for deed in deeds:
        figures = deed.figures
        if figures.get("topic") != topic or deed.outcome != DONE or not figures["from"]:
            continue
        slices = numbers_in(str(figures["slices"])) - known
        known |= slices
        at = min(deed.time - offset, now)
        owners.remember(slices, str(figures["from"]), str(figures["to"]), at)
