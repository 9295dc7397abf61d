"""What became of the items of a run in which a process was killed."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping


def figures(
    published: int, arrived: Mapping[int, float], repeated: int, slices: int
) -> dict[str, Any]:
    """Return how long nothing came out, and how many items were lost, repeated or overtaken.

    Args:
        published: How many items there were, numbered from 1.
        arrived: When each came out first, in the order in which they came.
        repeated: How many results came again.
        slices: Into how many slices the numbers are cut, by their remainder.
    """
    return {
        "published": published,
        "gap_s": round(longest_gap(arrived.values()), 3),
        "lost": published - len(arrived),
        "repeated": repeated,
        "overtaken": overtaken(arrived, slices),
    }


def longest_gap(times: Iterable[float]) -> float:
    """The longest time between two results that follow one another."""
    return max((later - earlier for earlier, later in pairwise(sorted(times))), default=0.0)


def overtaken(order: Iterable[int], slices: int) -> int:
    """How many items came after a later one of their slice."""
    newest = [0] * slices
    late = 0
    for number in order:
        place = number % slices
        late += number < newest[place]
        newest[place] = max(number, newest[place])
    return late
