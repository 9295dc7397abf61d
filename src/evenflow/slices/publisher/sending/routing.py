"""Where items go: the owner of each slice, and the order that brings items of one owner together.

A publisher routes by the newest slice map that it knows. Nothing of correctness rests on the map
being current: what goes to a former owner is missing at the new one, which asks for it. That
request proves a newer owner, so the publisher need not wait for the map.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from evenflow.model.slice_map import SliceMap

if TYPE_CHECKING:
    import numpy.typing as npt

    from evenflow.model.batch import Int32s, Int64s
    from evenflow.model.messages import MapPage


class Order(NamedTuple):
    """Slices in the order in which a sample has them: by owner, and by number within one."""

    rank: npt.NDArray[Any]
    """The place of each slice; narrow, because NumPy sorts 16 bits in linear time."""
    slices: Int64s
    """The slice at each place."""
    owners: Int32s
    """The owner at each place: 0 when there is none, else 1 + index of the node."""
    owner_count: int
    """How many there are, at least 1."""


class Routing:
    """The routes of one publisher."""

    def __init__(self, topic: str, slice_count: int) -> None:
        self.map = SliceMap(slice_count)
        self._topic = topic
        self._order: Order | None = None

    def apply(self, page: MapPage) -> bool:
        """Take a page of the slice map in; return whether a route has changed."""
        return page.topic == self._topic and self._changed(self.map.apply(page))

    def learn(self, slices: Int64s, terms: Any, node: str) -> bool:
        """A node has proved that it owns slices under these terms; return whether that is news."""
        return self._changed(self.map.learn(slices, terms, node))

    def _changed(self, slices: Int64s) -> bool:
        if not len(slices):
            return False
        self._order = None
        return True

    def node(self, owner: int) -> str:
        """The node of an owner's number; empty for none."""
        return self.map.nodes[owner - 1] if owner else ""

    @property
    def order(self) -> Order:
        """The order of slices by owner, made anew when an owner has changed."""
        if self._order is None:
            owners = self.map.owner_index
            slices = np.argsort(owners, kind="stable")
            rank = np.empty(len(slices), np.uint16 if len(slices) <= 1 << 16 else np.int64)
            rank[slices] = np.arange(len(slices))
            count = len(np.unique(owners[owners > 0]))
            self._order = Order(rank, slices, owners[slices], max(1, count))
        return self._order
