"""What slices cost in Spark, learned from the run times of tasks; pure.

A task reads the items of many slices and Spark knows how long it ran. The learner takes such pairs,
batch after batch, and divides the time over the slices. It expects of a task

    overhead + sum over its slices of  factor * (items * per_item + octets * per_octet)

* *overhead, per_item, per_octet* are the same for all slices: least squares over the tasks of the
  last minutes, none below zero. What tasks can do without is left out: when all items are of one
  size, bytes explain nothing that items do not.
* *factor* says how much dearer than usual the items of a slice are. A task that took longer than
  was expected of it makes its slices dearer, in the proportion in which they were expected to take
  part; those that share tasks with ever different others show which of them it was, because
  balancing moves them about. A factor with no evidence for it fades to 1, so the noise of one
  machine is not taken for a property of slices.

Robust: one task counts for at most :data:`SURPRISE` times what was expected of it, and nothing is
said before enough was seen; the first batches, in which Spark compiles, are not counted at all.

The load of a slice is its cost times what is read of it, over the last few batches. A batch reaches
equally far in all slices, so slices can be compared, however late the query is and in whatever
bursts nodes receive.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations
from math import exp
from typing import TYPE_CHECKING, Any, Final

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    Vector = np.ndarray[Any, np.dtype[np.float64]]

SURPRISE: Final = 2.0
"""A run time counts for at most this many times the expected, and for no less than its part."""
FOLLOW: Final = 0.1
"""How much of a surprise goes into the factors at once."""
RECENT: Final = 0.8
"""How much the batch before counts in the rates of slices, beside the newest."""
FADE: Final = 0.01
"""How much of a factor's distance from 1 is forgotten at each look."""
DEAREST: Final = 100.0
"""Bound of the factors, up and down."""
WORTH: Final = 0.0002
"""A further term of the model must explain at least this part of all there is to explain."""
LEAST: Final = 0.01
"""Less than this part of an item is none."""
SHORTEST_S: Final = 0.001
"""Spark counts in milliseconds."""
TERMS: Final = 3
"""Overhead, items, bytes."""


@dataclass(frozen=True, slots=True)
class TaskRun:
    """One task that has ended."""

    seconds: float
    """How long it ran."""
    reads: Mapping[int, tuple[int, int]]
    """For each slice: items and bytes that it read."""


@dataclass(frozen=True, slots=True)
class Cost:
    """Seconds of work for each item and each byte."""

    item: float
    octet: float

    def of(self, items: float, octets: float) -> float:
        """Seconds for a number of items and bytes."""
        return self.item * items + self.octet * octets


class CostLearner:
    """Learns what the slices of one topic cost in one query.

    Args:
        memory_s: After this many seconds an observation counts for about a third.
        ignored: Looks at the start that are not counted: Spark compiles.
        enough: Looks after which costs are told.
    """

    def __init__(self, *, memory_s: float = 120.0, ignored: int = 2, enough: int = 3) -> None:
        self._memory_s = memory_s
        self._ignored = ignored
        self._enough = enough
        self._looks = 0
        self._seen_at = 0.0
        self._squares = np.zeros((TERMS, TERMS))
        self._products = np.zeros(TERMS)
        self._count = 0.0
        self._model: Vector = np.zeros(TERMS)
        self._factors: dict[int, float] = {}
        self._flow: dict[int, tuple[float, float]] = {}
        """Items and bytes of each slice in the last batches, fading."""
        self._span = self._flow_at = 0.0
        """Seconds in which they were read, fading alike."""

    @property
    def ready(self) -> bool:
        """Whether enough was seen to tell costs."""
        return self._looks >= self._ignored + self._enough and bool(self._model[1:].any())

    @property
    def overhead(self) -> float:
        """Seconds that a task takes without any item."""
        return float(self._model[0])

    @property
    def usual(self) -> Cost:
        """The cost in a slice that nothing is known of."""
        return Cost(float(self._model[1]), float(self._model[2]))

    def cost(self, slice_id: int) -> Cost:
        """The cost in one slice."""
        factor, usual = self._factors.get(slice_id, 1.0), self.usual
        return Cost(factor * usual.item, factor * usual.octet)

    def costs(self) -> dict[int, Cost]:
        """The cost in every slice that was read."""
        return {slice_id: self.cost(slice_id) for slice_id in sorted(self._factors)}

    def observe(self, tasks: Iterable[TaskRun], now: float) -> None:
        """The tasks of a batch have ended."""
        useful = [task for task in tasks if task.reads and task.seconds > 0]
        if not useful:
            return
        self._count_flow(useful, now)
        self._looks += 1
        if self._looks <= self._ignored:
            return
        self._fit(useful, now)
        self._learn_factors(useful)

    def divided(self, task: TaskRun) -> dict[int, float]:
        """The task's time, less the overhead, divided over its slices; their sum is that time."""
        expected = {s: self.cost(s).of(*read) for s, read in task.reads.items()}
        total = sum(expected.values())
        if total <= 0:
            # Nothing is known: every item and byte is like every other.
            expected = {s: float(items + octets) for s, (items, octets) in task.reads.items()}
            total = sum(expected.values())
        rest = max(0.0, task.seconds - self.overhead)
        return {s: rest * part / total if total else 0.0 for s, part in expected.items()}

    def work(self) -> dict[int, float]:
        """Seconds of work that each slice asks for in each second."""
        if self._span <= 0:
            return {}
        return {s: self.cost(s).of(*read) / self._span for s, read in sorted(self._flow.items())}

    def expected(self, slices: Sequence[int]) -> float:
        """What slices may cost in the next batch; to be compared with others at one moment only."""
        recent = ((s, self._flow.get(s, (0.0, 0.0))) for s in slices)
        if not self.ready:
            return sum(items for _, (items, _) in recent)
        return sum(self.cost(s).of(*read) for s, read in recent)

    # -- inside -----------------------------------------------------------------------------------

    def _count_flow(self, tasks: list[TaskRun], now: float) -> None:
        if self._looks:
            self._span = RECENT * self._span + max(0.0, now - self._flow_at)
        self._flow_at = now
        flow = {s: (RECENT * i, RECENT * o) for s, (i, o) in self._flow.items() if i > LEAST}
        for task in tasks:
            for slice_id, (items, octets) in task.reads.items():
                before = flow.get(slice_id, (0.0, 0.0))
                flow[slice_id] = (before[0] + items, before[1] + octets)
        self._flow = flow

    def _row(self, task: TaskRun) -> Vector:
        """What a task read, in units of usual items and bytes."""
        all_items = all_octets = 0.0
        for slice_id, (items, octets) in task.reads.items():
            factor = self._factors.get(slice_id, 1.0)
            all_items += factor * items
            all_octets += factor * octets
        return np.array([1.0, all_items, all_octets])

    def _fit(self, tasks: list[TaskRun], now: float) -> None:
        known = self.ready
        fade = exp(-max(0.0, now - self._seen_at) / self._memory_s)
        self._seen_at = max(now, self._seen_at)
        self._squares *= fade
        self._products *= fade
        self._count = self._count * fade + len(tasks)
        for task in tasks:
            row = self._row(task)
            seconds = task.seconds
            if known:
                expected = float(row @ self._model)
                seconds = min(max(seconds, expected / SURPRISE), expected * SURPRISE)
            # Relative errors count, so that short tasks teach the overhead.
            row /= max(seconds, SHORTEST_S)
            self._squares += np.outer(row, row)
            self._products += row
        self._model = fitted(self._squares, self._products, self._count)

    def _learn_factors(self, tasks: list[TaskRun]) -> None:
        surprise: dict[int, float] = {}
        weight: dict[int, float] = {}
        usual = self.usual
        for task in tasks:
            expected = float(self._row(task) @ self._model)
            if expected <= 0:
                continue
            ratio = min(max(task.seconds / expected, 1 / SURPRISE), SURPRISE)
            for slice_id, read in task.reads.items():
                part = usual.of(*read)
                surprise[slice_id] = surprise.get(slice_id, 0.0) + ratio * part
                weight[slice_id] = weight.get(slice_id, 0.0) + part
        for slice_id, part in weight.items():
            if part > 0:
                factor = self._factors.get(slice_id, 1.0)
                factor *= (surprise[slice_id] / part) ** FOLLOW
                factor **= 1 - FADE
                self._factors[slice_id] = min(max(factor, 1 / DEAREST), DEAREST)


def fitted(squares: Vector, products: Vector, count: float) -> Vector:
    """Least squares with no coefficient below zero, from the sums of squares and products.

    Three unknowns: every choice of them is tried, small ones first, and a larger one is taken only
    when it explains something worth it.

    Args:
        squares: Sum of the outer products of the rows.
        products: Sum of the rows, each of which should give 1.
        count: Number of rows.
    """
    best: Vector = np.zeros(TERMS)
    gain = 0.0
    for size in (1, 2, 3):
        for chosen in combinations((1, 2, 0), size):
            found, explains = _explained(squares, products, chosen)
            if found.min() >= 0 and explains > gain + WORTH * count:
                best, gain = found, explains
    return best


def _explained(squares: Vector, products: Vector, chosen: tuple[int, ...]) -> tuple[Vector, float]:
    """The coefficients of some terms, the others 0, and how much of the squares they explain."""
    index = np.array(chosen)
    scale = np.sqrt(squares[index, index])
    found = np.zeros(TERMS)
    if not scale.all():
        return found, 0.0
    normal = squares[np.ix_(index, index)] / np.outer(scale, scale)
    found[index] = np.linalg.lstsq(normal, products[index] / scale, rcond=1e-9)[0] / scale
    return found, float(2 * found @ products - found @ squares @ found)
