"""What is known of gateways and of who is attached where, from the domain.

Of a node the attachment with the largest connection counts, whoever tells it and in whatever order.
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
        self._attached: dict[str, tuple[str, int]] = {}
        """For each node: its gateway, the number of its connection."""
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
        node, gateway = attachment.node, attachment.gateway
        at, connection = self._attached.get(node, ("", -1))
        if attachment.connection < connection:
            return
        if not attachment.attached:
            if at == gateway:
                del self._attached[node]
                self._nodes[at].pop(node, None)
            return
        if at == gateway:
            self._attached[node] = (gateway, attachment.connection)
            return
        if not at and len(self._attached) >= MOST_NODES:
            return
        if at:
            self._nodes[at].pop(node, None)
        self._attached[node] = (gateway, attachment.connection)
        self._nodes.setdefault(gateway, {})[node] = since

    def on_attachment_gone(self, gateway: str, node: str) -> None:
        """Nobody says any more that a node is attached at a gateway."""
        if self._attached.get(node, ("", 0))[0] == gateway:
            del self._attached[node]
            self._nodes[gateway].pop(node, None)

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
