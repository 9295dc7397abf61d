"""Many numbers in few words: ``0-4, 7, 9-12``."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable


def ranges(numbers: Iterable[int]) -> str:
    """Write numbers, in rising order."""
    parts: list[list[int]] = []
    for number in sorted(numbers):
        if parts and number == parts[-1][1] + 1:
            parts[-1][1] = number
        else:
            parts.append([number, number])
    return ", ".join(f"{a}" if a == b else f"{a}-{b}" for a, b in parts)


def numbers_in(text: str) -> frozenset[int]:
    """The numbers that :func:`ranges` wrote."""
    found: set[int] = set()
    for part in filter(None, text.split(", ")):
        first, _, last = part.partition("-")
        found.update(range(int(first), int(last or first) + 1))
    return frozenset(found)
