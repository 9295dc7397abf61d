"""Moves that somebody asks for: whether they can be done, and what they are in detail."""

from __future__ import annotations

from typing import TYPE_CHECKING

from evenflow.errors import MoveRefused
from evenflow.model.plan import Move

if TYPE_CHECKING:
    from collections.abc import Callable, Container

    from evenflow.model.messages import MoveRequest
    from evenflow.slices.balancer.members import Members
    from evenflow.slices.balancer.owners import Owners


def checked_move(
    request: MoveRequest,
    members: Members,
    owners: Owners,
    busy: Container[str],
    is_pending: Callable[[int], bool],
) -> Move:
    """The move that a request means.

    Args:
        request: What the operator asked for.
        members: The nodes.
        owners: Who owns what.
        busy: Nodes that are in a session.
        is_pending: Whether a slice is in a session or being taken.

    Raises:
        ValueError: It cannot be done; says why.
    """
    giver, taker = members.find(request.giver), members.find(request.taker)
    if giver == taker:
        raise ValueError("giver and taker are the same node")
    if members.reports[taker].leaving:
        raise ValueError(f"{taker} is leaving")
    for node in (giver, taker):
        if node in busy:
            raise ValueError(f"{node} is in another session; try again in a moment")
    free = [slice_id for slice_id in owners.owned_by(giver) if not is_pending(slice_id)]
    if request.slices:
        slices = tuple(sorted(set(request.slices)))
        wrong = sorted(set(slices) - set(free))
        if wrong:
            raise ValueError(f"{giver} does not own slice {wrong[0]}")
    else:
        slices = tuple(free[: request.count])
    if not slices or len(slices) < request.count:
        raise ValueError(f"{giver} owns {len(free)} slices, {request.count} were asked for")
    return Move(slices, giver, taker)


def refuse_outdated(move: Move, members: Members, owners: Owners) -> None:
    """Refuse a planned move when the nodes or slices are not as the plan has them.

    Raises:
        MoveRefused: Says what has changed.
    """
    for node in (move.giver, move.taker):
        if node not in members.reports:
            raise MoveRefused(f"there is no node {node} any more")
    if members.reports[move.taker].leaving:
        raise MoveRefused(f"{move.taker} is leaving")
    for slice_id in move.slices:
        if slice_id >= len(owners.of) or owners.of[slice_id] != move.giver:
            raise MoveRefused(f"{move.giver} does not own slice {slice_id}")
