"""What a gateway tells everybody: that it is there, who is attached, where its nodes are.

A report goes out when something changed, but not more often than every ``CHANGE_S``, and as a
heartbeat. Attachments go out at once; of a node the newest one counts for late comers too.
Positions are told together, those that changed; and all of them now and then, for late comers.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from evenflow.mobile.gateway.events import Write
from evenflow.mobile.gateway.sessions import Stage
from evenflow.model.messages import Attachment, GatewayReport, Positions

if TYPE_CHECKING:
    from collections.abc import Callable

    from evenflow.mobile.gateway.events import Action
    from evenflow.mobile.gateway.sessions import Session, Sessions
    from evenflow.mobile.gateway.settings import GatewaySettings

CHANGE_S: Final = 0.1
MOST_POSITIONS: Final = 1_000
"""Nodes in one message."""


class Announcing:
    """Reports, attachments and positions.

    Args:
        name: This gateway.
        addresses: Where nodes reach it, best first.
        sessions: The clients.
        settings: Times.
        condition: Whether it is draining, and which gateways were given up.
        note_told: Told each report.
        out: Where actions go.
    """

    def __init__(
        self,
        name: str,
        addresses: tuple[str, ...],
        sessions: Sessions,
        settings: GatewaySettings,
        condition: Callable[[], tuple[bool, tuple[str, ...]]],
        note_told: Callable[[GatewayReport], object],
        out: list[Action],
    ) -> None:
        self._name = name
        self._addresses = addresses
        self._sessions = sessions
        self._settings = settings
        self._condition = condition
        self._note_told = note_told
        self._out = out
        self._report_due = self._positions_due = 0.0
        self._refresh_due = 0.0
        self._told_at = float("-inf")
        self._moved: dict[str, tuple[float, float]] = {}

    # -- reports -----------------------------------------------------------------------------------

    def on_changed(self, now: float) -> None:
        """Something changed that a report tells."""
        self._report_due = min(self._report_due, max(now, self._told_at + CHANGE_S))

    def attach(self, session: Session, wall: float) -> None:
        """A node is attached, or its attributes have changed."""
        self._attachment(session, wall, attached=True)

    def detach(self, session: Session, wall: float) -> None:
        """A node is attached here no more."""
        self._moved.pop(session.node, None)
        self._attachment(session, wall, attached=False)

    def _attachment(self, session: Session, wall: float, *, attached: bool) -> None:
        attributes = session.attributes if attached else "{}"
        session.announced = attached
        self._out.append(
            Write(
                Attachment(self._name, session.node, session.connection, attached, attributes, wall)
            )
        )

    def on_moved(self, session: Session) -> None:
        """A node has said where it is."""
        if session.place is not None:
            self._moved[session.node] = session.place

    # -- by time -----------------------------------------------------------------------------------

    def deadline(self) -> float:
        """When something is to be told."""
        due = min(self._report_due, self._refresh_due)
        return min(due, self._positions_due) if self._moved else due

    def tell(self, now: float) -> None:
        """Tell what is due."""
        if now >= self._report_due:
            self._report_due, self._told_at = now + self._settings.report_s, now
            report = self._report()
            self._note_told(report)
            self._out.append(Write(report))
        if now >= self._refresh_due:
            self._refresh_due = now + self._settings.refresh_s
            for session in self._sessions:
                if session.stage is Stage.ATTACHED:
                    self.on_moved(session)
        if self._moved and now >= self._positions_due:
            self._positions_due = now + self._settings.positions_s
            self._tell_positions()

    def _report(self) -> GatewayReport:
        draining, forgotten = self._condition()
        return GatewayReport(
            self._name,
            self._addresses,
            self._sessions.nodes,
            self._settings.most_nodes,
            draining,
            forgotten,
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
