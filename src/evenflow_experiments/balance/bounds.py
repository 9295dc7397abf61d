"""Bounds: how even a placement of these slices on these nodes could be at all.

Finding the most even placement is NP-hard. Two numbers enclose it:

- *from below*: whatever the placement, the ``k`` largest slices lie on at most ``k`` nodes, so
  some node is at least as strained as their sum over the strength of the ``k`` strongest nodes.
  For ``k`` = all slices that is the mean, for ``k = 1`` the largest slice alone on the
  strongest node;
- *from above*: a placement that exists, made from nothing by giving the largest slice first,
  each to the node that is then the least strained (LPT).

Where both agree the optimum is known.
"""

from __future__ import annotations

from heapq import heapify, heapreplace
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping


def least_strain(loads: Iterable[float], strengths: Iterable[float]) -> float:
    """No placement has a smaller highest load per strength than this."""
    largest = sorted(loads, reverse=True)
    strongest = sorted(strengths, reverse=True)
    bound = sum(largest) / sum(strongest)
    some_load = some_strength = 0.0
    for load, strength in zip(largest, strongest, strict=False):
        some_load += load
        some_strength += strength
        bound = max(bound, some_load / some_strength)
    return bound


def strain_from_nothing(loads: Collection[float], strengths: Mapping[str, float]) -> float:
    """The highest load per strength of the placement made by giving the largest slice first."""
    if len(set(strengths.values())) == 1:
        return _equal_from_nothing(loads, strengths)
    placed = dict.fromkeys(strengths, 0.0)
    for load in sorted(loads, reverse=True):
        best = min(placed, key=lambda name: ((placed[name] + load) / strengths[name], name))
        placed[best] += load
    return max(placed[name] / strengths[name] for name in placed)


def _equal_from_nothing(loads: Collection[float], strengths: Mapping[str, float]) -> float:
    heap = [0.0] * len(strengths)
    heapify(heap)
    for load in sorted(loads, reverse=True):
        heapreplace(heap, heap[0] + load)
    return max(heap) / next(iter(strengths.values()))
