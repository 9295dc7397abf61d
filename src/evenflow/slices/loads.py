"""What the balancer knows of loads: each slice's, each node's strength, and what is to be expected.

Nodes report running counts; the difference of two reports of one owner and term is what the slice
cost in between. What follows from it (strengths, outlooks) is learned by :mod:`evenflow.balance`.
A slice keeps its last known load while it changes hands.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from evenflow.balance.outlook import OutlookLearner
from evenflow.balance.strength import StrengthLearner
from evenflow.model.load import LoadWeights, SliceLoad

if TYPE_CHECKING:
    from collections.abc import Iterable

    from evenflow.model.load import Outlook
    from evenflow.model.messages import SliceLoads


class _Counts(NamedTuple):
    node: str
    term: int
    time: float
    items: int
    octets: int
    busy_us: int


class Loads:
    """The measured loads of one topic."""

    def __init__(self, weights: LoadWeights | None = None) -> None:
        self._weights = weights or LoadWeights()
        self._counts: dict[int, _Counts] = {}
        self._loads: dict[int, float] = {}
        self._strengths = StrengthLearner()
        self._outlooks = OutlookLearner()

    def observe(self, report: SliceLoads, now: float) -> None:
        """A node told what its slices have cost."""
        work = busy_s = elapsed = 0.0
        rows = zip(
            report.slices, report.terms, report.items, report.octets, report.busy_us, strict=True
        )
        for slice_id, term, items, octets, busy_us in rows:
            counts = _Counts(report.node, term, now, items, octets, busy_us)
            before = self._counts.get(slice_id)
            if before is not None and before[:2] != counts[:2]:
                before = None
            if before is not None and (items < before.items or busy_us < before.busy_us):
                continue  # an older report that came late
            self._counts[slice_id] = counts
            if before is None or now <= before.time:
                continue
            elapsed = now - before.time
            cost = SliceLoad(
                (items - before.items) / elapsed,
                (octets - before.octets) / elapsed,
                (busy_us - before.busy_us) / 1e6 / elapsed,
            )
            load = self._weights.weigh(cost)
            self._loads[slice_id] = load
            self._outlooks.observe(slice_id, load, now)
            work += load * elapsed
            busy_s += cost.busy * elapsed
        if elapsed:
            self._strengths.observe(report.node, work=work, busy_s=busy_s, elapsed_s=elapsed)

    def of(self, slice_id: int) -> float:
        """The last known load of a slice."""
        return self._loads.get(slice_id, 0.0)

    def outlook(self, slice_id: int) -> Outlook | None:
        """What is to be expected of a slice, when enough was seen."""
        return self._outlooks.outlook(slice_id)

    def capacities(self, nodes: Iterable[str]) -> dict[str, float]:
        """The learned strength of every node."""
        return self._strengths.capacities(nodes)
