"""The uneven clusters of ``evenflow experiment skew``.

All have slices with Zipf loads (exponent 1.0), dealt out evenly by number.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from evenflow.testing.sample_clusters import zipf_cluster
from evenflow_experiments.balance.cluster_model import Loads, steady

if TYPE_CHECKING:
    from collections.abc import Mapping

    from evenflow.model.snapshot import LoadSnapshot

TOTAL = 1000.0
"""Load of all slices, in items per second."""
USE, HIGH_USE = 0.5, 0.9
"""Part of the nodes' strength that the load asks for."""
TOLERANCE = 0.05
SWING_S = 300.0
"""Length of the season of the drifting loads."""


@dataclass(frozen=True, slots=True)
class Scenario:
    """A cluster, its loads over time, and how long it is watched."""

    name: str
    start: LoadSnapshot
    loads: Loads
    duration_s: float
    noise: float = 0.0

    @property
    def strengths(self) -> dict[str, float]:
        """True strength of every node."""
        return {node.name: node.capacity for node in self.start.nodes}

    def mean(self, loads: Mapping[int, float]) -> float:
        """Load per strength of a perfectly even placement."""
        return sum(loads.values()) / sum(self.strengths.values())

    def above_tolerance(self) -> float:
        """Load above the tolerance on the overloaded nodes at the start."""
        limit = (1 + TOLERANCE) * self.mean(self.loads(0.0))
        sums = self.start.loads()
        return sum(max(0.0, sums[name] - limit * s) for name, s in self.strengths.items())

    def times(self) -> list[float]:
        """When the optimum is looked at: under drift at ten moments of the second half."""
        if self.name != "drift":
            return [0.0]
        half = self.duration_s / 2
        return [half + half * step / 10 for step in range(10)]


def scenarios(slices: int, seed: int, *, quick: bool) -> list[Scenario]:
    """The five scenarios; the quick run drifts for a shorter time, and with half of the slices."""
    drift = _cluster(seed, slices // 2 if quick else slices, 5, (1.0,))
    overload = _cluster(seed, slices, 5, (1.0,), HIGH_USE)
    equal = _cluster(seed, slices, 5, (1.0,))
    giants = _cluster(seed, slices, 20, (1.0,))
    unequal = _cluster(seed, slices, 8, (1.0, 2.0, 4.0))
    return [
        Scenario("equal", equal, steady(equal), 120.0),
        Scenario("giants", giants, steady(giants), 120.0),
        Scenario("unequal", unequal, steady(unequal), 120.0),
        Scenario("overload", overload, steady(overload), 120.0),
        Scenario("drift", drift, drifting(drift, seed), SWING_S * (3 if quick else 8), noise=0.02),
    ]


def _cluster(
    seed: int, slices: int, nodes: int, pattern: tuple[float, ...], use: float = USE
) -> LoadSnapshot:
    cluster = zipf_cluster(seed, nodes=nodes, slices=slices, capacities=pattern, total=TOTAL)
    scale = TOTAL / use / sum(node.capacity for node in cluster.nodes)
    members = tuple(replace(node, capacity=node.capacity * scale) for node in cluster.nodes)
    return replace(cluster, nodes=members)


def drifting(start: LoadSnapshot, seed: int) -> Loads:
    """Loads that swing by half with a phase of their own, and wander on two slower waves."""
    random = np.random.default_rng(seed)
    ids = [each.id for each in start.slices]
    base = np.array([each.load for each in start.slices])
    sizes = np.array([0.4, 0.2, 0.2])
    lengths = SWING_S * np.array([1.0, 1.7, 4.3])
    phases = random.uniform(0.0, 2 * np.pi, (len(ids), 3))

    def loads(now: float) -> dict[int, float]:
        waves = np.sin(2 * np.pi * now / lengths + phases) @ sizes
        return dict(zip(ids, (base * np.exp(waves)).tolist(), strict=True))

    return loads
