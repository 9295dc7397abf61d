"""The loop of a node: waits for the domain, feeds the core, and performs what the core asks for.

It runs in one thread. Everything that arrives between two turns is taken at once, under the lock
that guards the core, and performed outside of it. Orders and messages are answered before anything
else is done, because a handover stands still until then. While the application has enough to do the
loop wakes up for control messages alone, so that samples gather in the readers.

Publishers send a node the items of its slices in the node's own partition, so one reader reads them
whatever slices it has, and another what they send again.
"""

from __future__ import annotations

import logging
import time
from typing import TYPE_CHECKING, Any, Final

from evenflow.autonomic.monitor.sensors import Sensors
from evenflow.domain.channels import (
    ACKS,
    ANSWERS,
    BEATS,
    CACHE,
    CUTS,
    EPOCHS,
    LEDGERS,
    MAPS,
    ORDERS,
    REFUSALS,
    Gone,
    data,
    replay,
)
from evenflow.errors.words import counted
from evenflow.model.ids import WriterId
from evenflow.model.messages import Ack, EpochClose, MapPage, Order, Refusal, Step
from evenflow.slices.actions import Send, WriterGone
from evenflow.slices.control_writers import FAREWELL_S, ControlWriters

if TYPE_CHECKING:
    from threading import Condition, Event

    from evenflow.config import TopicConfig
    from evenflow.domain.cyclone import Participant, Reader, Waiter
    from evenflow.slices.node.core import NodeCore
    from evenflow.slices.node.serving.shell import ServingShell

TICK_S: Final = 0.02
"""How often the loop looks at the time when nothing happens."""
BUSY_S: Final = 0.005
"""How often the loop looks for new items while the application has enough to do."""
LOOK_S: Final = 1.0
"""How often it looks what the machine is busy with."""
TAKE: Final = 256
"""Samples taken from a reader in one turn."""
PIECE: Final = 8
"""Samples of items taken from a reader at once."""
MOST_TAKERS: Final = 64
"""Nodes to which the way for caches is kept open; far more than take over at the same time."""
MOST_RUNS: Final = 10_000
"""Runs of items after which a turn ends: some 50 ms, in which nobody else has the core."""

_LOG = logging.getLogger(__name__)


class NodeLoop:
    """Connects the core of a node to the domain.

    Args:
        core: The node.
        topic: Its topic.
        participant: Where the endpoints are opened.
        waiter: Wakes the loop.
        work: Notified when the application has something to do; its lock guards the core.
        stopping: Set when the loop shall end.
        serving: What connects a serving node to consumers.
    """

    def __init__(
        self,
        core: NodeCore,
        topic: TopicConfig,
        participant: Participant,
        *,
        waiter: Waiter,
        work: Condition,
        stopping: Event,
        serving: ServingShell | None,
    ) -> None:
        self._core = core
        self._topic = topic
        self._waiter = waiter
        self._work = work
        self._stopping = stopping
        self._serving = serving
        self._control_waiter = participant.waiter()
        self.control_writers = ControlWriters(participant)
        """Where the node's messages leave."""
        self.control_writers.prepare(ACKS, "")
        self._data = participant.reader(data(topic.name), [core.node])
        self._replays = participant.reader(replay(topic.name), [core.node])
        for reader in (self._data, self._replays):
            waiter.attach(reader)
        self._control = self._control_readers(participant)
        self._machine = Sensors()
        self._held_lease = True
        self._cancelled = 0
        """The newest session that was told to be taken back."""
        self._next_look = 0.0
        self._takers: dict[str, None] = {}
        """Nodes that took slices over, the latest last; each start of a node is another one."""

    def _control_readers(self, participant: Participant) -> list[Reader]:
        """Readers of what others tell and order; they wake the loop however busy it is."""
        mine = [self._core.node]
        wanted = ((ORDERS, mine), (ANSWERS, mine), (CACHE, mine), (MAPS, ()), (BEATS, ()),
                  (REFUSALS, ()), (CUTS, ()), (LEDGERS, ()), (EPOCHS, ()))  # fmt: skip
        readers = [participant.reader(*one) for one in wanted]
        for reader in readers:
            self._waiter.attach(reader)
            self._control_waiter.attach(reader)
        return readers

    def wake(self) -> None:
        """End the wait of an idle loop."""
        self._waiter.wake()

    def wake_busy(self) -> None:
        """End the wait of a loop that lets samples gather."""
        self._control_waiter.wake()

    def run(self) -> None:
        """Serve the domain until the node stops, then commit what is processed."""
        while not self._stopping.is_set():
            called = self._wait()
            self._turn(called=called)
        with self._work:
            actions = self._core.writers.commit()
        self.perform(actions)

    def close(self) -> None:
        """Leave the domain when the loop has ended, with what was said last."""
        self._control_waiter.close()
        for reader in (*self._control, self._data, self._replays):
            reader.close()
        self.control_writers.close(FAREWELL_S)

    def _wait(self) -> bool:
        """Wait for something to do; whether others may have told or ordered something."""
        if self._core.cache.has_work:
            # More items cannot be processed sooner by being taken sooner: let them gather.
            return self._control_waiter.wait(BUSY_S)
        serving = self._core.serving
        due = None if serving is None else serving.look_due
        pause = TICK_S if due is None else min(TICK_S, max(0.0, due - time.monotonic()))
        self._waiter.wait(pause)
        return self._control_waiter.wait(0)

    def _turn(self, *, called: bool) -> None:
        """Take what has arrived, let the core decide, do what it says."""
        now = time.monotonic()
        if called:
            self._answer(now)
        self._look(now)
        with self._work:
            core = self._core
            if self._serving is not None:
                self._serving.take()
            self._take_items(self._replays, now, replayed=True)
            self._take_items(self._data, now, replayed=False)
            core.damaged = self._count_damaged()
            actions = core.poll(now)
            foreign = core.writers.foreign.news(now)
            holds = core.holds_lease(now)
            ended, core.writers.ended_ways = core.writers.ended_ways, []
            if core.cache.has_work:
                self._work.notify()
        self.perform(actions)
        for writer in ended:  # it may have been asked for something when it was gone already
            self.control_writers.forget(WriterId.text(writer))
        self._log_lease(holds=holds)
        for writer in foreign:
            _LOG.error(
                "writer %016x sends items of topic %s and says nothing else: they wait for ever. A "
                "program publishes through evenflow.Publisher, a gateway, or the protocol",
                writer,
                self._topic.name,
            )

    def _answer(self, now: float) -> None:
        """Do what others tell and order, and say so at once: what else is due can wait for that."""
        actions: list[Send] = []
        takers: list[str] = []
        with self._work:
            for reader in self._control:
                for message in reader.take(TAKE):
                    actions += self._handle(message, now)
                    if isinstance(message, Order) and message.step == Step.FREEZE:
                        takers.append(message.peer)
        self.perform(actions)
        for taker in takers:
            self._meet(taker)

    def _meet(self, taker: str) -> None:
        """Open the way to a node that takes slices over; those of long ago are closed."""
        self._takers.pop(taker, None)
        self._takers[taker] = None
        while len(self._takers) > MOST_TAKERS:
            oldest = next(iter(self._takers))
            del self._takers[oldest]
            self.control_writers.forget(oldest)
        self.control_writers.prepare(CACHE, taker)

    def _take_items(self, reader: Reader, now: float, *, replayed: bool) -> None:
        """Take in samples; what costs time is not how many they are, but how many slices' items."""
        taken = runs = 0
        while taken < TAKE and runs < MOST_RUNS:
            samples = reader.take(PIECE)
            for sample in samples:
                self._core.receive(sample, now, replayed=replayed)
                runs += sample.run_count
            taken += PIECE
            if len(samples) < PIECE:
                break

    def _look(self, now: float) -> None:
        """Tell the core what the machine is busy with, when it is time for that."""
        if now < self._next_look:
            return
        self._next_look = now + LOOK_S
        readings = self._machine.read(now)
        with self._work:
            core = self._core
            core.condition.observe(readings, core.delivery.worked(now), now)

    def _handle(self, message: Any, now: float) -> list[Send]:
        if isinstance(message, Gone):
            return self._on_gone(message, now)
        if message.topic != self._topic.name:
            return []
        if isinstance(message, Order):
            self._log_order(message)
        if isinstance(message, MapPage) and self._serving is not None:
            self._serving.on_map_page(message)
        if isinstance(message, Refusal) and message.node == self._core.node:
            self._say_refused(message.reason)
        if isinstance(message, EpochClose) and message.slice_count != self._topic.slices:
            self._warn_misfit(message)
        return self._core.handle(message, now)

    def _log_order(self, order: Order) -> None:
        """A handover that is taken back is worth a line; it is ordered until it is answered."""
        step = Step(order.step)
        _LOG.debug("order %s of session %d", step.name, order.term)
        if step is Step.CANCEL and order.term != self._cancelled:
            self._cancelled = order.term
            _LOG.warning(
                "a handover of %s of %s to this node failed: the balancer takes it back",
                counted(len(order.slices), "slice"), order.topic,
                extra={"event": "handover-failed", "topic": order.topic},
            )  # fmt: skip
        elif step is Step.TAKE:
            _LOG.info("takes %s of %s by order", counted(len(order.slices), "slice"), order.topic)

    def _log_lease(self, *, holds: bool) -> None:
        """An application that is not given anything for want of a balancer is worth a line."""
        if holds == self._held_lease:
            return
        self._held_lease = holds
        name = self._topic.name
        if holds:
            _LOG.warning("a balancer is heard again: items of %s are processed", name)
        else:
            _LOG.warning(
                "no balancer confirms this node: items of %s wait until one does", name,
                extra={"event": "lease-lost", "topic": name},
            )  # fmt: skip

    def _on_gone(self, gone: Gone, now: float) -> list[Send]:
        if gone.message_type is not EpochClose:
            return []
        writer = gone.key[0]
        self.control_writers.forget(WriterId.text(writer))
        return self._core.handle(WriterGone(writer), now)

    def _say_refused(self, reason: str) -> None:
        """Once: the balancer repeats itself."""
        if reason != self._core.refusal:
            _LOG.error("the balancer gives this node no slices: %s", reason)

    def _warn_misfit(self, close: EpochClose) -> None:
        if close.writer not in self._core.writers.misfits:
            _LOG.error(
                "publisher %016x cuts topic %s into %d slices, this node into %d; its items are "
                "not processed: use the same topics.%s.slices everywhere",
                close.writer,
                close.topic,
                close.slice_count,
                self._topic.slices,
                close.topic,
            )

    def perform(self, actions: list[Send]) -> None:
        """Do what the core asks for; any thread may call it."""
        for action in actions:
            if isinstance(action.message, Ack):
                _log_ack(action.message)
            self.control_writers.send(action)

    def _count_damaged(self) -> int:
        readers = (*self._control, self._data, self._replays)
        return sum(reader.damaged for reader in readers)


def _log_ack(ack: Ack) -> None:
    _LOG.debug(
        "acknowledges %s of session %d%s",
        Step(ack.step).name,
        ack.term,
        "" if ack.ok else f": refused, {ack.reason}",
    )
