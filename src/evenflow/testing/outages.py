"""Random schedules in which the network breaks and nobody need die for it.

What may happen at any time, together with all that :mod:`evenflow.testing.schedules` has: a
publisher is stopped and continued, or dies; the path between any two processes is cut, in one
direction or both; any process is stopped and continued; consumers come, go and come back; all nodes
are restarted at once, and the balancer with its disk; a consumer is declared and runs for the first
time when everything else has happened; the topic keeps a history, and a newcomer asks for it; the
disk of a balancer is full; balancers
share a disk or have their own, up to three of them, and their wall clocks are up to half an hour
apart; messages travel as bytes; publishers are told to thin, more or less, or not at all.

At the end everything is whole again. Then every item of a publisher that lives is there exactly
once, and no other twice; what was left out is counted, and nobody was told of more; messages per
second stayed within a bound.

A range of seeds by one command: ``python -m evenflow.testing.outages FIRST COUNT``.
"""

from __future__ import annotations

import random
import sys
from collections.abc import Callable
from functools import partial

from evenflow.config.spans import Keep
from evenflow.slices.balancer.core import BalancerSettings
from evenflow.slices.node.settings import NodeSettings
from evenflow.testing.cluster import SimCluster
from evenflow.testing.invariants import Violation
from evenflow.testing.planning import consumers_plan_when_asked, owner_dies_with_plans
from evenflow.testing.schedules import calm, consumer_step, one_random_step, processes
from evenflow.testing.seeds import run_seeds
from evenflow.testing.serving_cluster import FOR_EVER, ServingCluster
from evenflow.testing.silences import (
    answers_cross_samples,
    long_silence,
    newcomer_hears_no_ledger,
    numbers_come_late,
    one_node_knows_a_cut,
)

Act = Callable[[SimCluster, random.Random], None]
SILENCE = 2.5
"""Seconds after which a writer is silent; a writer speaks every second."""
PATIENCE = BalancerSettings(
    settle=0.5, deadline=1.0, silence=3.0, join_after=0.02, quiet=0.5, stall=1.5
)
SOON = 30.0
"""Five times the longest limit, the lease: who can settle without the dead has done it by then."""
CROSSINGS: tuple[Act | None, ...] = (
    None,
    None,
    answers_cross_samples,
    newcomer_hears_no_ledger,
    owner_dies_with_plans,
    consumers_plan_when_asked,
    one_node_knows_a_cut,
    numbers_come_late,
)
"""What happens once in a schedule, for certain."""
KEEPS = (Keep(seconds=FOR_EVER), Keep(seconds=FOR_EVER), Keep(seconds=3.0), Keep(octets=1_500))
"""What a topic may keep beyond what is committed."""
SKEWS = (0.0, 0.0, 2.0, -2.0, 60.0, -60.0, 900.0, -900.0)
"""Seconds by which the wall clock of a balancer may be ahead."""
SEPARATIONS = (0.0, 0.1, 1.0, 10.0)
MOST_MESSAGES = 400.0
"""Messages a second of each process, on average over a schedule."""


def application_schedule(
    seed: int, steps: int = 120, *, stateful: bool = False, skewed: bool = True
) -> SimCluster:
    """Run one schedule of a topic that nodes process, perhaps with state for each slice."""
    rng = random.Random(seed)
    settings = NodeSettings(
        deliver_items=2,
        cache_bytes=rng.choice([1_000, 1 << 20, 1 << 20]),
        writer_silence=SILENCE,
        lease=6.0,
        stateful=stateful,
    )
    cluster = SimCluster(
        4, node_settings=settings, balancer_settings=PATIENCE, patience=patience_of(seed)
    )
    cluster.balancers.skew = skew_of(seed) if skewed else float
    _run(cluster, rng, steps, thinning_of(seed))
    cluster.settle(240.0)
    check_thinned(cluster)
    _check_traffic(cluster)
    return cluster


def stateful_schedule(seed: int) -> SimCluster:
    """Run one schedule of a topic that nodes process with state for each slice."""
    return application_schedule(seed, stateful=True)


def served_schedule(seed: int, steps: int = 120, *, skewed: bool = True) -> ServingCluster:
    """Run one schedule of a topic that consumers read."""
    rng = random.Random(seed)
    settings = NodeSettings(
        serving=True,
        cache_bytes=rng.choice([2_000, 1 << 20, 1 << 20]),
        writer_silence=SILENCE,
        lease=6.0,
    )
    chance = random.Random(f"consumers {seed}")
    keep = chance.choice([None, *KEEPS])
    cluster = ServingCluster(4, node_settings=settings, balancer_settings=PATIENCE, keep=keep)
    cluster.balancers.skew = skew_of(seed) if skewed else float
    for consumer in cluster.consumers.values():
        consumer.limit = rng.choice([0, 0, 1, 5])
        if consumer.limit and seed % 2:
            consumer.count = partial(cluster.count, consumer)
    if chance.random() < 0.5:
        cluster.declare("late")
    if keep is None:
        _run(cluster, rng, steps, thinning_of(seed))
    else:
        before = chance.randrange(steps)
        _run(cluster, rng, before, thinning_of(seed))
        cluster.add_newcomer("newcomer")
        _go_on(cluster, rng, steps - before, None)
    cluster.start_declared()
    try:
        cluster.settle(SOON)
    except Violation:
        # Perhaps only a dead publisher could bring what a dead node had: somebody gives it up.
        give_up_the_dead(cluster)
        cluster.settle(240.0)
    cluster.check()
    check_thinned(cluster)
    _check_traffic(cluster)
    return cluster


def patience_of(seed: int) -> float:
    """How long a publisher that was cut waits, by chances of its own: all else is as without it."""
    return random.Random(f"patience {seed}").choice([0.0, 0.5, 4.0])


def skew_of(seed: int) -> Callable[[], float]:
    """How far wall clocks are apart, by chances of their own: all else is as without it."""
    chance = random.Random(f"clocks {seed}")
    return partial(chance.choice, SKEWS) if chance.random() < 0.5 else float


def thinning_of(seed: int) -> random.Random | None:
    """Whether a schedule thins, by chances of its own: all else happens as without it."""
    chance = random.Random(f"thinned {seed}")
    return chance if chance.random() < 0.5 else None


def _run(
    cluster: SimCluster, rng: random.Random, steps: int, thinning: random.Random | None
) -> None:
    cluster.network.encoded = rng.random() < 0.2
    # Consumers that are away are made known to another balancer by copies, which are not here.
    cluster.balancers.own_disks = rng.random() < 0.3 and not cluster.served
    cluster.start_balancer()
    for _ in range(rng.randint(1, 3)):
        cluster.start_node()
    calm(cluster, 1.0)
    _go_on(cluster, rng, steps, thinning)


def _go_on(
    cluster: SimCluster, rng: random.Random, steps: int, thinning: random.Random | None
) -> None:
    faults = rng.choice([0.05, 0.15, 0.3])
    crossing, when = rng.choice(CROSSINGS), rng.randrange(max(1, steps))
    for step in range(steps):
        if thinning is not None and thinning.random() < 0.1:
            _separate(cluster, thinning)
        choice = rng.random()
        if step == when and crossing is not None:
            crossing(cluster, rng)
        elif choice < faults:
            break_something(cluster, rng)
        elif choice < faults + 0.12:
            calm(cluster, rng.choice([0.1, 0.4, 1.0, 4.0]))
        elif isinstance(cluster, ServingCluster) and choice < 0.6:
            consumer_step(cluster, rng)
        else:
            one_random_step(cluster, rng)
    cluster.balancers.full.clear()


def break_something(cluster: SimCluster, rng: random.Random) -> None:
    """One fault, or the end of one."""
    acts: list[Act] = [
        _cut_path,
        _cut_path,
        _cut_off_publisher,
        long_silence,
        long_silence,
        _stop_or_go_on,
        _stop_or_go_on,
        _node_stands_still,
        _heal,
        _publisher_comes_or_dies,
        _restart_all_nodes,
        _restart_balancer,
        _second_balancer,
        _fill_or_free_disk,
    ]
    if isinstance(cluster, ServingCluster):
        acts.append(_consumer_comes_or_goes)
    rng.choice(acts)(cluster, rng)


def _separate(cluster: SimCluster, rng: random.Random) -> None:
    """A controller tells a publisher another separation."""
    publisher = rng.choice(list(cluster.publishers))
    cluster.publishers.thinning[publisher].separate(rng.choice(SEPARATIONS))


def _cut_path(cluster: SimCluster, rng: random.Random) -> None:
    everybody = processes(cluster)
    if len(everybody) > 1:
        one, other = rng.sample(everybody, 2)
        cluster.network.cut(one, other, both=rng.random() < 0.5)


def _cut_off_publisher(cluster: SimCluster, rng: random.Random) -> None:
    """Its cable is pulled: for everybody, or for some."""
    if not cluster.publishers:
        return
    publisher = rng.choice(list(cluster.publishers))
    part = rng.random() < 0.5
    for other in processes(cluster):
        if other != publisher and (part or rng.random() < 0.5):
            cluster.network.cut(publisher, other)


def _heal(cluster: SimCluster, rng: random.Random) -> None:  # noqa: ARG001
    cluster.network.heal()


def _stop_or_go_on(cluster: SimCluster, rng: random.Random) -> None:
    consumers = list(cluster.consumers) if isinstance(cluster, ServingCluster) else []
    process = rng.choice([*cluster.publishers, *cluster.publishers, *consumers, *cluster.running])
    balancer = cluster.running.get(process)
    if balancer is not None:
        (cluster.continue_balancer if balancer.stopped else cluster.stop_balancer)(process)
    elif process in cluster.network.stopped:
        cluster.network.go_on(process)
    else:
        cluster.network.stop(process)


def _node_stands_still(cluster: SimCluster, rng: random.Random) -> None:
    """A node stands still, perhaps across changes of balancers; or one goes on."""
    stopped = [node for node, sim in cluster.nodes.items() if sim.stopped]
    if stopped and rng.random() < 0.5:
        cluster.continue_node(rng.choice(stopped))
    elif len(cluster.nodes) > len(stopped) + 1:
        cluster.stop_node(rng.choice([node for node in cluster.nodes if node not in stopped]))


def _publisher_comes_or_dies(cluster: SimCluster, rng: random.Random) -> None:
    if len(cluster.publishers) < 3 and rng.random() < 0.5:
        cluster.start_publisher()
    elif len(cluster.publishers) > 1:
        cluster.kill_publisher(rng.choice(list(cluster.publishers)))


def _restart_all_nodes(cluster: SimCluster, rng: random.Random) -> None:
    if cluster.balancers.own_disks:
        return  # what only another balancer's disk has, nobody can tell this one
    count = len(cluster.nodes)
    if rng.random() < 0.5:
        cluster.kill_balancer()
    for node in list(cluster.nodes):
        cluster.kill_node(node)
    for _ in range(max(1, count)):
        cluster.start_node()


def _restart_balancer(cluster: SimCluster, rng: random.Random) -> None:  # noqa: ARG001
    cluster.kill_balancer()
    cluster.start_balancer()


def _second_balancer(cluster: SimCluster, rng: random.Random) -> None:
    """Another one is started, or one of several dies."""
    if len(cluster.running) < rng.choice([2, 3]):
        cluster.start_balancer()
    else:
        cluster.kill_balancer(rng.choice(list(cluster.running)))


def _fill_or_free_disk(cluster: SimCluster, rng: random.Random) -> None:
    full = cluster.balancers.full
    full.symmetric_difference_update({rng.randrange(2)})


def _consumer_comes_or_goes(cluster: SimCluster, rng: random.Random) -> None:
    assert isinstance(cluster, ServingCluster)
    consumer = rng.choice(list(cluster.consumers.values()))
    if consumer.core is None:
        consumer.start()
    else:
        consumer.die()


def give_up_the_dead(cluster: ServingCluster) -> None:
    """An operator ends the writers of publishers that died."""
    alive = {core.writer for core in cluster.publishers.values()}
    alive |= {writer for core in cluster.publishers.values() for writer in core.former_writers}
    cluster.lossy |= cluster.checker.given_up
    known = {w for sim in cluster.nodes.values() for w in sim.core.writers.gone_since}
    known |= {w for c in cluster.consumers.values() for w in c.offsets[-1].planned}
    for writer in known - alive:
        cluster.give_up(writer)


def check_thinned(cluster: SimCluster) -> None:
    """Raise a violation unless what was left out is counted, and no consumer was told of more."""
    publishers = cluster.publishers
    for name, core in publishers.items():
        accepted, thinned = len(publishers.items_of[name]), core.counts.thinned
        if publishers.offered[name] != accepted + thinned:
            raise Violation(f"{name}: {publishers.offered[name]} given, {accepted} and {thinned}")
    consumers = cluster.consumers.values() if isinstance(cluster, ServingCluster) else ()
    counts = [one.core.thinned for one in consumers if one.core is not None]
    heard = max((one.heard for one in counts), default=0)
    if heard > publishers.left_out:
        raise Violation(f"heard of {heard} of {publishers.left_out} left out")


def _check_traffic(cluster: SimCluster) -> None:
    processes = len(cluster.nodes) + len(cluster.publishers) + 1
    rate = cluster.network.posted / (cluster.now - 99.0) / processes
    if rate > MOST_MESSAGES:
        raise Violation(f"{rate:.0f} messages a second of each process")


if __name__ == "__main__":
    sys.exit(run_seeds(application_schedule, stateful_schedule, served_schedule))
