"""A simulated cluster of a durable topic: nodes store their states, at a store that keeps an order.

The store is a process like any other: what it is asked may come late, twice or not at all, also
from a node that is dead meanwhile; so may its answers. It appends records in the order in which
they arrive, and deletes at once what any node says nobody needs, however late that comes.
"""

from __future__ import annotations

import random
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

from evenflow.slices.node.application.snapshots import Claim, Fetch, Row, Write
from evenflow.slices.node.application.state_log import StateRecord, Superseded
from evenflow.slices.node.settings import NodeSettings
from evenflow.testing.cluster import TICK, SimCluster
from evenflow.testing.invariants import Violation
from evenflow.testing.network import Parcel
from evenflow.testing.schedules import PATIENCE, calm, one_random_step

if TYPE_CHECKING:
    from evenflow.slices.node.application.snapshots import Job

STORE: Final = "store"
PATIENCE_S: Final = 0.5
"""A node asks again after this."""


@dataclass(frozen=True, slots=True)
class Asked:
    """A node has something to do at the store."""

    node: str
    job: Job
    after: int
    """Records that it has read."""


@dataclass(frozen=True, slots=True)
class Answered:
    """It is done."""

    job: Job
    after: int
    start: int
    """Where the records begin: further on, when those before were trimmed."""
    records: tuple[StateRecord, ...]
    """What the log has behind those."""
    rows: tuple[Row, ...]


@dataclass(slots=True)
class SimStore:
    """The log of a topic, and the states that it names."""

    records: list[StateRecord] = field(default_factory=list)
    bundles: dict[str, tuple[int, tuple[Row, ...]]] = field(default_factory=dict)
    """States, and since when they are there."""
    fetched: int = 0
    """Times that states were read."""
    first: int = 0
    """Records that were trimmed."""

    @property
    def end(self) -> int:
        """Records that were ever written; the next one is at the place behind."""
        return self.first + len(self.records)

    def trim(self, superseded: Superseded) -> None:
        """Delete what nobody needs any more; places are counted from 1."""
        dropped = max(0, min(superseded.records - 1 - self.first, len(self.records)))
        del self.records[:dropped]
        self.first += dropped
        self.bundles = {
            name: (since, rows)
            for name, (since, rows) in self.bundles.items()
            if since >= superseded.states
        }

    def handle(self, asked: Asked) -> Answered:
        """Do what a node wants done."""
        job, node = asked.job, asked.node
        rows: tuple[Row, ...] = ()
        at = self.end + 1
        match job:
            case Claim(number, slices, terms):
                self.records.append(StateRecord(node, number, slices, terms, at=at))
            case Write(number, states):
                bundle = f"{node}/{number}"
                self.bundles[bundle] = (at, states)
                slices, terms = zip(*((row.slice, row.term) for row in states), strict=True)
                self.records.append(StateRecord(node, number, slices, terms, bundle, at, at, at))
            case Fetch(record, slices):
                self.fetched += 1
                _, there = self.bundles.get(record.bundle, (0, ()))
                rows = tuple(row for row in there if row.slice in slices)
        start = max(asked.after, self.first)
        return Answered(job, asked.after, start, tuple(self.records[start - self.first :]), rows)


@dataclass(slots=True)
class Customer:
    """What one node's process has to do with the store."""

    read: int = 0
    """Records that it has read."""
    job: Job | None = None
    asked_at: float = 0.0
    trimmed: Superseded | None = None
    """What it has told the store that nobody needs."""


class DurableCluster(SimCluster):
    """Nodes whose applications have state that is stored."""

    def __init__(self, slice_count: int, **settings: Any) -> None:
        super().__init__(slice_count, **settings)
        self.store = SimStore()
        self.customers: dict[str, Customer] = {}

    def advance(self, seconds: float) -> None:
        """Let time pass and everybody do what is due."""
        super().advance(seconds)
        for node, sim in self.nodes.items():
            job = sim.core.keeping.next_job()
            if job is None or sim.stopped:
                continue
            customer = self.customers.setdefault(node, Customer())
            if job != customer.job or self.now > customer.asked_at + PATIENCE_S:
                customer.job, customer.asked_at = job, self.now
                asked = Asked(node, job, customer.read)
                self.network.post(Parcel(STORE, asked, sender=node))

    def _settled(self) -> bool:
        held = (one for sim in self.nodes.values() for one in sim.core.cache.held.values())
        return super()._settled() and not any(one.loading for one in held)

    def _arrive(self, parcel: Parcel) -> None:
        if isinstance(parcel.what, Superseded):
            self.store.trim(parcel.what)
        elif isinstance(parcel.what, Asked):
            answer = self.store.handle(parcel.what)
            self.network.post(Parcel(parcel.what.node, answer, sender=STORE))
        elif isinstance(parcel.what, Answered):
            self._at_customer(parcel)
        else:
            super()._arrive(parcel)

    def _at_customer(self, parcel: Parcel) -> None:
        sim, answer = self.nodes.get(parcel.to), parcel.what
        assert isinstance(answer, Answered)
        if sim is None:
            return
        if sim.stopped:
            sim.inbox.append(parcel)
            return
        customer = self.customers[parcel.to]
        if answer.after == customer.read:
            customer.read = answer.start + len(answer.records)
            sim.core.keeping.on_records(answer.records, self.now)
        if isinstance(answer.job, Fetch):
            sim.core.keeping.on_states(answer.job, answer.rows, self.now)
        superseded = sim.core.keeping.superseded()
        if superseded is not None and superseded != customer.trimmed:
            customer.trimmed = superseded
            self.network.post(Parcel(STORE, superseded, sender=parcel.to))

    def check_states(self) -> None:
        """Whether the state of every slice has all that was committed of it, each item once."""
        expected: dict[int, dict[int, tuple[int, int]]] = {}
        for writer, slice_id, number in sorted(self.checker.commit_terms):
            expected.setdefault(slice_id, {})[writer] = (1, number)
        for node, sim in self.nodes.items():
            sim.tend_state()
            assert sim.core.states is not None
            if sim.core.states.lost:
                raise Violation(f"{node} has lost {sim.core.states.lost} states")
            for slice_id, state in sim.app.states.items():
                found = expected.pop(slice_id, {})
                if state.spans != found:
                    raise Violation(f"slice {slice_id} at {node}: {state.spans}, not {found}")
        if expected:
            raise Violation(f"nobody has the states of slices {sorted(expected)}")


def random_durable_schedule(seed: int, steps: int = 120) -> DurableCluster:
    """Run one random schedule with states that are stored, settle, and check the states.

    Nodes die, or live on behind a broken path while others take their slices; what is on its way to
    and from the store is held back and comes later, again, or not at all.
    """
    rng = random.Random(seed)
    settings = NodeSettings(
        deliver_items=2,
        cache_bytes=rng.choice([1_000, 1 << 20, 1 << 20]),
        stateful=True,
        durable=True,
        snapshot_every=rng.choice([0.05, 0.3, 1.0]),
    )
    cluster = DurableCluster(3, node_settings=settings, balancer_settings=PATIENCE)
    cluster.start_balancer()
    for _ in range(3):
        cluster.start_node()
    calm(cluster, 1.0)
    late: list[Parcel] = []
    for _ in range(steps):
        choice = rng.random()
        if choice < 0.12:
            _disturb_owners(cluster, rng)
        elif choice < 0.3:
            _disturb_store(cluster, rng, late)
        elif choice < 0.5:
            one_random_step(cluster, rng)
        elif choice < 0.7:
            calm(cluster, rng.choice([0.04, 0.12, 0.4]), working=rng.random() < 0.8)
        else:
            writer = rng.choice(list(cluster.publishers))
            cluster.publish(writer, rng.randrange(cluster.slice_count))
    cluster.network.parcels += late
    cluster.settle(120.0)
    cluster.check_states()
    return cluster


def _disturb_owners(cluster: DurableCluster, rng: random.Random) -> None:
    """Kill a node, start one, or let one live on that is taken for dead."""
    running = [node for node, sim in cluster.nodes.items() if not sim.stopped]
    balancers = list(cluster.running)
    choice = rng.random()
    if choice < 0.3 and len(running) > 1:
        cluster.kill_node(rng.choice(running))
    elif choice < 0.7 and len(running) > 1 and balancers:
        node = rng.choice(running)
        for balancer in balancers:
            cluster.network.cut(node, balancer)
        if rng.random() < 0.5:
            others = [*cluster.publishers, STORE, *running]
            cluster.network.cut(*rng.sample(others, 2))
        cluster.lose_sight_of(node)
    elif choice < 0.85:
        cluster.network.heal()
    elif len(cluster.nodes) < 4:
        cluster.start_node()


def _disturb_store(cluster: DurableCluster, rng: random.Random, late: list[Parcel]) -> None:
    """Hold back, lose or repeat what is on its way to or from the store; or let it come."""
    network = cluster.network
    if late and rng.random() < 0.5:
        rng.shuffle(late)
        network.parcels += late
        late.clear()
        return
    mail = [one for one in network.parcels if STORE in (one.to, one.sender)]
    if not mail:
        cluster.advance(TICK)
        return
    chosen = rng.sample(mail, rng.randint(1, len(mail)))
    fate = rng.random()
    if fate < 0.5:  # some of it twice
        late += chosen
    if fate < 0.35 or fate > 0.8:
        network.parcels[:] = [one for one in network.parcels if one not in chosen]
