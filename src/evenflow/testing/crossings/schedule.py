"""Random schedules in which slices change hands and cuts are told while something old is under way.

Each has some of the steps in which a rule matters, one after the other
(:mod:`evenflow.testing.crossings.takeovers`, :mod:`evenflow.testing.crossings.decisions`,
:mod:`evenflow.testing.silences`), and between them everything that breaks in
:mod:`evenflow.testing.outages`.

A range of seeds by one command: ``python -m evenflow.testing.crossings.schedule FIRST COUNT``.
"""

from __future__ import annotations

import random
import sys
from typing import TYPE_CHECKING, Final

from evenflow.slices.node.settings import NodeSettings
from evenflow.testing.cluster import SimCluster
from evenflow.testing.crossings.decisions import (
    decision_is_taken_back,
    old_ledgers_come_late,
    publisher_hears_a_decision,
)
from evenflow.testing.crossings.takeovers import (
    answers_come_late,
    caches_come_late,
    commits_come_late,
    giver_is_slow,
    orders_come_late,
    taker_dies_unheard,
)
from evenflow.testing.outages import PATIENCE, SILENCE, break_something
from evenflow.testing.schedules import calm, one_random_step
from evenflow.testing.seeds import run_seeds
from evenflow.testing.silences import (
    answers_cross_samples,
    newcomer_hears_no_ledger,
    numbers_come_late,
)

if TYPE_CHECKING:
    from collections.abc import Callable

CROSSINGS: Final[tuple[Callable[[SimCluster, random.Random], None], ...]] = (
    answers_come_late,
    caches_come_late,
    commits_come_late,
    giver_is_slow,
    orders_come_late,
    taker_dies_unheard,
    decision_is_taken_back,
    old_ledgers_come_late,
    publisher_hears_a_decision,
    answers_cross_samples,
    newcomer_hears_no_ledger,
    numbers_come_late,
)


def crossed_schedule(seed: int, steps: int = 60) -> SimCluster:
    """Run one schedule of a topic that nodes process, perhaps with state for each slice."""
    rng = random.Random(seed)
    settings = NodeSettings(
        deliver_items=2,
        cache_bytes=rng.choice([1_000, 1 << 20, 1 << 20]),
        writer_silence=SILENCE,
        lease=6.0,
        stateful=rng.random() < 0.3,
    )
    cluster = SimCluster(4, node_settings=settings, balancer_settings=PATIENCE)
    cluster.network.encoded = rng.random() < 0.1
    cluster.balancers.own_disks = rng.random() < 0.5
    cluster.start_balancer()
    for _ in range(rng.randint(1, 3)):
        cluster.start_node()
    calm(cluster, 1.0)
    faults, crossings = rng.choice([0.0, 0.05, 0.15]), rng.choice([0.02, 0.05])
    for _ in range(steps):
        choice = rng.random()
        if choice < crossings:
            rng.choice(CROSSINGS)(cluster, rng)
        elif choice < crossings + faults:
            break_something(cluster, rng)
        elif choice < crossings + faults + 0.1:
            calm(cluster, rng.choice([0.1, 0.4, 1.0]))
        else:
            one_random_step(cluster, rng)
    cluster.balancers.full.clear()
    cluster.settle(240.0)
    return cluster


if __name__ == "__main__":
    sys.exit(run_seeds(crossed_schedule))
