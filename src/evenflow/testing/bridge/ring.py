"""A ring as one bridge sees it: members are those it has heard lately."""

from __future__ import annotations

from hashlib import blake2b
from typing import Final

HEARD_S: Final = 1.0
"""Who is not heard for so long is not a member."""


def _point(data: bytes) -> int:
    return int.from_bytes(blake2b(data, digest_size=8).digest())


class SeenRing:
    """The plain ring of the paper, over those who are heard."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._heard: dict[str, float] = {}
        self.members: tuple[str, ...] = (name,)
        self._ever = False

    @property
    def is_isolated(self) -> bool:
        """Whether nobody is heard, although somebody was."""
        return self._ever and len(self.members) == 1

    def hear(self, name: str, now: float) -> None:
        """Another bridge is there."""
        self._heard[name] = now
        self._ever = True

    def look(self, now: float) -> bool:
        """Look who is there now; return whether that has changed."""
        there = [name for name, heard in self._heard.items() if now - heard < HEARD_S]
        members = tuple(sorted((*there, self._name)))
        changed, self.members = members != self.members, members
        return changed

    def owner(self, guid: bytes) -> str:
        """The successor of a device."""
        point = _point(guid)
        circle = sorted((_point(name.encode()), name) for name in self.members)
        return next((name for place, name in circle if place >= point), circle[0][1])
