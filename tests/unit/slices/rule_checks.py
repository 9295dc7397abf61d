"""Shows that a rule is needed: without it, a schedule in which it matters ends in a violation."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING, Any, NamedTuple

import pytest

from evenflow.slices.node.settings import NodeSettings
from evenflow.testing.cluster import SimCluster
from evenflow.testing.invariants import Violation
from evenflow.testing.outages import PATIENCE, SILENCE
from evenflow.testing.schedules import calm
from evenflow.testing.serving_cluster import ServingCluster

if TYPE_CHECKING:
    from collections.abc import Callable

SEEDS = range(8)
SYMPTOMS = "more often|repeated|committed it|of old term|are not committed"


class Rule(NamedTuple):
    """A rule, how to take it out, and a step in which it matters."""

    where: Any
    name: str
    without: Any
    """What stands in its place when it is taken out."""
    step: Callable[[SimCluster, random.Random], None]
    served: bool = False
    own_disks: bool = False
    """Whether each balancer has a disk of its own."""


def check_needed_and_enough(rule: Rule) -> None:
    """With the rule each item is processed once; without it one is not."""
    _run_all(rule)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(rule.where, rule.name, rule.without)
        with pytest.raises(Violation, match=SYMPTOMS):
            _run_all(rule)


def _run_all(rule: Rule) -> None:
    for seed in SEEDS:
        _run(rule, seed)


def _run(rule: Rule, seed: int) -> None:
    settings = NodeSettings(deliver_items=2, serving=rule.served, writer_silence=SILENCE, lease=6.0)
    kind = ServingCluster if rule.served else SimCluster
    cluster = kind(4, node_settings=settings, balancer_settings=PATIENCE)
    cluster.balancers.own_disks = rule.own_disks
    cluster.start_balancer()
    for _ in range(2):
        cluster.start_node()
    calm(cluster, 1.0)
    rule.step(cluster, random.Random(seed))
    for publisher in [p for p in cluster.publishers if p not in cluster.network.stopped]:
        for slice_id in range(cluster.slice_count):
            cluster.publish(publisher, slice_id)  # what is refused for good shows now
    cluster.settle(120.0)
    if isinstance(cluster, ServingCluster):
        cluster.check()
