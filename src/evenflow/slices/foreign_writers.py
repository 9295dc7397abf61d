"""Writers that send items and say nothing else: they do not speak the protocol.

A publisher says hello when it begins, closes epochs, and answers who asks where its numbers start.
A program that only writes samples into the topic does none of that, and its items wait at the nodes
for an answer that never comes. They cannot be processed: nobody knows where they start, and nobody
could commit them. So they are counted, and told.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

PATIENCE_S: Final = 5.0
"""A writer that has said nothing but items for so long is foreign."""


@dataclass(slots=True)
class _Silent:
    since: float
    items: int = 0
    told: bool = False


class ForeignWriters:
    """What one node knows of writers of which it has heard items alone."""

    def __init__(self) -> None:
        self._spoken: set[int] = set()
        self._silent: dict[int, _Silent] = {}

    def on_items(self, writer: int, count: int, now: float) -> None:
        """Items came."""
        if writer not in self._spoken:
            self._silent.setdefault(writer, _Silent(now)).items += count

    def on_word(self, writer: int) -> None:
        """A writer said something: it speaks the protocol."""
        self._spoken.add(writer)
        self._silent.pop(writer, None)

    def forget(self, writer: int) -> None:
        """A writer has ended."""
        self._spoken.discard(writer)
        self._silent.pop(writer, None)

    def counts(self, now: float) -> tuple[int, int]:
        """How many foreign writers there are, and how many items came of them."""
        found = [one for one in self._silent.values() if now - one.since >= PATIENCE_S]
        return len(found), sum(one.items for one in found)

    def news(self, now: float) -> list[int]:
        """Foreign writers that were not told of before."""
        if not self._silent:
            return []
        found = []
        for writer, one in self._silent.items():
            if not one.told and now - one.since >= PATIENCE_S:
                one.told = True
                found.append(writer)
        return found
