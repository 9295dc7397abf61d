"""A simulated cluster of a durable topic: nodes store their states, at a store that keeps an order.

The store is a process like any other: what it is asked may come late, twice or not at all, also
from a node that is dead meanwhile; so may its answers. It appends records in the order in which
they arrive, and forgets nothing.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

from evenflow.slices.node.application.snapshots import Claim, Fetch, Row, Write
from evenflow.slices.node.application.state_log import StateRecord
from evenflow.testing.cluster import SimCluster
from evenflow.testing.invariants import Violation
from evenflow.testing.network import Parcel

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
    records: tuple[StateRecord, ...]
    """What the log has behind those."""
    rows: tuple[Row, ...]


@dataclass(slots=True)
class SimStore:
    """The log of a topic, and the states that it names."""

    records: list[StateRecord] = field(default_factory=list)
    bundles: dict[str, tuple[Row, ...]] = field(default_factory=dict)
    fetched: int = 0
    """Times that states were read."""

    def handle(self, asked: Asked) -> Answered:
        """Do what a node wants done."""
        job, node = asked.job, asked.node
        rows: tuple[Row, ...] = ()
        match job:
            case Claim(number, slices, terms):
                self.records.append(StateRecord(node, number, slices, terms))
            case Write(number, states):
                bundle = f"{node}/{number}"
                self.bundles[bundle] = states
                slices, terms = zip(*((row.slice, row.term) for row in states), strict=True)
                self.records.append(StateRecord(node, number, slices, terms, bundle))
            case Fetch(record, slices):
                self.fetched += 1
                rows = tuple(row for row in self.bundles[record.bundle] if row.slice in slices)
        return Answered(job, asked.after, tuple(self.records[asked.after :]), rows)


@dataclass(slots=True)
class Customer:
    """What one node's process has to do with the store."""

    read: int = 0
    """Records that it has read."""
    job: Job | None = None
    asked_at: float = 0.0


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
        if isinstance(parcel.what, Asked):
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
            customer.read += len(answer.records)
            sim.core.keeping.on_records(answer.records, self.now)
        if isinstance(answer.job, Fetch):
            sim.core.keeping.on_states(answer.job, answer.rows, self.now)

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
