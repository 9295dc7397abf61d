"""Who is told that a publisher is gone, as DDS tells it: rightly or not.

A node that does not hear a publisher (it died or stands still, or the path from it is cut) is told
:class:`~evenflow.slices.actions.WriterGone` for each of its writer ids, once each time. That is a
fact about a connection and no more: the publisher may live, and others may hear it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from evenflow.model.ids import WriterId
from evenflow.slices.actions import WriterGone
from evenflow.testing.network import Network, Parcel

if TYPE_CHECKING:
    from collections.abc import Iterable

    from evenflow.testing.publishers import SimPublishers


class Liveliness:
    """What nodes are told of publishers.

    Args:
        network: Says which paths are cut and who stands still.
        publishers: Those that live.
    """

    def __init__(self, network: Network, publishers: SimPublishers) -> None:
        self._network, self._publishers = network, publishers
        self._lost: set[tuple[str, str]] = set()
        """Writer ids, and the nodes that were told so."""

    def look(self, nodes: Iterable[str]) -> None:
        """Tell nodes of the publishers that they do not hear any more."""
        network, publishers = self._network, self._publishers
        lost = set()
        for writer, publisher in publishers.writers():
            silent = publisher not in publishers or publisher in network.stopped
            for node in nodes:
                if silent or (publisher, node) in network.cuts:
                    lost.add((writer, node))
        for writer, node in sorted(lost - self._lost):
            gone = WriterGone(WriterId.parse(writer))
            network.post(Parcel(node, gone, certain=True))
        self._lost = lost
