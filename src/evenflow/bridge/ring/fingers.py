"""Chord's full finger table, and lookups by it; for comparison (C-DDSB, section 2.2 and Table 1).

``finger[k]`` of a node is the first node that succeeds ``(n + 2 ** (k - 1)) mod 2 ** m``; the first
finger is its successor. A node that is asked for a key which its successor does not own passes the
question to the closest of its fingers before the key. So it takes about half of ``log2`` of the
nodes many hops, where no node knows all others.

Bridges do without (section 3.3): discovery tells every bridge of every other, so a lookup takes no
hop, and a bridge keeps two names in the place of ``m``. The experiment says what that is worth.
"""

from __future__ import annotations

from bisect import bisect_left
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable


class FingerRing:
    """Nodes with their finger tables.

    Args:
        nodes: Their identifiers.
        bits: The circle has 2 ** ``bits`` identifiers.
    """

    def __init__(self, nodes: Iterable[int], bits: int) -> None:
        self.nodes = sorted(set(nodes))
        self._bits = bits
        self._size = 1 << bits
        self.fingers = {node: self._fingers(node) for node in self.nodes}
        """For each node: its fingers, the first is its successor."""

    def _fingers(self, node: int) -> tuple[int, ...]:
        return tuple(self.successor((node + (1 << k)) % self._size) for k in range(self._bits))

    def successor(self, identifier: int) -> int:
        """The first node at or after an identifier."""
        at = bisect_left(self.nodes, identifier)
        return self.nodes[at % len(self.nodes)]

    def lookup(self, start: int, key: int) -> list[int]:
        """The nodes that are asked for a key, from who begins to who owns it."""
        path = [start]
        if key == start:  # its own
            return path
        while not self._between(path[-1], key, self.fingers[path[-1]][0]):
            path.append(self._closest(path[-1], key))
        return [*path, self.fingers[path[-1]][0]]

    def _closest(self, node: int, key: int) -> int:
        """The finger that comes last before a key."""
        before = [
            finger
            for finger in self.fingers[node]
            if finger != node and (finger - node) % self._size < (key - node) % self._size
        ]
        return max(before, key=lambda finger: (finger - node) % self._size)

    def _between(self, node: int, key: int, after: int) -> bool:
        """Whether a key is after a node and not after another one; all are if they are one."""
        reach = (after - node) % self._size or self._size
        return 0 < ((key - node) % self._size or self._size) <= reach
