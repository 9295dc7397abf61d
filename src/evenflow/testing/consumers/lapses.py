"""Random schedules in which consumers expire, are forgotten, are declared or not, and come back.

Together with everything that breaks in :mod:`evenflow.testing.outages`: an operator forgets a
consumer, that runs as well; one is away for longer than ``consumer.expires``, or only a balancer
does not hear it; one that has failed is started again, from its checkpoint or without; the file
names a consumer or names it no more, and the balancer is started anew.

A range of seeds by one command: ``python -m evenflow.testing.consumers.lapses FIRST COUNT``.
"""

from __future__ import annotations

import random
import sys
from functools import partial
from typing import TYPE_CHECKING

from evenflow.slices.node.settings import NodeSettings
from evenflow.testing.consumers.cluster import LapsingCluster
from evenflow.testing.consumers.returning import ReturningConsumer
from evenflow.testing.invariants import Violation
from evenflow.testing.outages import KEEPS, PATIENCE, SILENCE, break_something, give_up_the_dead
from evenflow.testing.schedules import calm, consumer_step, one_random_step
from evenflow.testing.seeds import run_seeds

if TYPE_CHECKING:
    from collections.abc import Callable

EXPIRES = 6.0
WITNESS = "witness"
"""A consumer that is declared and stays so: while nobody is registered everything is kept."""


def lapsing_schedule(seed: int, steps: int = 120) -> LapsingCluster:
    """Run one schedule, settle, and check what every consumer has."""
    rng = random.Random(seed)
    settings = NodeSettings(
        serving=True,
        cache_bytes=rng.choice([2_000, 1 << 20, 1 << 20]),
        writer_silence=SILENCE,
        lease=6.0,
    )
    keep = rng.choice([None, None, *KEEPS])
    cluster = LapsingCluster(
        4, consumers=3, node_settings=settings, balancer_settings=PATIENCE, keep=keep
    )
    cluster.balancers.expires = rng.choice([None, EXPIRES, EXPIRES, EXPIRES])
    for consumer in cluster.consumers.values():
        consumer.limit = rng.choice([0, 0, 1, 5])
        if consumer.limit and rng.random() < 0.5:
            consumer.count = partial(cluster.count, consumer)
    cluster.add_consumer(WITNESS)
    cluster.declare(WITNESS)
    cluster.network.encoded = rng.random() < 0.2
    if rng.random() < 0.5:
        cluster.declare("late")
    cluster.start_balancer()
    for _ in range(rng.randint(1, 3)):
        cluster.start_node()
    calm(cluster, 1.0)
    _walk(cluster, rng, steps)
    _end(cluster, rng)
    return cluster


def _walk(cluster: LapsingCluster, rng: random.Random, steps: int) -> None:
    faults, lapses = rng.choice([0.0, 0.05, 0.15]), rng.choice([0.03, 0.1])
    for _ in range(steps):
        choice = rng.random()
        if choice < faults:
            break_something(cluster, rng)
        elif choice < faults + lapses:
            rng.choice(ACTS)(cluster, rng)
        elif choice < faults + lapses + 0.12:
            calm(cluster, rng.choice([0.1, 0.4, 1.0, 4.0]))
        elif choice < 0.6:
            consumer_step(cluster, rng)
        else:
            one_random_step(cluster, rng)
    cluster.balancers.full.clear()


def _end(cluster: LapsingCluster, rng: random.Random) -> None:
    """Who has failed is given up, and forgotten or left to expire; then all must come right."""
    cluster.start_declared()
    cluster.network.heal()
    give_up_failed(cluster, rng)
    try:
        cluster.settle(120.0)
    except Violation:
        give_up_failed(cluster, rng)
        give_up_the_dead(cluster)
        cluster.settle(240.0)
    cluster.check()


def give_up_failed(cluster: LapsingCluster, rng: random.Random) -> None:
    """Nobody starts them again; what the file names is taken out of it."""
    for name, consumer in cluster.consumers.items():
        assert isinstance(consumer, ReturningConsumer)
        if not consumer.failed:
            continue
        consumer.given_up = True
        if name in cluster.balancers.declared:
            _restart_with(cluster, *(n for n in cluster.balancers.declared if n != name))
            calm(cluster, 4.0)
        if cluster.balancers.expires is None or rng.random() < 0.5:
            cluster.forget(name)
            calm(cluster, 1.0)


def _someone(cluster: LapsingCluster, rng: random.Random) -> ReturningConsumer:
    found = rng.choice([c for c in cluster.consumers.values() if c.name != WITNESS])
    assert isinstance(found, ReturningConsumer)
    return found


def _forget_someone(cluster: LapsingCluster, rng: random.Random) -> None:
    """An operator forgets a consumer: one that is away, or one that nobody hears from there."""
    consumer = _someone(cluster, rng)
    if consumer.core is not None and rng.random() < 0.7:
        consumer.die()
        calm(cluster, 0.1, working=False)
    cluster.forget(consumer.name)
    if rng.random() < 0.5:
        calm(cluster, rng.choice([0.1, 1.0]), working=False)


def _cut_off_someone(cluster: LapsingCluster, rng: random.Random) -> None:
    """A consumer is not heard, by balancers, by some, or by all; or it hears nobody."""
    name = _someone(cluster, rng).name
    here = [*cluster.nodes, *cluster.publishers, *cluster.running]
    others = rng.choice([list(cluster.running), here, rng.sample(here, rng.randint(1, len(here)))])
    way = rng.choice(["to", "from", "both"])
    for other in others:
        if way != "from":
            cluster.network.cut(name, other, both=False)
        if way != "to":
            cluster.network.cut(other, name, both=False)
    if rng.random() < 0.5:
        calm(cluster, 1.3 * EXPIRES)
        if rng.random() < 0.5:
            cluster.network.heal()


def _away_for_long(cluster: LapsingCluster, rng: random.Random) -> None:
    """A consumer ends, or stands still, for longer than it may; others work on."""
    consumer = _someone(cluster, rng)
    if rng.random() < 0.5:
        consumer.die()
    cluster.network.stop(consumer.name)  # nobody starts it, either
    calm(cluster, rng.choice([0.7, 1.0, 1.3]) * EXPIRES)
    if rng.random() < 0.8:
        cluster.network.go_on(consumer.name)


def _change_of_balancer(cluster: LapsingCluster, rng: random.Random) -> None:
    """One takes over about when somebody expires, with or without a word of it on disk."""
    _cut_off_someone(cluster, rng)
    former = list(cluster.running)
    cluster.start_balancer()
    if rng.random() < 0.3:
        cluster.balancers.full.add(0)
    calm(cluster, rng.choice([0.5, 1.0, 1.1]) * EXPIRES)
    for name in former:
        if rng.random() < 0.5:
            cluster.kill_balancer(name)
        else:
            cluster.stop_balancer(name)
    cluster.balancers.full.clear()
    calm(cluster, rng.choice([0.4, 2.0]))


def _try_again(cluster: LapsingCluster, rng: random.Random) -> None:
    """Who has failed is started again: from its checkpoint; or anew, once it is forgotten."""
    failed = [
        c for c in cluster.consumers.values() if isinstance(c, ReturningConsumer) and c.failed
    ]
    for consumer in failed:
        if rng.random() < 0.5:
            cluster.forget(consumer.name)
            calm(cluster, 1.0)
            consumer.begin_anew()
        consumer.start()


def _change_file(cluster: LapsingCluster, rng: random.Random) -> None:
    """A consumer is declared, or no more; the balancer is started anew with the file."""
    name = rng.choice([n for n in ("late", *cluster.consumers) if n != WITNESS])
    declared = cluster.balancers.declared
    if name in declared:
        _note_release(cluster, name)
        _restart_with(cluster, *(n for n in declared if n != name))
    elif name in cluster.consumers and not _is_released(cluster, name):
        _restart_with(cluster, *declared, name)
    if rng.random() < 0.3:
        cluster.start_declared()


def _note_release(cluster: LapsingCluster, name: str) -> None:
    """One that is taken out of the file, and is not registered otherwise, is released by that."""
    consumer, balancer = cluster.consumers.get(name), cluster.balancer
    books = balancer.books.registrations if balancer is not None else None
    if isinstance(consumer, ReturningConsumer) and not (books and books.registered().get(name)):
        consumer.released = consumer.is_newcomer = True


def _is_released(cluster: LapsingCluster, name: str) -> bool:
    """One that was released and is declared begins anew; its checkpoint is of no use then."""
    consumer = cluster.consumers[name]
    return isinstance(consumer, ReturningConsumer) and consumer.released


def _restart_with(cluster: LapsingCluster, *declared: str) -> None:
    cluster.balancers.declared = declared
    cluster.kill_balancer()
    cluster.start_balancer()


ACTS: tuple[Callable[[LapsingCluster, random.Random], None], ...] = (
    _forget_someone,
    _cut_off_someone,
    _away_for_long,
    _change_of_balancer,
    _try_again,
    _try_again,
    _change_file,
)

if __name__ == "__main__":
    sys.exit(run_seeds(lapsing_schedule))
