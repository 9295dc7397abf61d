"""Balance: which slices should be where.

Pure algorithms behind one interface (:class:`~evenflow.balance.base.Algorithm`). Each looks at a
load snapshot and returns a plan; none of them sends anything. Others may offer their own through
the entry point group ``evenflow.balance``: the entry point is called with the operator's settings
as keywords and returns an algorithm.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from evenflow.balance.base import Algorithm
from evenflow.balance.capacity import Capacity
from evenflow.balance.count import Count, assign_unowned
from evenflow.balance.forecast import Forecast
from evenflow.balance.saver import Saver
from evenflow.balance.weighted import Weighted
from evenflow.config.called import call_with
from evenflow.registry import Registry

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["ALGORITHMS", "Algorithm", "algorithm_named", "assign_unowned"]

_OURS: dict[str, Callable[..., Algorithm]] = {
    "count": Count,
    "weighted": Weighted,
    "capacity": Capacity,
    "saver": Saver,
    "forecast": Forecast,
}

ALGORITHMS: Registry[Callable[..., Algorithm]] = Registry(
    "balancing algorithm", _OURS, group="evenflow.balance"
)


def algorithm_named(name: str, **settings: float) -> Algorithm:
    """The algorithm called ``name`` with the operator's settings.

    Raises:
        UnknownName: No algorithm has this name.
        ConfigError: The algorithm has no such setting, or refuses its value.
    """
    return call_with(ALGORITHMS.get(name), settings, f"balance.{name}")
