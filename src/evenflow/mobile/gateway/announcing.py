"""What a gateway tells everybody: that it is there, who is attached, where its nodes are.

A report goes out when something changed, but not more often than every ``CHANGE_S``, and as a
heartbeat. Attachments go out at once; of a node the newest one counts for late comers too. That a
node has left is told to late comers for ``GONE_S``, and of at most ``MOST_GONE`` nodes; then it is
withdrawn. Positions are told together, those that changed; and all of them now and then, for late
comers.
"""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from evenflow.edge.actions import Write
from evenflow.edge.sessions import Stage
from evenflow.mobile.gateway.events import Withdraw
from evenflow.model.messages import Attachment, GatewayReport, Positions

if TYPE_CHECKING:
    from collections.abc import Callable

    from evenflow.edge.twins import Life
    from evenflow.mobile.gateway.events import Action
    from evenflow.mobile.gateway.sessions import NodeSession, NodeSessions
    from evenflow.mobile.gateway.settings import GatewaySettings

CHANGE_S: Final = 0.1
MOST_POSITIONS: Final = 1_000
"""Nodes in one message."""
MOST_AWAITED: Final = 64
"""Gateways that one report says are awaited; the others come when these are there."""
GONE_S: Final = 60.0
"""How long late comers are told that a node has left: whoever is told at all has heard it."""
MOST_GONE: Final = 10_000
"""Nodes of which that is told."""


@dataclass(frozen=True, slots=True)
class Condition:
    """What a report says besides numbers."""

    draining: bool
    retiring: bool
    forgotten: tuple[str, ...]
    awaits: tuple[str, ...]
    started: tuple[str, ...]


class Announcing:
    """Reports, attachments and positions.

    Args:
        name: This gateway.
        addresses: Where nodes reach it, best first.
        sessions: The clients.
        settings: Times.
        condition: How it is.
        life: The process.
        out: Where actions go.
    """

    def __init__(
        self,
        name: str,
        addresses: tuple[str, ...],
        sessions: NodeSessions,
        settings: GatewaySettings,
        condition: Callable[[], Condition],
        life: Life,
        out: list[Action],
    ) -> None:
        self._name = name
        self._addresses = addresses
        self._sessions = sessions
        self._settings = settings
        self._condition = condition
        self._life = life
        self._out = out
        self._report_due = self._positions_due = 0.0
        self._refresh_due = 0.0
        self._told_at = float("-inf")
        self._moved: dict[str, tuple[float, float]] = {}
        self._gone: OrderedDict[str, tuple[float, Attachment]] = OrderedDict()
        """Nodes that have left, each with when it did and what was told; the longest gone first."""

    # -- reports -----------------------------------------------------------------------------------

    def on_changed(self, now: float) -> None:
        """Something changed that a report tells."""
        self._report_due = min(self._report_due, max(now, self._told_at + CHANGE_S))

    def attach(self, session: NodeSession, wall: float) -> None:
        """A node is attached, or its attributes have changed."""
        self._attachment(session, wall, attached=True)

    def detach(self, session: NodeSession, wall: float) -> None:
        """A node is attached here no more."""
        self._moved.pop(session.client, None)
        self._attachment(session, wall, attached=False)

    def _attachment(self, session: NodeSession, wall: float, *, attached: bool) -> None:
        attributes = session.attributes if attached else "{}"
        session.announced = attached
        node, connection = session.client, session.connection
        told = Attachment(self._name, node, connection, attached, attributes, wall)
        self._out.append(Write(told))
        self._gone.pop(node, None)
        if not attached:
            self._gone[node] = (wall, told)

    def withdraw_gone(self, wall: float) -> None:
        """Tell no more of nodes that have left long ago, or of the longest gone of too many."""
        while self._gone:
            left, told = next(iter(self._gone.values()))
            if wall - left < GONE_S and len(self._gone) <= MOST_GONE:
                return
            del self._gone[told.node]
            self._out.append(Withdraw(told))

    def on_moved(self, session: NodeSession) -> None:
        """A node has said where it is."""
        if session.place is not None:
            self._moved[session.client] = session.place

    # -- by time -----------------------------------------------------------------------------------

    def deadline(self) -> float:
        """When something is to be told."""
        due = min(self._report_due, self._refresh_due)
        return min(due, self._positions_due) if self._moved else due

    def tell(self, now: float) -> None:
        """Tell what is due."""
        if now >= self._report_due:
            self._report_due, self._told_at = now + self._settings.report_s, now
            self._out.append(Write(self._report()))
        if now >= self._refresh_due:
            self._refresh_due = now + self._settings.refresh_s
            for session in self._sessions:
                if session.stage is Stage.ATTACHED:
                    self.on_moved(session)
        if self._moved and now >= self._positions_due:
            self._positions_due = now + self._settings.positions_s
            self._tell_positions()

    def _report(self) -> GatewayReport:
        condition, life = self._condition(), self._life
        return GatewayReport(
            self._name,
            self._addresses,
            self._sessions.clients,
            self._settings.most_nodes,
            condition.draining,
            condition.forgotten,
            condition.retiring,
            condition.awaits[:MOST_AWAITED],
            life.host,
            life.pid,
            life.since,
            condition.started,
        )

    def _tell_positions(self) -> None:
        moved = list(self._moved.items())
        self._moved.clear()
        for begin in range(0, len(moved), MOST_POSITIONS):
            some = moved[begin : begin + MOST_POSITIONS]
            self._out.append(
                Write(
                    Positions(
                        self._name,
                        tuple(node for node, _ in some),
                        tuple(place[0] for _, place in some),
                        tuple(place[1] for _, place in some),
                    )
                )
            )
