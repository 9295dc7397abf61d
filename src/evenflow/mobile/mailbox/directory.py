"""Who the mobile nodes are, and where: what gateways say of attachments.

Of a node the connection with the largest number counts. A gateway that says a node has left, or
that is gone together with its word, does not count for it any more. A node that is attached nowhere
is remembered for a while: what is sent to a group or to all is for it too.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from evenflow.domain.channels import is_node
from evenflow.mobile.mailbox.letters import MobileNode
from evenflow.mobile.mailbox.settings import MOST_NODES

if TYPE_CHECKING:
    from collections.abc import Iterator

    from evenflow.model.messages import Attachment


class Directory:
    """All mobile nodes that a mailbox knows of."""

    def __init__(self, remember_s: float) -> None:
        self._remember_s = remember_s
        self._nodes: dict[str, MobileNode] = {}
        self.not_noted = 0
        """Times that somebody was not noted: there are too many, or no node can be called so."""

    def __len__(self) -> int:
        return len(self._nodes)

    def __iter__(self) -> Iterator[MobileNode]:
        return iter(self._nodes.values())

    def find(self, name: str) -> MobileNode | None:
        """The node of this name, if it is known."""
        return self._nodes.get(name)

    def note(self, name: str) -> MobileNode | None:
        """The node of this name, known from now on; None: it is not noted."""
        node = self._nodes.get(name)
        if node is None:
            if len(self._nodes) >= MOST_NODES or not is_node(name):
                self.not_noted += 1
                return None
            node = self._nodes[name] = MobileNode(name)
        return node

    def is_around(self, node: MobileNode, wall: float) -> bool:
        """Whether a node is attached, or was not long ago."""
        return bool(node.places) or (node.seen > 0 and wall - node.seen <= self._remember_s)

    def attach(self, node: MobileNode, said: Attachment, wall: float) -> str:
        """Take in what a gateway says of a node; return where that leaves it."""
        if said.attached:
            node.places[said.gateway] = said.connection
        else:
            node.places.pop(said.gateway, None)
        node.seen = wall
        return self._place_of(node)

    def detach(self, node: MobileNode, gateway: str, wall: float) -> str:
        """A gateway's word on a node is gone; return where that leaves it."""
        if node.places.pop(gateway, None) is not None:
            node.seen = wall
        return self._place_of(node)

    def forget_long_gone(self, wall: float) -> list[str]:
        """Forget those who are away for long and for whom nothing waits."""
        gone = [
            node.name
            for node in self._nodes.values()
            if not (node.queue or node.staged or self.is_around(node, wall))
        ]
        for name in gone:
            del self._nodes[name]
        return gone

    @staticmethod
    def _place_of(node: MobileNode) -> str:
        return max(node.places, key=node.places.__getitem__, default="")
