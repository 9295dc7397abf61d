"""Who serves which slice, and where: the answer to a reader that has lost its way."""

from __future__ import annotations

from typing import TYPE_CHECKING

from evenflow.model.messages import MapPage, Progress
from evenflow.model.slice_map import SliceMap

if TYPE_CHECKING:
    from collections.abc import Iterable


class Directory:
    """The owners of a topic's slices and their addresses."""

    def __init__(self) -> None:
        self._map = SliceMap()
        self._addresses: dict[str, str] = {}

    def handle(self, message: MapPage | Progress) -> None:
        """Take in a page of the map or a node's progress."""
        if isinstance(message, Progress):
            self._addresses[message.node] = message.address
        else:
            self._map.apply(message)

    def on_node_gone(self, node: str) -> None:
        """A node is no longer there."""
        self._addresses.pop(node, None)

    def addresses(self) -> list[str]:
        """Where anybody serves this topic."""
        return sorted(filter(None, self._addresses.values()))

    def owners(self, slices: Iterable[int]) -> dict[str, list[int]]:
        """Slices by the address of their owner; those without one are left out."""
        found: dict[str, list[int]] = {}
        for node, owned in self._map.owners_of(slices).items():
            address = self._addresses.get(node, "")
            if address:
                found.setdefault(address, []).extend(owned)
        return found
