"""Random schedules of a simulated cluster: cheap to run by the thousand, and each named by a seed.

A schedule is a random walk over everything that may happen. It begins with a cluster that works, so
that there is something to disturb, and ends with a quiet time in which everything must come right.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import replace
from functools import partial

from evenflow.slices.balancer.core import BalancerSettings
from evenflow.slices.node.settings import NodeSettings
from evenflow.testing.cluster import TICK, SimCluster
from evenflow.testing.consumer import SimConsumer
from evenflow.testing.network import Parcel
from evenflow.testing.serving_cluster import ServingCluster

PATIENCE = BalancerSettings(
    settle=0.5, deadline=1.0, silence=3.0, join_after=0.02, quiet=0.5, stall=1.5
)
"""Short times, so that a short schedule sees them pass."""
LONG_TICK = 0.1
"""Steps of a longer pause: they need not be fine."""


def random_schedule(seed: int, steps: int = 250, *, stateful: bool = False) -> SimCluster:
    """Run one random schedule and settle; perhaps with state for each slice."""
    rng = random.Random(seed)
    cache_bytes = rng.choice([1_000, 1 << 20, 1 << 20])
    cluster = SimCluster(
        4,
        node_settings=NodeSettings(deliver_items=2, cache_bytes=cache_bytes, stateful=stateful),
        balancer_settings=PATIENCE,
    )
    cluster.start_balancer()
    for _ in range(rng.randint(1, 3)):
        cluster.start_node()
    cluster.run_until(lambda: False, 1.0)
    late: list[Parcel] = []
    deaths = rng.choice([0.0, 0.02, 0.06])
    duels, cuts = rng.choice([0.0, 0.03]), rng.choice([0.0, 0.02])
    for _ in range(steps):
        if rng.random() < deaths:
            _disturb_processes(cluster, rng)
        elif rng.random() < duels:
            _disturb_balancers(cluster, rng)
        elif rng.random() < cuts:
            _disturb_paths(cluster, rng)
        elif rng.random() < 0.06:
            _hold_back(cluster, rng, late)
        elif rng.random() < 0.01 and len(cluster.publishers) < 4:
            cluster.start_publisher()
        else:
            one_random_step(cluster, rng)
    cluster.network.parcels += late
    cluster.settle(120.0)
    return cluster


def one_random_step(cluster: SimCluster, rng: random.Random) -> None:
    """One step of anything that may happen, deaths rarely."""
    running = _running(cluster)
    choice = rng.random()
    if choice < 0.25:
        awake = [writer for writer in cluster.publishers if writer not in cluster.network.stopped]
        if awake:
            cluster.publish(rng.choice(awake), rng.randrange(cluster.slice_count))
    elif choice < 0.35:
        cluster.advance(rng.choice([0.01, 0.05, 0.1, 0.3, 1.2]))
    elif choice < 0.81:
        _disturb_network(cluster, rng, choice)
    elif choice < 0.94 and running:
        node = rng.choice(running)
        if choice < 0.88:
            cluster.begin(node, slow=rng.random() < 0.2)
        else:
            cluster.finish(node)
    elif choice < 0.98 and len(running) > 1:
        giver, taker = rng.sample(running, 2)
        cluster.move(giver, taker, rng.randint(1, 3))
    elif choice > 0.99:
        _disturb_processes(cluster, rng)


def _running(cluster: SimCluster) -> list[str]:
    return [node for node, sim in cluster.nodes.items() if not sim.stopped]


def _disturb_network(cluster: SimCluster, rng: random.Random, choice: float) -> None:
    """Deliver some parcels, or lose or repeat one."""
    network = cluster.network
    if choice < 0.75:
        for _ in range(rng.choice([1, 3, 8, 40])):
            if network.parcels:
                network.deliver(rng.randrange(min(len(network.parcels), rng.choice([1, 1, 1000]))))
    elif network.parcels:
        (network.lose if choice < 0.78 else network.repeat)(rng.randrange(len(network.parcels)))


def _hold_back(cluster: SimCluster, rng: random.Random, late: list[Parcel]) -> None:
    """Lose, or keep for later, all that is on its way to somebody or all of a kind."""
    if late and rng.random() < 0.4:
        cluster.network.parcels += late
        late.clear()
    if not cluster.network.parcels:
        return
    chosen = rng.choice(cluster.network.parcels)
    of_a_kind, kept = rng.random() < 0.6, rng.random() < 0.5
    rest: list[Parcel] = []
    for parcel in cluster.network.parcels:
        same = type(parcel.what) is type(chosen.what) if of_a_kind else parcel.to == chosen.to
        if parcel.certain or not same:
            rest.append(parcel)
        elif kept:
            late.append(parcel)
    cluster.network.parcels[:] = rest


def _disturb_processes(cluster: SimCluster, rng: random.Random) -> None:
    """Kill, stop, continue or start something, or take it for dead."""
    running = _running(cluster)
    stopped = [node for node in cluster.nodes if node not in running]
    choice = rng.random()
    if choice < 0.35 and running:
        rng.choice([cluster.kill_node, cluster.stop_node, cluster.lose_sight_of])(
            rng.choice(running)
        )
    elif choice < 0.5 and stopped:
        cluster.continue_node(rng.choice(stopped))
    elif choice < 0.6:
        cluster.kill_balancer()
    elif choice < 0.8:
        if cluster.balancer is None:
            cluster.start_balancer()
    elif len(cluster.nodes) < 4:
        cluster.start_node(rng.choice([0, 0, 0, cluster.slice_count - 1]))


def _disturb_balancers(cluster: SimCluster, rng: random.Random) -> None:
    """Start a balancer beside others, or kill, stop or continue one."""
    running = list(cluster.running)
    stopped = [name for name in running if cluster.running[name].stopped]
    choice = rng.random()
    if choice < 0.4 and len(running) < 3:
        cluster.start_balancer()
    elif choice < 0.6 and stopped:
        cluster.continue_balancer(rng.choice(stopped))
    elif choice < 0.9 and len(running) > len(stopped):
        cluster.stop_balancer(rng.choice([name for name in running if name not in stopped]))
    elif running:
        cluster.kill_balancer(rng.choice(running))


def _disturb_paths(cluster: SimCluster, rng: random.Random) -> None:
    """Cut the path between any two processes, in one direction or both, or mend all."""
    if rng.random() < 0.4:
        cluster.network.heal()
        return
    one, other = rng.sample([*cluster.nodes, *cluster.publishers, *cluster.running], 2)
    cluster.network.cut(one, other, both=rng.random() < 0.5)


def random_serving_schedule(
    seed: int, steps: int = 400, *, cache: int = 0, limit: int = 0
) -> ServingCluster:
    """Run one random schedule, settle, and check what every consumer has.

    Args:
        seed: Names the schedule.
        steps: How many things happen before the quiet time.
        cache: Bytes each node may keep; 0 for as many as it likes.
        limit: Items that a batch may have, exactly; 0 for any number.
    """
    rng = random.Random(seed)
    cluster = ServingCluster()
    for consumer in cluster.consumers.values() if limit else ():
        consumer.limit, consumer.count = limit, partial(cluster.count, consumer)
    if cache:
        cluster.node_settings = replace(cluster.node_settings, cache_bytes=cache)
    cluster.start_balancer()
    for _ in range(3):
        cluster.start_node()
    for _ in range(steps):
        choice = rng.random()
        if choice < 0.6:
            one_random_step(cluster, rng)
        elif choice < 0.95:
            consumer_step(cluster, rng)
        else:
            calm(cluster, TICK * rng.randint(1, 12), working=False)
    cluster.settle(60.0)
    cluster.check()
    return cluster


def consumer_step(cluster: ServingCluster, rng: random.Random) -> None:
    """A consumer plans, reads a piece, dies or starts."""
    consumer = rng.choice(list(cluster.consumers.values()))
    choice = rng.random()
    if consumer.name in cluster.network.stopped:
        return
    if consumer.core is None:
        if choice < 0.5:
            consumer.start()
    elif choice < 0.05:
        consumer.die()
    elif choice < 0.3:
        consumer.plan(cluster.slice_count)
    elif consumer.in_hand:
        _read_somewhere(cluster, consumer, rng)


def _read_somewhere(cluster: ServingCluster, consumer: SimConsumer, rng: random.Random) -> None:
    """Ask a node, mostly one that holds what is asked for; whoever answers gives the same."""
    alive = [sim for sim in cluster.nodes.values() if not sim.stopped]
    if alive:
        sim = rng.choice(alive)
        here = list(sim.core.cache.held)
        asked = here if rng.random() < 0.8 else list(range(cluster.slice_count))
        consumer.read(sim, rng.sample(asked, rng.randint(0, len(asked))), rng.choice([1, 2, 1000]))


def processes(cluster: SimCluster) -> list[str]:
    """Everybody's address."""
    consumers = list(cluster.consumers) if isinstance(cluster, ServingCluster) else []
    return [*cluster.publishers, *cluster.nodes, *consumers, *cluster.running]


def calm(cluster: SimCluster, seconds: float, *, working: bool = True) -> None:
    """Time passes, what was sent arrives, and unless told otherwise everybody works."""
    end, tick = cluster.now + seconds, TICK if seconds < 1.0 else LONG_TICK
    while cluster.now < end:
        while cluster.network.parcels:
            cluster.network.deliver(0)
        if working:
            cluster.work()
        cluster.advance(tick)


def calm_until(
    cluster: SimCluster, reached: Callable[[], bool], seconds: float, *, working: bool = True
) -> bool:
    """The same until something is reached; whether it was."""
    end = cluster.now + seconds
    while not reached():
        if cluster.now >= end:
            return False
        calm(cluster, TICK, working=working)
    return True


def make_whole(cluster: SimCluster) -> None:
    """Mend all paths and continue everybody, so that there is something to disturb."""
    cluster.network.heal()
    for process in list(cluster.network.stopped):
        cluster.network.go_on(process)
    for name, balancer in cluster.running.items():
        if balancer.stopped:
            cluster.continue_balancer(name)
    for node, sim in cluster.nodes.items():
        if sim.stopped:
            cluster.continue_node(node)
    if not cluster.running:
        cluster.start_balancer()
    while sum(not sim.misfit for sim in cluster.nodes.values()) < 2:
        cluster.start_node()
    calm(cluster, 2.0)
