"""What is known of bridges, arcs and loads, from the domain.

Bridges tell how many devices they have on each arc. What an arc carries counts for who *owns* it,
whoever serves its devices at the moment: so while devices are on their way to another bridge, loads
are those that there will be, and nothing is planned twice. Arcs of a report that are none any more,
because somebody has joined or left since, count for the arc on which they end now. That is not
exact: so nothing is planned before every bridge has reported since the last change of who is there.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from evenflow.bridge.ring.arc_table import NO_ARCS, given_by, is_newer
from evenflow.bridge.ring.circle import Circle
from evenflow.bridge.ring.identifiers import hashed
from evenflow.model.messages import ArcTable, BridgeReport

if TYPE_CHECKING:
    from collections.abc import Mapping

    from evenflow.bridge.ring.identifiers import Identifiers


class BridgeView:
    """Bridges and the table of arcs."""

    def __init__(self) -> None:
        self.table = NO_ARCS
        """The newest that was told."""
        self._reports: dict[str, BridgeReport] = {}
        self._since_change: set[str] = set()
        """Who has reported since somebody joined or left."""
        self._placing = hashed()
        self._circle_of: tuple[dict[str, int], ArcTable] = ({}, NO_ARCS)
        self._circle = Circle({})

    @property
    def bridges(self) -> Mapping[str, BridgeReport]:
        """The newest report of every bridge that is heard."""
        return self._reports

    def on_report(self, report: BridgeReport) -> None:
        """A bridge told of itself."""
        if report.leaving:
            self.on_gone(report.bridge)
            return
        before = self._reports.get(report.bridge)
        if before is None or before.points != report.points:
            self._since_change.clear()
        self._reports[report.bridge] = report
        self._since_change.add(report.bridge)

    def on_gone(self, bridge: str) -> None:
        """A bridge is not heard any more."""
        if self._reports.pop(bridge, None) is not None:
            self._since_change.clear()

    @property
    def is_settled(self) -> bool:
        """Whether every bridge has reported since the last one has joined or left."""
        return self._since_change >= self._reports.keys()

    def on_table(self, table: ArcTable) -> None:
        """A bridge told the table that it goes by."""
        if is_newer(table, self.table):
            self.table = table

    @property
    def circle(self) -> Circle:
        """Who owns what, by what bridges tell."""
        members = {name: one.points for name, one in self._reports.items() if one.points}
        known = (members, self.table)
        if known != self._circle_of:
            self._circle_of = known
            self._circle = Circle.of(members, self._placing, given_by(self.table))
        return self._circle

    @property
    def places(self) -> dict[str, Identifiers]:
        """The points of every bridge that takes devices."""
        reports = self._reports.values()
        return {one.bridge: self._placing(one.bridge, one.points) for one in reports if one.points}

    def arcs(self, loads: Mapping[str, float] | None = None) -> dict[str, dict[int, float]]:
        """For each bridge that takes devices the arcs that it owns, with what they carry.

        Args:
            loads: What each bridge was measured to carry, of which each of its devices counts for
                the mean; None: every device counts for one.
        """
        circle = self.circle
        holders = circle.arcs()
        found: dict[str, dict[int, float]] = {name: {} for name in circle.bridges}
        if not holders:
            return found
        for name, report in self._reports.items():
            each = 1.0 if loads is None else loads.get(name, 0.0) / max(report.devices, 1)
            for end, devices in zip(report.arcs, report.arc_devices, strict=True):
                at = end if end in holders else circle.arc_of(end)
                own = found[holders[at]]
                own[at] = own.get(at, 0.0) + devices * each
        return found
