"""How many devices a bridge has on each arc: what it tells of them, and all that planners need."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from evenflow.bridge.ring.identifiers import identifier_of
from evenflow.model.bounds import MOST_ARCS

if TYPE_CHECKING:
    from evenflow.bridge.ring.circle import Circle


class ArcLoad:
    """The devices that a bridge serves.

    Args:
        bits: Of their identifiers.
    """

    def __init__(self, bits: int) -> None:
        self._bits = bits
        self._identifiers: dict[bytes, int] = {}

    def __len__(self) -> int:
        return len(self._identifiers)

    def add(self, guid: bytes) -> None:
        """It serves a device."""
        self._identifiers[guid] = identifier_of(guid, self._bits)

    def remove(self, guid: bytes) -> None:
        """It serves a device no more."""
        self._identifiers.pop(guid, None)

    def on_arcs(self, circle: Circle) -> dict[int, int]:
        """How many devices are on each arc of a circle, by its end; of too many arcs the first."""
        many = len(self._identifiers)
        counts = circle.count(np.fromiter(self._identifiers.values(), np.uint64, many))
        return dict(list(counts.items())[:MOST_ARCS])
