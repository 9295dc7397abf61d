"""Levelling: every node within a tolerance of its share, with the fewest and cheapest moves.

Common to ``weighted``, ``capacity`` and ``forecast``, which differ only in what they take for the
load of a slice and the strength of a node. :mod:`evenflow.balance.shares` says what a share is,
:mod:`evenflow.balance.levelling_steps` how the moves are found.

Four things keep a plan from answering noise. Inside its band a node is left in peace. No slice
moves twice within ``settle_s``, and none goes back where it came from within ``return_s``, unless
its node leaves. And no slice moves unless that gains more than it costs: it gains the load that it
brings into the bands, for as long as the operator thinks that will last (``horizon_s``), and costs
the work that waits while the slice changes hands (its load, for ``pause_s``).

As long as no load has been measured, and while the topic is quiet, slices are spread by number.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import inf
from typing import TYPE_CHECKING, ClassVar

from evenflow.balance.base import barred_from, require_node, settled, slices_on_leaving
from evenflow.balance.count import Count
from evenflow.balance.draft import Draft
from evenflow.balance.levelling_steps import Economy, LevellingSteps
from evenflow.balance.shares import Shares, Weight, fair_shares, misfits
from evenflow.errors import ConfigError
from evenflow.model.ids import NodeId
from evenflow.model.plan import Plan, grouped

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from evenflow.model.snapshot import ClusterNode, LoadSnapshot, PlacedSlice


@dataclass(frozen=True, slots=True)
class Levelling:
    """Settings of a levelling algorithm; subclasses say what load and strength are."""

    name: ClassVar[str]
    tolerance: float = 0.05
    """How far from its share a node may be, as a part of the share."""
    settle_s: float = 30.0
    """No slice moves twice within this many seconds, unless its node leaves."""
    return_s: float = 3600.0
    """No slice goes back where it came from within this many seconds, unless its node leaves."""
    horizon_s: float = 30.0
    """For how long a gain is expected to last."""
    pause_s: float = 0.5
    """For how long the items of a slice wait while it moves."""

    def __post_init__(self) -> None:
        for key in ("tolerance", "settle_s", "return_s", "horizon_s", "pause_s"):
            value = getattr(self, key)
            if not 0 <= value < inf:
                raise ConfigError(f"balance.{self.name}.{key}", value, "must be a number from 0 up")

    def load_of(self, each: PlacedSlice, now: float) -> float:  # noqa: ARG002
        """The load of a slice, as this algorithm sees it at the time of the snapshot."""
        return each.load

    def strength_of(self, node: ClusterNode) -> float:  # noqa: ARG002
        """The strength of a node, as this algorithm sees it."""
        return 1.0

    def on_new_processing_node(self, snapshot: LoadSnapshot, node: str) -> Plan:
        """Fill the new node: it is below its band."""
        require_node(snapshot, node)
        return self._level(snapshot, joined=node)

    def analyze_load(self, snapshot: LoadSnapshot) -> Plan:
        """Bring every node into its band, as far as the slices allow and the gain pays."""
        return self._level(snapshot)

    def _level(self, snapshot: LoadSnapshot, joined: str | None = None) -> Plan:
        weights = self._weights(snapshot, joined)
        if _unweighed(snapshot, weights):
            return self._by_count(snapshot, weights, joined)
        # Shares are what they are without the join: they say what is gained by it.
        shares = self._shares(snapshot, self._weights(snapshot) if joined else weights)
        if not shares.bands:
            return Plan(expected=self.measure(snapshot), reason="no node can take slices")
        names = [node.name for node in snapshot.nodes]
        draft = Draft.of(shares, names, weights)
        before = dict(draft.loads)
        leaving = [name for name in names if name not in shares.bands]
        steps = LevellingSteps(draft, Economy(self.horizon_s, self.pause_s))
        steps.draw(leaving, misfits(shares, weights), shares.hosts)
        if not draft.moves:
            return Plan(expected=draft.loads, reason="every node is in its band, or no move pays")
        takers = {slice_id: taker for slice_id, _, taker in draft.moves}
        after = _sums(names, weights, takers)
        reason = _in_words(shares, leaving, before, after)
        return Plan(grouped(draft.moves), after, reason)

    def measure(self, snapshot: LoadSnapshot) -> dict[str, float]:
        """Load of every node, as this algorithm sees it."""
        return _sums((node.name for node in snapshot.nodes), self._weights(snapshot), {})

    def badness(self, snapshot: LoadSnapshot) -> tuple[float, ...]:
        """Slices on leaving nodes, then load outside the bands; without any load, as ``count``."""
        weights = self._weights(snapshot)
        if _unweighed(snapshot, weights):
            return Count().badness(snapshot)
        loads = _sums((node.name for node in snapshot.nodes), weights, {})
        bands = self._shares(snapshot, weights).bands
        outside = sum(band.outside(loads[name]) for name, band in bands.items())
        return (float(slices_on_leaving(snapshot)), outside)

    def _weights(self, snapshot: LoadSnapshot, joined: str | None = None) -> list[Weight]:
        """All owned slices; one that should stay is not free, or free for a new node alone."""
        leaving = {node.name for node in snapshot.nodes if node.leaving}
        now = snapshot.time
        restless = now - max(self.settle_s, self.return_s)
        weights = []
        for each in snapshot.slices:
            owner = each.owner
            if owner is None:
                continue
            free, barred, only = True, None, None
            if each.moved_at >= restless and owner not in leaving:
                if not settled(each, now, self.settle_s):
                    free, only = joined is not None, joined
                barred = barred_from(each, now, self.return_s)
                # A node that was taken for dead and is back may have its slices back.
                barred = None if barred == joined else barred
            weights.append(Weight(self.load_of(each, now), each.id, owner, free, barred, only))
        return weights

    def _shares(self, snapshot: LoadSnapshot, weights: list[Weight]) -> Shares:
        strengths = {node.name: self.strength_of(node) for node in snapshot.active}
        return fair_shares(strengths, weights, self.tolerance)

    def _by_count(self, snapshot: LoadSnapshot, weights: list[Weight], joined: str | None) -> Plan:
        """Nothing to weigh: the number of slices is all there is to go by."""
        count = Count(max(self.settle_s, self.return_s))
        if joined is None:
            plan = count.analyze_load(snapshot)
        else:
            plan = count.on_new_processing_node(snapshot, joined)
        after = _sums((node.name for node in snapshot.nodes), weights, plan.owners())
        return Plan(plan.moves, after, f"hardly any load: {plan.reason}")


def _unweighed(snapshot: LoadSnapshot, weights: list[Weight]) -> bool:
    """Whether loads say nothing: the topic is quiet, or none has been measured."""
    return snapshot.quiet or not any(weight.load for weight in weights)


def _in_words(
    shares: Shares, leaving: list[str], before: Mapping[str, float], after: Mapping[str, float]
) -> str:
    """Why something has to move: who is furthest from its share, and what becomes of it."""
    if leaving and any(before[name] != after[name] for name in leaving):
        return f"{', '.join(sorted(NodeId(node).name for node in leaving))} must be emptied"
    bands = shares.bands
    worst = min(bands, key=lambda name: (-bands[name].outside(before[name]), name))
    return (
        f"{NodeId(worst).name} carries {before[worst]:.4g}, its share is "
        f"{bands[worst].share:.4g}; afterwards {after[worst]:.4g}"
    )


def _sums(
    names: Iterable[str], weights: Iterable[Weight], takers: Mapping[int, str]
) -> dict[str, float]:
    """Load of every node when the slices in ``takers`` are there and the others at their owners."""
    sums = dict.fromkeys(names, 0.0)
    for weight in weights:
        sums[takers.get(weight.id, weight.owner)] += weight.load
    return sums
