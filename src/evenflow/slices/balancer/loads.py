"""What the balancer knows of loads: each slice's, each node's strength, and what is to be expected.

Nodes report running counts; the difference of two reports of one owner and term is what the slice
cost in between. Its load is what arrived, at that cost: an overloaded node does less than it is
asked (:func:`evenflow.model.load.offered`). Strengths follow from what is done, outlooks from what
arrives; both are learned by :mod:`evenflow.balance`. A slice keeps its last known load while it
changes hands.

The node of a served topic only keeps items; the work is done elsewhere, and no node can measure it.
Whoever does it says how much of it each slice asks for
(:class:`~evenflow.model.messages.SliceCosts`): seconds of work in each second. That stands in for
the busy time of nodes, and unless the operator has weighed busy time against the rest, it alone is
the load: a consumer counts whole batches, which reach equally far in all slices, while nodes
receive in bursts, each in its own. A consumer that is gone costs nothing any more, after a while: a
busy machine may only have silenced it for a moment.
"""

from __future__ import annotations

from dataclasses import replace
from math import exp
from typing import TYPE_CHECKING, Final, NamedTuple

from evenflow.balance.load_outlook import OutlookLearner
from evenflow.balance.node_strength import StrengthLearner
from evenflow.model.load import LoadWeights, SliceLoad, offered
from evenflow.model.messages import SliceCosts

if TYPE_CHECKING:
    from collections.abc import Iterable

    from evenflow.model.load import Outlook
    from evenflow.model.messages import SliceLoads

RATE_MEMORY_S: Final = 5.0
"""Over about this time the usual rates of slices are averaged."""
GRACE_S: Final = 30.0
"""How long a consumer that is gone still counts."""
_NS: Final = 1e-9
_WORK_ALONE: Final = LoadWeights(item=0.0, octet=0.0, busy=1.0)


class _Counts(NamedTuple):
    node: str
    term: int
    time: float
    items: int
    octets: int
    busy_us: int
    arrived: int

    def since(self, before: _Counts) -> tuple[SliceLoad, float]:
        """What was done and what arrived per second since an earlier report."""
        elapsed = self.time - before.time
        done = SliceLoad(
            (self.items - before.items) / elapsed,
            (self.octets - before.octets) / elapsed,
            (self.busy_us - before.busy_us) / 1e6 / elapsed,
        )
        return done, (self.arrived - before.arrived) / elapsed

    def is_before(self, other: _Counts) -> bool:
        """Whether these are older counts than others, which came earlier."""
        return (
            self.items < other.items or self.busy_us < other.busy_us or self.arrived < other.arrived
        )


class Costs:
    """What the slices of one topic cost its consumers."""

    def __init__(self) -> None:
        self._told: dict[str, dict[int, float]] = {}
        self._gone: dict[str, float] = {}

    @property
    def known(self) -> bool:
        """Whether anybody says what slices cost."""
        return bool(self._told)

    def learn(self, message: SliceCosts) -> None:
        """A consumer says what its slices cost; this takes the place of what it said before."""
        rows = zip(message.slices, message.work_ns, strict=True)
        self._told[message.consumer] = {slice_id: work * _NS for slice_id, work in rows}
        self._gone.pop(message.consumer, None)

    def gone(self, consumer: str, now: float) -> None:
        """A consumer is gone."""
        if consumer in self._told:
            self._gone.setdefault(consumer, now)

    def forget_gone(self, now: float) -> bool:
        """Forget consumers that were gone for long; returns whether there were any."""
        over = [consumer for consumer, since in self._gone.items() if now - since >= GRACE_S]
        for consumer in over:
            del self._gone[consumer], self._told[consumer]
        return bool(over)

    def busy(self, slice_id: int) -> float:
        """Seconds of work in each second, for all consumers."""
        return sum(told.get(slice_id, 0.0) for told in self._told.values())


class Loads:
    """The measured loads of one topic."""

    def __init__(self, weights: LoadWeights | None = None, *, season_s: float = 0.0) -> None:
        """Begin with what makes up a load, and the length of the season of loads, 0 for none."""
        self._weights = weights or LoadWeights()
        self._season_s = season_s
        self._counts: dict[int, _Counts] = {}
        self._rates: dict[int, SliceLoad] = {}
        self._loads: dict[int, float] = {}
        self._costs = Costs()
        self._strengths = StrengthLearner()
        self._outlooks = OutlookLearner(period_s=season_s)

    def hear(self, message: SliceLoads | SliceCosts, now: float) -> None:
        """Take in what a node or a consumer says of its slices."""
        if isinstance(message, SliceCosts):
            self.learn_costs(message)
        else:
            self.observe(message, now)

    def observe(self, report: SliceLoads, now: float) -> None:
        """A node told what its slices have cost."""
        if self._costs.forget_gone(now):
            self._weigh_anew(other_unit=not self._costs.known)
        work = busy_s = elapsed = 0.0
        rows = zip(
            report.slices, report.terms, report.items, report.octets, report.busy_us,
            report.arrived, strict=True,
        )  # fmt: skip
        for slice_id, term, *counted in rows:
            counts = _Counts(report.node, term, now, *counted)
            before = self._counts.get(slice_id)
            if before is not None and before[:2] != counts[:2]:
                before = None
            if before is not None and counts.is_before(before):
                continue  # an older report that came late
            self._counts[slice_id] = counts
            if before is None or now <= before.time:
                continue
            elapsed = now - before.time
            done, arrived = counts.since(before)
            usual = self._rates.get(slice_id)
            asked = offered(done, arrived, usual)
            self._rates[slice_id] = _smoothed(usual, asked, elapsed)
            load = self._loads[slice_id] = self._weigh(slice_id, asked)
            self._outlooks.observe(slice_id, load, now)
            work += self._weigh(slice_id, done) * elapsed
            busy_s += done.busy * elapsed
        if elapsed:
            self._strengths.observe(report.node, work=work, busy_s=busy_s, elapsed_s=elapsed)

    def learn_costs(self, costs: SliceCosts) -> None:
        """A consumer told what slices cost it."""
        known = self._costs.known
        self._costs.learn(costs)
        self._weigh_anew(other_unit=not known)

    def consumer_gone(self, consumer: str, now: float) -> None:
        """A consumer that told costs is gone."""
        self._costs.gone(consumer, now)

    def _weigh_anew(self, *, other_unit: bool) -> None:
        if other_unit:
            # What was learned from loads in the former unit would be taken for a jump.
            self._strengths = StrengthLearner()
            self._outlooks = OutlookLearner(period_s=self._season_s)
        self._loads = {s: self._weigh(s, rate) for s, rate in self._rates.items()}

    def _weigh(self, slice_id: int, measured: SliceLoad) -> float:
        if not self._costs.known:
            return self._weights.weigh(measured)
        weights = self._weights if self._weights.busy else _WORK_ALONE
        return weights.weigh(replace(measured, busy=self._costs.busy(slice_id)))

    def knows(self, slice_id: int) -> bool:
        """Whether the load of a slice has been measured."""
        return slice_id in self._loads

    def of(self, slice_id: int) -> float:
        """The last known load of a slice."""
        return self._loads.get(slice_id, 0.0)

    def activity(self, slice_id: int) -> tuple[float, float]:
        """Items that arrive, and seconds of work that they ask for, in each second."""
        rate = self._rates.get(slice_id)
        busy = rate.busy if rate else 0.0
        return (
            rate.items if rate else 0.0,
            self._costs.busy(slice_id) if self._costs.known else busy,
        )

    def outlook(self, slice_id: int) -> Outlook | None:
        """What is to be expected of a slice, when enough was seen."""
        return self._outlooks.outlook(slice_id)

    def capacities(self, nodes: Iterable[str]) -> dict[str, float]:
        """The learned strength of every node."""
        return self._strengths.capacities(nodes)


def _smoothed(before: SliceLoad | None, measured: SliceLoad, elapsed: float) -> SliceLoad:
    if before is None:
        return measured
    part = 1 - exp(-elapsed / RATE_MEMORY_S)
    return SliceLoad(
        before.items + part * (measured.items - before.items),
        before.octets + part * (measured.octets - before.octets),
        before.busy + part * (measured.busy - before.busy),
    )
