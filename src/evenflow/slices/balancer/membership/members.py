"""The nodes of a topic, as their newest reports show them to the balancer.

A report may be older than what the balancer and the node have just agreed upon: an order that
changes what a node holds makes the reports so far untrustworthy (:meth:`Members.distrust`), until
one comes that was made after it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from evenflow.errors import MoveRefused
from evenflow.model.ids import NodeId

if TYPE_CHECKING:
    from evenflow.model.messages import NodeReport


class Members:
    """Who is there, and what each of them said last."""

    def __init__(self) -> None:
        self.reports: dict[str, NodeReport] = {}
        """The newest report of every node."""
        self._heard_at: dict[str, float] = {}
        self._outdated: dict[str, int] = {}
        """Number of the report up to which a node's holdings may be out of date."""

    def hear(self, report: NodeReport, now: float) -> None:
        """Take in a report that is news."""
        self.reports[report.node] = report
        self._heard_at[report.node] = now

    def forget(self, node: str) -> bool:
        """A node is gone; whether it was known."""
        self._heard_at.pop(node, None)
        self._outdated.pop(node, None)
        return self.reports.pop(node, None) is not None

    def silent(self, now: float, longer_than: float) -> list[str]:
        """Nodes whose reports have stayed away for too long."""
        return [node for node, heard in self._heard_at.items() if now - heard > longer_than]

    def behind(self, term: int) -> list[str]:
        """Nodes that have not said that they know of a term."""
        return [node for node, report in self.reports.items() if report.seen_term < term]

    def staying(self) -> list[str]:
        """Nodes that do not want to leave."""
        return [node for node, report in self.reports.items() if not report.leaving]

    def distrust(self, node: str) -> None:
        """Wait for newer reports: those so far may be older than what was just agreed."""
        report = self.reports.get(node)
        if report is not None:
            self._outdated[node] = report.number + 1

    def trusts(self, report: NodeReport) -> bool:
        """Whether a report shows what its node holds now."""
        return report.number > self._outdated.get(report.node, 0)

    def find(self, name: str) -> str:
        """The id of a node given by its id or by its name.

        Raises:
            MoveRefused: There is none, or more than one.
        """
        found = [node for node in self.reports if name in (node, name_of(node))]
        if not found:
            known = ", ".join(sorted(map(name_of, self.reports))) or "none"
            raise MoveRefused(f"there is no node {name}; known are: {known}")
        if len(found) > 1:
            raise MoveRefused(f"{name} may be any of {', '.join(sorted(found))}; say which")
        return found[0]


def name_of(node: str) -> str:
    """What an operator calls a node: its id without the part that makes it unique."""
    return NodeId(node).name
