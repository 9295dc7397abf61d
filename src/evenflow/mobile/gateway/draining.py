"""A gateway that shall be left: it takes no new nodes and sends those it has elsewhere.

Where they go is the PoA-Manager's to plan. Who is still here after a moment, because there is none
or it has not planned for them, is told by the gateway itself: at a pace, each to begin with another
one of the alternatives, so that no gateway gets all of them. Who has found nobody there is told
again.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from evenflow.edge.sessions import Stage
from evenflow.mobile.gateway.events import HandoverOrder

if TYPE_CHECKING:
    from evenflow.mobile.gateway.handovers import Handovers
    from evenflow.mobile.gateway.neighbours import Neighbours
    from evenflow.mobile.gateway.sessions import NodeSessions

GRACE_S: Final = 2.0
"""How long a plan may take to come."""
ROUND_S: Final = 5.0
"""How long a node has to go before it is told again."""


class Draining:
    """Whether a gateway is being left, and the handovers for it.

    Args:
        sessions: The clients.
        handovers: Tell the nodes.
        neighbours: Know the alternatives.
        pace_per_s: Nodes a second that are told.
    """

    def __init__(
        self,
        sessions: NodeSessions,
        handovers: Handovers,
        neighbours: Neighbours,
        pace_per_s: float,
    ) -> None:
        self.on = False
        self.retiring = False
        """Whether it drains in order to end."""
        self._sessions = sessions
        self._handovers = handovers
        self._neighbours = neighbours
        self._pace = pace_per_s
        self._next = 0.0
        self._round = 0

    def turn(self, *, on: bool, retire: bool = False, now: float) -> None:
        """Begin to drain, perhaps in order to end; or take nodes again."""
        if on and not self.on:
            self._next = now + GRACE_S
        self.on, self.retiring = on, on and retire

    def deadline(self) -> float | None:
        """When the nodes that are left are told again."""
        return self._next if self.on else None

    def go_on(self, now: float) -> None:
        """Tell those that are here, if it is time."""
        if not self.on or now < self._next:
            return
        addresses = self._neighbours.alternatives
        going = self._handovers.going
        here = [one.client for one in self._sessions if one.stage is Stage.ATTACHED]
        nodes = [node for node in here if node not in going]
        within = ROUND_S + len(nodes) / self._pace
        self._next = now + within
        if not addresses or not nodes:
            return
        self._round += 1
        groups = min(len(addresses), len(nodes))
        for group in range(groups):
            self._handovers.begin(
                HandoverOrder(
                    f"drain/{self._round}/{group}",
                    tuple(nodes[group::groups]),
                    (*addresses[group:], *addresses[:group]),
                    within,
                    make_before_break=True,
                    pace_per_s=self._pace / groups,
                ),
                now,
            )
