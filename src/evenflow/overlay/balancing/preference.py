"""Coordinate loads, and which of two coordinates is better (sections IV-C.3 and IV-D, eq. 5-10).

A coordinate is judged by the loads of the nodes a topic there would burden, before the topic is
counted. It is better when the most loaded of them is less loaded; when that is equal, when the
least loaded is; and when that is equal too, when its third node has more room that other failures
have paid for already.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeVar

from evenflow.overlay.balancing.loads import Level

if TYPE_CHECKING:
    from collections.abc import Iterable

    from evenflow.overlay.balancing.loads import NodeLoads

N = TypeVar("N", int, str)


@dataclass(frozen=True, slots=True)
class CoordinateLoad:
    """What a node answers when it is asked about a coordinate."""

    maximum: float
    """L_max: load of the most loaded node the coordinate touches."""
    minimum: float
    """L_min: load of the least loaded one."""
    spare: float = 0.0
    """Room on the third node that its worst failure leaves to this coordinate's; level 3 only."""

    def better_than(self, other: CoordinateLoad) -> bool:
        """Say whether this coordinate is strictly better."""
        mine = (self.maximum, self.minimum, -self.spare)
        return mine < (other.maximum, other.minimum, -other.spare)


def coordinate_load(loads: NodeLoads[N], spot: tuple[N, ...], level: Level) -> CoordinateLoad:
    """Return the load of every coordinate that lies on ``spot``: eq. 5-7, 9 and 10."""
    if level == Level.ONE:
        primary = loads.load(spot[0], level)
        return CoordinateLoad(primary, primary)
    touched = [loads.load(node, level) for node in spot[:2]]
    if level == Level.TWO or len(spot) < Level.THREE:
        return CoordinateLoad(max(touched), min(touched))
    third = spot[2]
    # Eq. 8: only the failure of this coordinate's own first or second node brings a topic there.
    failure = max(loads.additional_if_failed(third, failed) for failed in spot[:2])
    touched.append(loads.stored(third) + failure)
    spare = loads.load(third, level) - touched[2]
    return CoordinateLoad(max(touched), min(touched), spare)


def best_spot(
    loads: NodeLoads[N],
    level: Level,
    current: tuple[N, ...],
    candidates: Iterable[tuple[N, ...]],
) -> tuple[N, ...]:
    """Return the best of the candidates when it is better than ``current``, else ``current``.

    Of equals the first stays, so the order of the candidates breaks ties.
    """
    best, best_load = current, coordinate_load(loads, current, level)
    for spot in candidates:
        load = coordinate_load(loads, spot, level)
        if load.better_than(best_load):
            best, best_load = spot, load
    return best
