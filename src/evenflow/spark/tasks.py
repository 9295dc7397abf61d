"""How a micro-batch is divided into tasks: a share for each node, or more of them.

A node's share is cut into shares of some of its slices when a query wants more tasks than there are
nodes. What is cut next is what is expected to take longest; a slice is never cut. A batch read with
filters has shares of what they leave.
"""

from __future__ import annotations

import heapq
from dataclasses import replace
from itertools import count
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from evenflow.model.selection import Selection
    from evenflow.slices.consumer.reading import Share


def selected_shares(shares: Iterable[Share], wanted: Selection) -> list[Share]:
    """Shares of what is wanted alone; none of a node that has no such slice."""
    found = []
    for share in shares:
        asked = share.asked
        slices = asked.slices
        if wanted.slices is not None:
            slices = tuple(one for one in slices if one in wanted.slices)
        if slices:
            only = replace(wanted, slices=None)
            found.append(replace(share, asked=replace(asked, slices=slices, only=only)))
    return found


def at_least(
    shares: Iterable[Share], tasks: int, expected: Callable[[Sequence[int]], float]
) -> list[Share]:
    """Cut shares until there are so many, or each is of one slice.

    Args:
        shares: A share for each node.
        tasks: How many there should be at least.
        expected: What slices are expected to cost; of those not known, all alike.
    """
    ties = count()
    found = [(*_order(share, expected), next(ties), share) for share in shares]
    heapq.heapify(found)
    whole: list[Share] = []
    while found and len(found) + len(whole) < tasks:
        share = heapq.heappop(found)[-1]
        if len(share.asked.slices) < 2:
            whole.append(share)
            continue
        for slices in _halves(share.asked.slices, expected):
            half = replace(share, asked=replace(share.asked, slices=slices))
            heapq.heappush(found, (*_order(half, expected), next(ties), half))
    return [*whole, *(one[-1] for one in found)]


def _order(share: Share, expected: Callable[[Sequence[int]], float]) -> tuple[float, int]:
    """The dearest first; of those that cost the same, the one with most slices."""
    return -expected(share.asked.slices), -len(share.asked.slices)


def _halves(
    slices: Sequence[int], expected: Callable[[Sequence[int]], float]
) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Two parts that cost about the same; neither is empty."""
    parts: tuple[list[int], list[int]] = ([], [])
    costs = [0.0, 0.0]
    for slice_id in sorted(slices, key=lambda one: -expected((one,))):
        lighter = min((0, 1), key=lambda part: (costs[part], len(parts[part])))
        parts[lighter].append(slice_id)
        costs[lighter] += expected((slice_id,))
    return tuple(sorted(parts[0])), tuple(sorted(parts[1]))
