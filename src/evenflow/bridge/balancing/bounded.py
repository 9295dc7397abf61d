"""Which arcs go from whom to whom, so that no bridge is far above the mean and few devices move.

The *bound* is ``factor`` times the mean load of a bridge; where devices are counted, at least the
mean rounded up to a whole device, below which nobody can get. A bridge above the bound gives arcs
to whoever carries the least, one after the other, until it is not above it any more: the heaviest
that is not more than it has to give; if all are, the lightest. A bridge below the bound gives
nothing, so what moves is hardly more than what was above the bound.

**What holds in the end.** No bridge is above the bound; but for one whose arcs are too heavy for
the room that others have. Such a bridge gives an arc as long as the taker then carries less than
the giver did. So a bridge above the bound is above the mean by no more than its lightest arc that
has devices. Arcs are given whole: where bridges have one point each (the plain ring) there is
little to give.
"""

from __future__ import annotations

import heapq
from bisect import bisect_right, insort
from dataclasses import dataclass, field
from math import ceil, floor
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Mapping

TOLERANCE: Final = 1e-9
"""Of what is calculated, as a part of the mean."""
_LAST: Final = 1 << 64
"""Beyond the end of every arc."""


@dataclass(frozen=True, slots=True)
class Gift:
    """An arc that goes from one bridge to another."""

    arc: int
    giver: str
    taker: str
    load: float


@dataclass(slots=True)
class _Side:
    """A bridge while arcs are being given in thought."""

    name: str
    load: float
    arcs: list[tuple[float, int]] = field(default_factory=list)
    """Loads and ends of its arcs that carry something, the lightest first."""


def bound_of(loads: Mapping[str, float], factor: float, unit: float = 0.0) -> float:
    """What a bridge may carry.

    Args:
        loads: What each carries.
        factor: How far above the mean it may be.
        unit: What one device counts for, where all count alike; else 0.
    """
    mean = sum(loads.values()) / len(loads) if loads else 0.0
    if not unit:
        return factor * mean
    most, least = factor * mean / unit + TOLERANCE, mean / unit - TOLERANCE
    return max(floor(most), ceil(least)) * unit


def gifts(arcs: Mapping[str, Mapping[int, float]], factor: float, unit: float = 0.0) -> list[Gift]:
    """Which arcs go where; nothing when no bridge is above the bound, or none can be helped.

    Args:
        arcs: For each bridge its arcs, by their ends, with what they carry.
        factor: How far above the mean a bridge may be.
        unit: As for `bound_of`.
    """
    sides = {
        name: _Side(name, sum(own.values()), sorted((one, end) for end, one in own.items() if one))
        for name, own in arcs.items()
    }
    loads = {side.name: side.load for side in sides.values()}
    bound = bound_of(loads, factor, unit)
    slack = TOLERANCE * (sum(loads.values()) / len(loads) if loads else 0.0)
    before = {end: name for name, own in arcs.items() for end in own}
    after = _give(sides, bound + slack)
    return [
        Gift(end, before[end], taker, arcs[before[end]][end])
        for end, taker in sorted(after.items())
        if taker != before[end]
    ]


def _give(sides: Mapping[str, _Side], bound: float) -> dict[int, str]:
    """Give arcs in thought, as long as it helps; return the takers of those that were given."""
    after: dict[int, str] = {}
    high = [(-side.load, side.name) for side in sides.values() if side.load > bound]
    low = [(side.load, side.name) for side in sides.values()]
    heapq.heapify(high)
    heapq.heapify(low)
    while high:
        load, name = heapq.heappop(high)
        giver = sides[name]
        if -load != giver.load:
            continue  # it has given or taken since, and stands here again if it has to
        taker = _lightest(low, sides)
        chosen = _choose(giver, taker, bound)
        if chosen is None:
            continue  # nobody can help it
        carried, end = chosen
        giver.arcs.remove(chosen)
        insort(taker.arcs, chosen)
        giver.load, taker.load = giver.load - carried, taker.load + carried
        after[end] = taker.name
        for side in (giver, taker):
            heapq.heappush(low, (side.load, side.name))
            if side.load > bound:
                heapq.heappush(high, (-side.load, side.name))
    return after


def _lightest(low: list[tuple[float, str]], sides: Mapping[str, _Side]) -> _Side:
    """Who carries the least; what is out of date is left out."""
    while low[0][0] != sides[low[0][1]].load:
        heapq.heappop(low)
    return sides[low[0][1]]


def _choose(giver: _Side, taker: _Side, bound: float) -> tuple[float, int] | None:
    """The arc to give next; None when none would make the two more even."""
    fitting = bisect_right(giver.arcs, (bound - taker.load, _LAST))
    if fitting:
        enough = bisect_right(giver.arcs, (giver.load - bound, _LAST))
        return giver.arcs[max(min(enough, fitting) - 1, 0)]
    lightest = giver.arcs[0] if giver.arcs else None
    helps = lightest is not None and taker.load + lightest[0] < giver.load
    return lightest if helps else None
