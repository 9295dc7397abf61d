"""The simulated cluster with consumers that are released, and with all that is said about them.

What :class:`~evenflow.testing.serving_cluster.ServingCluster` leaves out is here: copies of commits
(:class:`~evenflow.model.messages.CommitCopy`), of which who comes new is given the newest; that the
process of a consumer is gone, as DDS tells it to whoever does not hear it; and an operator who
forgets consumers.

What must always hold, beside what holds for every consumer:

* *nobody expires early*: a balancer that lets a consumer expire has led, and not heard it, for
  ``consumer.expires``;
* *released for good*: a ledger newer than the one that released an expired consumer names it again
  only when an operator has forgotten it since;
* *nothing waits for the released*: at the end no publisher keeps anything for them;
* *no gap*: what a consumer was given, released or not, is consecutive in each writer and slice.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from evenflow.model.messages import CommitCopy, ConsumerCommit, Ledger, Progress
from evenflow.slices.actions import ConsumerGone, Send
from evenflow.slices.consumer.registry.copies import BALANCER, is_expired
from evenflow.slices.consumer.ticket import Range, Refusal
from evenflow.testing.balancer import WALL
from evenflow.testing.consumers.returning import ReturningConsumer
from evenflow.testing.invariants import Violation
from evenflow.testing.network import Parcel
from evenflow.testing.publishers import TOPIC
from evenflow.testing.serving_cluster import ServingCluster

if TYPE_CHECKING:
    from evenflow.config.spans import Keep
    from evenflow.slices.balancer.core import BalancerSettings
    from evenflow.slices.consumer.counts import Run
    from evenflow.slices.node.settings import NodeSettings
    from evenflow.testing.balancer import SimBalancer
    from evenflow.testing.consumer import SimConsumer
    from evenflow.testing.node import SimNode

OPERATOR = "operator"


class LapsingCluster(ServingCluster):
    """Serving nodes, and consumers that come, lapse and come back."""

    def __init__(
        self,
        slice_count: int = 6,
        *,
        consumers: int = 2,
        node_settings: NodeSettings,
        balancer_settings: BalancerSettings,
        keep: Keep | None = None,
    ) -> None:
        self._lost: set[tuple[str, str]] = set()
        """Consumers, and those that were told that they are gone."""
        self._kept_copies: dict[tuple[str, str], CommitCopy] = {}
        """The newest copy that each process has told of each consumer."""
        self._given: set[tuple[str, int]] = set()
        """Lives of consumers that were given the copies."""
        self._heard: dict[tuple[str, str], float] = {}
        """When a consumer was heard by a balancer."""
        self._leads_since: dict[str, float] = {}
        """Since when a balancer leads and has not stood still."""
        self._forgiven: set[str] = set()
        """Consumers that an operator has forgotten, and that have not expired since."""
        self.expired_at: dict[str, int] = {}
        """Consumers that have expired, with the version of the ledger that released them."""
        super().__init__(
            slice_count,
            consumers=consumers,
            node_settings=node_settings,
            balancer_settings=balancer_settings,
            keep=keep,
        )

    def add_consumer(self, name: str) -> SimConsumer:
        """A query is started for the first time."""
        self.consumers[name] = consumer = ReturningConsumer(name, lambda: self.now, WALL)
        consumer.since = self.checker.published
        consumer.start()
        return consumer

    # -- what an operator does --------------------------------------------------------------------

    def forget(self, name: str) -> None:
        """``evenflow consumers forget``; who is named in the file is not forgotten."""
        if name in self.balancers.declared:
            return
        consumer = self.consumers[name]
        assert isinstance(consumer, ReturningConsumer)
        consumer.released = True
        self.expired_at.pop(name, None)
        self._forgiven.add(name)
        number = int((self.now + WALL) * 1e9)
        told = ConsumerCommit(TOPIC, name, number, (), (), ended=True)
        for recipient in self._observers():
            self.network.post(Parcel(recipient, told, sender=OPERATOR))

    def _observers(self) -> list[str]:
        return [*self.nodes, *self.publishers, *self.consumers, *self.running]

    # -- time -------------------------------------------------------------------------------------

    def advance(self, seconds: float) -> None:
        """Let time pass; consumers look whether they may go on."""
        super().advance(seconds)
        self._look_around()
        for consumer in self.consumers.values():
            if consumer.name in self.network.stopped or consumer.core is None:
                continue
            assert isinstance(consumer, ReturningConsumer)
            life = (consumer.name, consumer._lives)  # noqa: SLF001
            if life not in self._given:
                self._given.add(life)
                self._give_copies(consumer.name)
            consumer.look()

    def _give_copies(self, to: str) -> None:
        """Who comes new is given what is kept."""
        alive = {*self.nodes, *self.running}
        for (actor, _), copy in self._kept_copies.items():
            if actor in alive:
                self.network.post(Parcel(to, copy, sender=actor))

    def _look_around(self) -> None:
        """Tell everybody of the consumers that he does not hear any more."""
        lost = set()
        for name, consumer in self.consumers.items():
            silent = consumer.core is None or name in self.network.stopped
            for one in (*self.nodes, *self.publishers, *self.running):
                if silent or (name, one) in self.network.cuts:
                    lost.add((name, one))
        for name, observer in sorted(lost - self._lost):
            self._tell_gone(name, observer)
        self._lost = lost

    def _tell_gone(self, name: str, observer: str) -> None:
        parcels = self.network.parcels
        parcels[:] = [
            p
            for p in parcels
            if not (p.to == observer and p.sender == name and isinstance(p.what, ConsumerCommit))
        ]
        self.network._bring(Parcel(observer, ConsumerGone(name), certain=True))  # noqa: SLF001

    def work(self) -> None:
        """Every consumer reads all that it can get; who has failed is started again."""
        for consumer in self.consumers.values():
            assert isinstance(consumer, ReturningConsumer)
            if consumer.name in self.network.stopped or consumer.given_up:
                continue
            if consumer.core is None and not consumer.failed:
                consumer.start()
            if consumer.core is not None and consumer.enters_at is None:
                consumer.commit_in_time()
                self.read(consumer)

    def count(self, consumer: SimConsumer, asked: Range, most: int) -> list[Run] | None:
        """How many items the owners of all slices have; a consumer whose items are gone fails."""
        for sim in self.nodes.values():
            serving, held = sim.core.serving, tuple(sim.core.cache.held)
            if serving is None or sim.stopped or not held:
                continue
            found = serving.count(replace(asked, slices=held), most)
            if isinstance(found, Refusal) and found.reason == "forgotten":
                assert isinstance(consumer, ReturningConsumer)
                consumer.fail(f"nobody counts: {found}")
                return None
        return super().count(consumer, asked, most)

    # -- what is told -----------------------------------------------------------------------------

    def start_node(self, slice_count: int = 0) -> str:
        """A new node process, which is given what is kept."""
        node = super().start_node(slice_count)
        self._give_copies(node)
        return node

    def start_balancer(self) -> str:
        """A new balancer process, which is given what is kept."""
        balancer = super().start_balancer()
        self._give_copies(balancer)
        return balancer

    def _recipients(self, message: object, to: str, actor: str) -> list[str]:
        if isinstance(message, CommitCopy):
            self._kept_copies[actor, message.consumer] = message
            return [*self.nodes, *self.consumers, *self.running]
        if isinstance(message, Ledger):
            self._check_ledger(message)
        return super()._recipients(message, to, actor)

    def _check_ledger(self, ledger: Ledger) -> None:
        for name in ledger.consumers:
            since = self.expired_at.get(name)
            if since is not None and ledger.version > since:
                raise Violation(f"{name} has expired, and is registered again")

    def _arrive(self, parcel: Parcel) -> None:
        what, to = parcel.what, parcel.to
        if isinstance(what, ConsumerGone) and to in self.publishers:
            self.publishers[to].on_consumer_gone(TOPIC, what.consumer)
            return
        super()._arrive(parcel)
        if (
            isinstance(what, ConsumerCommit)
            and parcel.sender == OPERATOR
            and (what.consumer, to) in self._lost
        ):
            self._tell_gone(what.consumer, to)  # the operator's command ends, too

    def _at_node(self, node: str, sim: SimNode, parcel: Parcel) -> None:
        what, serving = parcel.what, sim.core.serving
        if sim.stopped or serving is None:
            super()._at_node(node, sim, parcel)
            return
        if isinstance(what, CommitCopy):
            told = serving.on_copy(what)
        elif isinstance(what, ConsumerGone):
            told = serving.on_consumer_gone(what.consumer)
        elif isinstance(what, ConsumerCommit | Progress):
            told = serving.on_consumer_message(what)
        else:
            super()._at_node(node, sim, parcel)
            return
        self._do([] if told is None else [Send(told)], node)

    def _at_balancer(self, process: SimBalancer, parcel: Parcel | None = None) -> None:
        what = None if parcel is None else parcel.what
        name, leads = process.name, process.leads
        if isinstance(what, CommitCopy) and what.node == BALANCER and leads:
            return  # as the shell does
        if isinstance(what, ConsumerCommit) and not process.stopped:
            self._heard[name, what.consumer] = self.now
        if not leads or process.stopped:
            self._leads_since.pop(name, None)
        before, books = self._expired(process), process.core.books
        super()._at_balancer(process, parcel)
        if process.leads and not process.stopped:
            self._leads_since.setdefault(name, self.now)
            decided = leads and process.core.books is books  # else it has read them from its disk
            for expired in self._expired(process) - before if decided else ():
                self._on_expired(process, expired)
        self._note_released(process)

    def _expired(self, process: SimBalancer) -> set[str]:
        registrations = process.core.books.registrations
        assert registrations is not None
        found = {n: registrations.consumers.newest(n) for n in registrations.consumers.everybody()}
        return {name for name, said in found.items() if said is not None and is_expired(said)}

    def _on_expired(self, process: SimBalancer, name: str) -> None:
        since = max(
            self._heard.get((process.name, name), 0.0), self._leads_since.get(process.name, 0.0)
        )
        silent = self.now - since
        if silent < (self.balancers.expires or 0.0) - 1e-6:
            raise Violation(f"{name} has expired after {silent:g} s")
        consumer = self.consumers[name]
        assert isinstance(consumer, ReturningConsumer)
        consumer.released = True
        self._forgiven.discard(name)

    def _note_released(self, process: SimBalancer) -> None:
        """What is on the disk of who leads and settled: these have expired, for good."""
        if not process.leads or not process.core.settled or process.stopped:
            return
        registrations = process.core.books.registrations
        assert registrations is not None
        for name in self._expired(process) - self._forgiven:
            if name not in registrations.registered() and not registrations.changed:
                version = process.core.books.cutting._version  # noqa: SLF001
                self.expired_at.setdefault(name, version)

    # -- the end ----------------------------------------------------------------------------------

    @property
    def readers(self) -> list[SimConsumer]:
        """The consumers that nobody has given up."""
        found = self.consumers.values()
        return [c for c in found if isinstance(c, ReturningConsumer) and not c.given_up]

    def check(self) -> None:
        """Raise a violation unless every consumer has what it should have, once."""
        lapsed = {}
        for name, consumer in list(self.consumers.items()):
            assert isinstance(consumer, ReturningConsumer)
            if consumer.given_up or consumer.is_newcomer or consumer.released:
                lapsed[name] = self.consumers.pop(name)
        super().check()
        for consumer in lapsed.values():
            _check_no_gap(consumer)
        self.consumers |= lapsed


def _check_no_gap(consumer: SimConsumer) -> None:
    """One that was there from the start has all numbers from the first; others from somewhere."""
    items = consumer.items()
    if len(items) != len(set(items)):
        raise Violation(f"{consumer.name}: {len(items) - len(set(items))} repeated")
    for key, numbers in consumer.numbers().items():
        first = min(numbers) if consumer.is_newcomer else 1
        if numbers != set(range(first, max(numbers) + 1)):
            raise Violation(f"{consumer.name}: of {key} a gap in {sorted(numbers)}")
