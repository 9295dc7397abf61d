"""A balancer written out by hand: it says what a test tells it to say, and nothing else."""

from __future__ import annotations

from typing import TYPE_CHECKING

from evenflow.domain import channels
from evenflow.model.messages import Beat, MapPage, Order, Step

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from evenflow.domain.cyclone import Participant


class SmallBalancer:
    """Balances the topic ``items`` of so many slices, at most a page of them."""

    def __init__(self, participant: Participant, slice_count: int) -> None:
        self.version = 0
        self._participant = participant
        self._slice_count = slice_count
        self._beats = participant.writer(channels.BEATS)
        self._maps = participant.writer(channels.MAPS)

    def tell(self, owned: Mapping[str, Iterable[int]], term: int = 1) -> None:
        """Publish a new map, after a beat that names its nodes."""
        self.version += 1
        nodes = tuple(owned)
        owners = [0] * self._slice_count
        for number, node in enumerate(nodes, 1):
            for slice_id in owned[node]:
                owners[slice_id] = number
        terms = tuple(term if owner else 0 for owner in owners)
        beat = Beat("items", 1, self.version, nodes, (1,) * len(nodes), (self.version,))
        page = MapPage("items", 0, 1, self.version, self._slice_count, nodes, tuple(owners), terms)
        assert self._beats.write(beat)
        assert self._maps.write(page)

    def take(self, node: str, slices: Iterable[int], term: int) -> None:
        """Order a node to own slices. The map does not tell of it."""
        writer = self._participant.writer(channels.ORDERS, channels.node_partition(node))
        assert writer.write(Order("items", node, term, Step.TAKE, tuple(slices), ""))
