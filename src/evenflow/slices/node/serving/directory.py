"""Who serves which slice, and where: the answer to a reader that has lost its way."""

from __future__ import annotations

from typing import TYPE_CHECKING

from evenflow.model.messages import Progress, SliceMap

if TYPE_CHECKING:
    from collections.abc import Iterable


class Directory:
    """The owners of a topic's slices and their addresses."""

    def __init__(self) -> None:
        self._map: SliceMap | None = None
        self._addresses: dict[str, str] = {}

    def handle(self, message: SliceMap | Progress) -> None:
        """Take in a map or a node's progress."""
        if isinstance(message, Progress):
            self._addresses[message.node] = message.address
        elif self._map is None or message.version >= self._map.version:
            self._map = message

    def on_node_gone(self, node: str) -> None:
        """A node is no longer there."""
        self._addresses.pop(node, None)

    def addresses(self) -> list[str]:
        """Where anybody serves this topic."""
        return sorted(filter(None, self._addresses.values()))

    def owners(self, slices: Iterable[int]) -> dict[str, list[int]]:
        """Slices by the address of their owner; those without one are left out."""
        found: dict[str, list[int]] = {}
        slice_map = self._map
        if slice_map is None:
            return found
        names = ("", *slice_map.nodes)
        for slice_id in slices:
            if slice_id < len(slice_map.owners):
                address = self._addresses.get(names[slice_map.owners[slice_id]], "")
                if address:
                    found.setdefault(address, []).append(slice_id)
        return found
