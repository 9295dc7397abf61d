"""What is known of gateways and of who is attached where, from the domain.

Of a node the attachment with the largest connection counts, whoever tells it and in whatever order;
when that is over, the next one does (a node that has lost its memory may number from below).
A gateway that is not heard any more takes no part, and what it said of its nodes is gone with it:
it says so again when it is heard again.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from evenflow.mobile.poa.evening import Post

if TYPE_CHECKING:
    from collections.abc import Mapping

    from evenflow.model.messages import Attachment, GatewayReport

MOST_NODES: Final = 1_000_000
"""Attachments that are remembered; those beyond are not planned for."""
MOST_ADDRESSES: Final = 64
"""Addresses in a list of alternatives, as a frame can carry."""


class GatewayView:
    """Gateways and attachments."""

    def __init__(self) -> None:
        self._gateways: dict[str, GatewayReport] = {}
        self._places: dict[str, dict[str, int]] = {}
        """For each node: the gateways that say it is attached there, and its connection."""
        self._attached: dict[str, str] = {}
        """For each node: the gateway of its largest connection."""
        self._nodes: dict[str, dict[str, float]] = {}
        """For each gateway: its nodes, each with when it was attached."""

    @property
    def gateways(self) -> Mapping[str, GatewayReport]:
        """The gateways that are heard."""
        return self._gateways

    @property
    def awaited(self) -> frozenset[str]:
        """Gateways whose word somebody waits for, whether they are heard or not."""
        return frozenset(name for one in self._gateways.values() for name in one.awaits)

    @property
    def forgotten(self) -> frozenset[str]:
        """Gateways that an operator has given up."""
        return frozenset(name for one in self._gateways.values() for name in one.forgotten)

    def on_report(self, report: GatewayReport) -> bool:
        """A gateway told of itself; return whether it is new or offers itself otherwise."""
        before = self._gateways.get(report.gateway)
        self._gateways[report.gateway] = report
        return before is None or (
            (before.addresses, before.draining, before.most_nodes)
            != (report.addresses, report.draining, report.most_nodes)
        )

    def on_gone(self, gateway: str) -> bool:
        """A gateway is not heard any more; return whether it was."""
        return self._gateways.pop(gateway, None) is not None

    def on_attachment(self, attachment: Attachment, since: float) -> None:
        """A node was attached at a gateway, or is not any more.

        Args:
            attachment: What the gateway said.
            since: When that was, on the clock of plans.
        """
        node = attachment.node
        if attachment.attached:
            if node not in self._places and len(self._places) >= MOST_NODES:
                return
            self._places.setdefault(node, {})[attachment.gateway] = attachment.connection
        else:
            self._leave(node, attachment.gateway)
        self._place(node, since)

    def on_attachment_gone(self, gateway: str, node: str, since: float = 0.0) -> None:
        """Nobody says any more that a node is attached at a gateway."""
        self._leave(node, gateway)
        self._place(node, since)

    def _leave(self, node: str, gateway: str) -> None:
        places = self._places.get(node, {})
        places.pop(gateway, None)
        if not places:
            self._places.pop(node, None)

    def _place(self, node: str, since: float) -> None:
        places = self._places.get(node, {})
        at = max(places, key=places.__getitem__, default="")
        before = self._attached.pop(node, "")
        if at:
            self._attached[node] = at
        if at != before:
            if before:
                self._nodes[before].pop(node, None)
            if at:
                self._nodes.setdefault(at, {})[node] = since

    def posts(self, loads: Mapping[str, float] | None = None) -> list[Post]:
        """The gateways as decisions see them.

        Args:
            loads: What each carries; None: as much as it has nodes.
        """
        return [
            Post(
                name,
                self._nodes.get(name, {}),
                report.most_nodes,
                report.draining,
                None if loads is None else loads.get(name, 0.0),
            )
            for name, report in sorted(self._gateways.items())
        ]

    def alternatives(self, gateway: str) -> tuple[str, ...]:
        """Where the nodes of a gateway go when it is lost: the next ones in a circle of names.

        Each gateway has another one in front, so the nodes of several that are lost do not all go
        to the same; and the lists change only when gateways come and go.
        """
        names = sorted(
            name
            for name, report in self._gateways.items()
            if name == gateway or (not report.draining and report.addresses)
        )
        at = names.index(gateway) if gateway in names else 0
        others = [self._gateways[name] for name in names[at + 1 :] + names[:at]]
        most = max((len(one.addresses) for one in others), default=0)
        # The best address of each, then the second of each: a blocked transport is no dead gateway.
        found = [
            one.addresses[place]
            for place in range(most)
            for one in others
            if place < len(one.addresses)
        ]
        return tuple(found[:MOST_ADDRESSES])
