"""Nodes are told where to go when this gateway is lost, some time after that has changed.

A plan that changes the alternatives often sends nodes elsewhere too. Those go first, and hear from
their new gateway; who is still here after `LATER_S` is told.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from evenflow.edge.sessions import Stage
from evenflow.mobile.gateway.events import Send
from evenflow.mobile.link import frames

if TYPE_CHECKING:
    from evenflow.mobile.gateway.events import Action
    from evenflow.mobile.gateway.neighbours import Neighbours
    from evenflow.mobile.gateway.sessions import NodeSessions

LATER_S: Final = 1.0


class AlternativesNews:
    """Whether nodes are to be told, and when.

    Args:
        sessions: The clients.
        neighbours: Know the alternatives.
        out: Where actions go.
    """

    def __init__(self, sessions: NodeSessions, neighbours: Neighbours, out: list[Action]) -> None:
        self._sessions = sessions
        self._neighbours = neighbours
        self._out = out
        self._due: float | None = None

    def on_planned(self, now: float) -> None:
        """A plan has changed the alternatives."""
        if self._due is None:
            self._due = now + LATER_S

    def deadline(self) -> float | None:
        """When nodes are told."""
        return self._due

    def tell(self, now: float) -> None:
        """Tell the nodes that are here, if it is time."""
        if self._due is None or now < self._due:
            return
        self._due = None
        frame = frames.Alternatives(self._neighbours.alternatives)
        for session in self._sessions:
            if session.stage is Stage.ATTACHED:
                self._out.append(Send(session.link, frame))
