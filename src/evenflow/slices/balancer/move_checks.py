"""The guard of moves: whether a move of slices may begin now, whoever asked for it.

A planner, an operator and the way back of a failed plan all pass :meth:`MoveGuard.admit`; nothing
else begins a handover. An operator's request names nodes by their names and may leave the choice of
slices to the balancer: :meth:`MoveGuard.resolve` makes a move of it first.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from evenflow.errors import MoveRefused
from evenflow.errors.words import counted
from evenflow.model.plan import Move

if TYPE_CHECKING:
    from evenflow.model.messages import MoveRequest
    from evenflow.slices.balancer.membership.members import Members
    from evenflow.slices.balancer.owners import Owners
    from evenflow.slices.balancer.sessions import Sessions
    from evenflow.slices.balancer.takeovers import Takeovers


class MoveGuard:
    """Knows what may move in one topic."""

    def __init__(
        self, members: Members, owners: Owners, sessions: Sessions, takeovers: Takeovers
    ) -> None:
        self._members = members
        self._owners = owners
        self._sessions = sessions
        self._takeovers = takeovers

    def admit(self, move: Move) -> None:
        """Let a move pass.

        Raises:
            MoveRefused: It must not begin; says why.
        """
        if move.giver == move.taker:
            raise MoveRefused("giver and taker are the same node")
        if not move.slices:
            raise MoveRefused("there is nothing to move")
        for node in (move.giver, move.taker):
            if node not in self._members.reports:
                raise MoveRefused(f"there is no node {node}")
        if self._members.reports[move.taker].leaving:
            raise MoveRefused(f"{move.taker} is leaving")
        for slice_id in move.slices:
            if not self._owners.has(slice_id, move.giver):
                raise MoveRefused(f"{move.giver} does not own slice {slice_id}")
        busy = self.busy(move)
        if busy:
            raise MoveRefused(f"{busy}; try again in a moment")

    def busy(self, move: Move) -> str:
        """What of a move is under way already, in words; empty when nothing is."""
        nodes = self._sessions.busy()
        for node in (move.giver, move.taker):
            if node in nodes:
                return f"{node} is in another session"
        changing = self.changing()
        for slice_id in move.slices:
            if slice_id in changing:
                return f"slice {slice_id} is changing hands"
        return ""

    def changing(self) -> set[int]:
        """Slices that are in a session or being taken."""
        return self._sessions.slices() | self._takeovers.slices()

    def resolve(self, request: MoveRequest) -> Move:
        """The move that an operator's request means.

        Raises:
            MoveRefused: There is no such node, or it does not have as many slices to give.
        """
        giver, taker = self._members.find(request.giver), self._members.find(request.taker)
        if request.slices:
            return Move(tuple(sorted(set(request.slices))), giver, taker)
        owned = self._owners.owned_by(giver)
        if not 0 < request.count <= len(owned):
            asked = f"{request.count} {'was' if request.count == 1 else 'were'} asked for"
            raise MoveRefused(f"{giver} owns {counted(len(owned), 'slice')}, {asked}")
        owned.sort(key=self.changing().__contains__)  # those that are changing hands last
        return Move(tuple(sorted(owned[: request.count])), giver, taker)
