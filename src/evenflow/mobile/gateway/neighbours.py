"""The other gateways: who is there, and where nodes go when this one is lost.

The alternatives that nodes are told are those of the newest plan (``mobile.alternatives``), and
where no plan has said so the addresses of all gateways that are heard and take nodes, those with
the fewest nodes first. A gateway that is not heard any more stays in a plan's list (silence is not
death, and a node that finds nobody there tries the next one).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from evenflow.edge.twins import Life, Presence
from evenflow.mobile.gateway.naming import parent_of

if TYPE_CHECKING:
    from evenflow.model.messages import GatewayReport

MOST_ADDRESSES: Final = 64
"""As a frame can carry."""


def presence_of(report: GatewayReport) -> Presence:
    """What a report says about its gateway's process."""
    life = Life(report.since, report.host, report.pid)
    return Presence("gateway", report.gateway, life, report.addresses)


class Neighbours:
    """What is known of the other gateways.

    Args:
        name: This one.
    """

    def __init__(self, name: str) -> None:
        self._name = name
        self._reports: dict[str, GatewayReport] = {}
        self._planned: tuple[str, ...] = ()
        self.started: frozenset[str] = frozenset()
        """Gateways that this one has started and that have not ended well."""
        self.ended: frozenset[str] = frozenset()
        """Those that have."""

    def hear(self, report: GatewayReport) -> bool:
        """Another gateway has said something; return whether it is new, or there again."""
        if report.gateway == self._name:
            return False
        news = report.gateway not in self._reports
        self._reports[report.gateway] = report
        return news

    def lose(self, gateway: str) -> None:
        """A gateway is not heard any more."""
        self._reports.pop(gateway, None)

    def report_of(self, gateway: str) -> GatewayReport | None:
        """What a gateway that is heard said last."""
        return self._reports.get(gateway)

    def is_known(self, gateway: str) -> bool:
        """Whether a gateway is heard."""
        return gateway in self._reports

    def may_answer(self, gateway: str) -> bool:
        """Whether a gateway is heard, or has lived as its parent knows, who can start it again."""
        if gateway in self._reports or gateway in self.started or gateway in self.ended:
            return True
        parent = self._reports.get(parent_of(gateway))
        return parent is not None and gateway in parent.started

    @property
    def lost(self) -> frozenset[str]:
        """Gateways that this one has started, and that are not heard though they have not ended."""
        return self.started - self._reports.keys()

    def plan(self, addresses: tuple[str, ...]) -> None:
        """A plan says what the alternatives are; none: what is heard."""
        self._planned = addresses[:MOST_ADDRESSES]

    @property
    def alternatives(self) -> tuple[str, ...]:
        """Where nodes go when this gateway is lost, best first."""
        if self._planned:
            return self._planned
        open_ones = [one for one in self._reports.values() if not one.draining and one.addresses]
        open_ones.sort(key=lambda one: (one.nodes, one.gateway))
        # The best address of each, then the second of each: a blocked transport is no dead gateway.
        most = max((len(one.addresses) for one in open_ones), default=0)
        found = [
            one.addresses[place]
            for place in range(most)
            for one in open_ones
            if place < len(one.addresses)
        ]
        return tuple(found[:MOST_ADDRESSES])
