"""The plan: which slices go from which giver to which taker, and what is expected of it.

An algorithm returns one and sends nothing. The slices that go from one giver to one taker are
one :class:`Move`, because that is one load balancing session (MAPE-SDDL, section IV.A: "one
Load Balancing Session for each pair of Slice-giving and Slice-taking PNs"). The moves are in
the order in which they should be done: the most urgent first, so a plan broken off half-way has
done the best half.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from evenflow.errors import PlanError

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from evenflow.model.snapshot import LoadSnapshot


@dataclass(frozen=True, slots=True)
class Move:
    """Slices that one node gives to another in one session."""

    slices: tuple[int, ...]
    giver: str
    taker: str


@dataclass(frozen=True, slots=True)
class Plan:
    """Moves, and the loads expected when they are done."""

    moves: tuple[Move, ...] = ()
    expected: Mapping[str, float] = field(default_factory=dict)
    """Load of every node after the plan, in the unit of the algorithm that made it."""
    reason: str = ""
    """Why something moves or why nothing does, for the history and the operator."""

    def __bool__(self) -> bool:
        """Whether anything moves."""
        return bool(self.moves)

    def owners(self) -> dict[int, str]:
        """The new owner of every slice that moves."""
        return {slice_id: move.taker for move in self.moves for slice_id in move.slices}

    def applied_to(self, snapshot: LoadSnapshot, at: float | None = None) -> LoadSnapshot:
        """The snapshot after the plan, done at ``at`` (by default at the snapshot's own time)."""
        self._refuse_if_not_for(snapshot)
        return snapshot.with_owners(self.owners(), snapshot.time if at is None else at)

    def _refuse_if_not_for(self, snapshot: LoadSnapshot) -> None:
        owner_of = {each.id: each.owner for each in snapshot.slices}
        names = {node.name for node in snapshot.nodes}
        seen: set[int] = set()
        for move in self.moves:
            if move.taker not in names:
                raise PlanError(f"plan gives slices to unknown node {move.taker!r}; plan again")
            for slice_id in move.slices:
                if slice_id in seen:
                    raise PlanError(
                        f"plan moves slice {slice_id} twice; a slice moves once in a plan"
                    )
                if slice_id not in owner_of or owner_of[slice_id] != move.giver:
                    raise PlanError(
                        f"plan takes slice {slice_id} from {move.giver!r}, "
                        "which does not own it; plan again"
                    )
                seen.add(slice_id)


def grouped(single: Iterable[tuple[int, str, str]]) -> tuple[Move, ...]:
    """Moves of single slices, ``(slice, giver, taker)``, joined into one move per pair of nodes.

    The pairs keep the order in which they first occur.
    """
    pairs: dict[tuple[str, str], list[int]] = {}
    for slice_id, giver, taker in single:
        pairs.setdefault((giver, taker), []).append(slice_id)
    return tuple(Move(tuple(sorted(ids)), giver, taker) for (giver, taker), ids in pairs.items())
