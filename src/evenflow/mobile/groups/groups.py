"""Groups of mobile nodes, kept current.

A node is looked at when something of it changes, and only by the groups that ask for what has
changed: an expression when its attributes do, a region when it has moved. Nodes that moved are
looked at together. Who asks for the members finds them ready.

A node of which nothing is known that a group asks for is not in it: without an attribute that the
expression needs, or without a position.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from evenflow.errors import UnknownName

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from evenflow.mobile.groups.definition import Definition

Attribute = str | float | bool
Place = tuple[float, float]


class _Group:
    """A group with its members."""

    __slots__ = ("definition", "described", "members", "placed")

    def __init__(self, definition: Definition) -> None:
        self.definition = definition
        self.described: set[str] = set()
        """Nodes that the expression holds for."""
        self.placed: set[str] = set()
        """Nodes inside the region."""
        self.members: set[str] = set(definition.members)

    def settle(self, node: str) -> None:
        """A node may have come in or gone out."""
        one = self.definition
        if (one.expression is None or node in self.described) and (
            one.region is None or node in self.placed
        ):
            self.members.add(node)
        else:
            self.members.discard(node)


class Groups:
    """All groups, and what they have to know of the nodes."""

    def __init__(self, definitions: Iterable[Definition] = ()) -> None:
        self._groups = {one.name: _Group(one) for one in definitions}
        self._by_attributes = [
            group for group in self._groups.values() if group.definition.expression is not None
        ]
        self._by_region = [
            group for group in self._groups.values() if group.definition.region is not None
        ]
        self._attributes: dict[str, str] = {}
        self.places: dict[str, Place] = {}
        """Where each node is."""
        self.malformed = 0
        """Attributes that were no JSON object of texts, numbers and truth values."""

    @property
    def definitions(self) -> tuple[Definition, ...]:
        """All groups."""
        return tuple(group.definition for group in self._groups.values())

    def members(self, name: str) -> set[str]:
        """The nodes of a group now, not to be changed; `UnknownName` when there is none of it."""
        group = self._groups.get(name)
        if group is None:
            raise UnknownName("group", name, self._groups)
        return group.members

    def attributes(self, node: str) -> str:
        """The attributes of a node, as JSON."""
        return self._attributes.get(node, "{}")

    def describe(self, node: str, attributes: str) -> bool:
        """Take in the attributes of a node, a JSON object; return whether they have changed."""
        if self._attributes.get(node) == attributes:
            return False
        self._attributes[node] = attributes
        if self._by_attributes:
            values = self._read(attributes)
            for group in self._by_attributes:
                expression = group.definition.expression
                assert expression is not None
                if expression.holds(node, values):
                    group.described.add(node)
                else:
                    group.described.discard(node)
                group.settle(node)
        return True

    def move(
        self, nodes: Sequence[str], latitudes: Sequence[float], longitudes: Sequence[float]
    ) -> None:
        """Take in where nodes are; of a node that is named twice the last place counts."""
        latest = dict(zip(nodes, zip(latitudes, longitudes, strict=True), strict=True))
        self.places.update(latest)
        if len(latest) < len(nodes):
            nodes = list(latest)
            latitudes, longitudes = zip(*latest.values(), strict=True)
        for group in self._by_region:
            region = group.definition.region
            assert region is not None
            inside = {
                nodes[at] for at in region.inside(latitudes, longitudes).nonzero()[0].tolist()
            }
            come = inside - group.placed
            gone = (group.placed & set(nodes)) - inside
            group.placed |= come
            group.placed -= gone
            for node in (*come, *gone):
                group.settle(node)

    def forget(self, node: str) -> None:
        """Nothing is known of a node any more."""
        self._attributes.pop(node, None)
        self.places.pop(node, None)
        for group in (*self._by_attributes, *self._by_region):
            group.described.discard(node)
            group.placed.discard(node)
            group.settle(node)

    def _read(self, attributes: str) -> dict[str, Attribute]:
        try:
            found = json.loads(attributes)
        except ValueError:
            found = None
        if not isinstance(found, dict) or not all(
            isinstance(value, str | int | float) for value in found.values()
        ):
            self.malformed += 1
            return {}
        # Whole numbers too are numbers with a point: expressions have one kind.
        return {
            name: float(value) if type(value) is int else value for name, value in found.items()
        }
