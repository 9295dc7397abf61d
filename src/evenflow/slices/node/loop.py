"""The loop of a node: waits for the domain, feeds the core, and performs what the core asks for.

It runs in one thread. Everything that arrives between two turns is taken at once, under the lock
that guards the core, and performed outside of it. While the application has enough to do the loop
wakes up for control messages alone, so that batches gather in the readers.
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
    EPOCHS,
    MAPS,
    ORDERS,
    Gone,
    replay,
)
from evenflow.model.ids import WriterId
from evenflow.model.messages import Ack, EpochClose, Order, SliceMap, Step
from evenflow.slices.actions import (
    Action,
    Send,
    Subscribe,
    Subscribed,
    Unsubscribe,
    WriterGone,
)
from evenflow.slices.control_writers import ControlWriters
from evenflow.slices.node.slice_readers import SliceReaders

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
MATCH_POLL_S: Final = 0.001
"""How often it looks whether a new reader has met its writers."""
LOOK_S: Final = 1.0
"""How often it looks what the machine is busy with."""
TAKE: Final = 256
"""Samples taken from a reader at once."""

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
        self._control_writers = ControlWriters(participant)
        self._control_writers.prepare(ACKS, "")
        self._data = SliceReaders(participant, waiter, topic.name)
        self._replays = participant.reader(replay(topic.name), [core.node])
        waiter.attach(self._replays)
        self._control = self._control_readers(participant)
        self._machine = Sensors()
        self._next_look = 0.0

    def _control_readers(self, participant: Participant) -> list[Reader]:
        """Readers of what others tell and order; they wake the loop however busy it is."""
        mine = [self._core.node]
        wanted = ((ORDERS, mine), (ANSWERS, mine), (CACHE, mine), (MAPS, ()), (BEATS, ()),
                  (EPOCHS, ()))  # fmt: skip
        readers = [participant.reader(*one) for one in wanted]
        for reader in readers:
            self._waiter.attach(reader)
            self._control_waiter.attach(reader)
        return readers

    def wake(self) -> None:
        """End the wait of an idle loop."""
        self._waiter.wake()

    def wake_busy(self) -> None:
        """End the wait of a loop that lets batches gather."""
        self._control_waiter.wake()

    def run(self) -> None:
        """Serve the domain until the node stops, then commit what is processed."""
        while not self._stopping.is_set():
            self._wait()
            self._turn()
        with self._work:
            actions = self._core.writers.commit()
        self.perform(actions)

    def _wait(self) -> None:
        if self._data.waiting:
            self._waiter.wait(MATCH_POLL_S)
        elif self._core.cache.has_work:
            # More items cannot be processed sooner by being taken sooner: let them gather.
            self._control_waiter.wait(BUSY_S)
        else:
            self._waiter.wait(TICK_S)

    def _turn(self) -> None:
        """Take what has arrived, let the core decide, do what it says."""
        now = time.monotonic()
        actions: list[Action] = []
        self._look(now)
        with self._work:
            core = self._core
            if self._control_waiter.wait(0):
                for reader in self._control:
                    for message in reader.take(TAKE):
                        actions += self._handle(message, now)
            if self._serving is not None:
                self._serving.take()
            for batch in self._replays.take(TAKE):
                core.receive(batch, now, replayed=True)
            for reader in self._data:
                for batch in reader.take(TAKE):
                    core.receive(batch, now)
            for term in self._data.matched(now):
                actions += core.handle(Subscribed(term), now)
            core.damaged = self._count_damaged()
            actions += core.poll(now)
            if core.cache.has_work:
                self._work.notify()
        self.perform(actions)
        self._data.fold(now)

    def _look(self, now: float) -> None:
        """Tell the core what the machine is busy with, when it is time for that."""
        if now < self._next_look:
            return
        self._next_look = now + LOOK_S
        readings = self._machine.read(now)
        with self._work:
            core = self._core
            core.condition.observe(readings, core.delivery.worked(now), now)

    def _handle(self, message: Any, now: float) -> list[Action]:
        if isinstance(message, Gone):
            return self._on_gone(message, now)
        if message.topic != self._topic.name:
            return []
        if isinstance(message, Order):
            _LOG.debug("order %s of session %d", Step(message.step).name, message.term)
            if message.step == Step.FREEZE:
                self._control_writers.prepare(CACHE, message.peer)
        if isinstance(message, SliceMap) and self._serving is not None:
            self._serving.on_slice_map(message)
        if isinstance(message, EpochClose) and message.slice_count != self._topic.slices:
            self._warn_misfit(message)
        return self._core.handle(message, now)

    def _on_gone(self, gone: Gone, now: float) -> list[Action]:
        if gone.message_type is not EpochClose:
            return []
        writer = gone.key[0]
        self._control_writers.forget(WriterId.text(writer))
        return self._core.handle(WriterGone(writer), now)

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

    def perform(self, actions: list[Action]) -> None:
        """Do what the core asks for; any thread may call it."""
        now = time.monotonic()
        for action in actions:
            match action:
                case Send():
                    if isinstance(action.message, Ack):
                        _log_ack(action.message)
                    self._control_writers.send(action)
                case Subscribe(slices, term):
                    self._data.subscribe(slices, term, len(self._core.writers.live_writers), now)
                case Unsubscribe(slices):
                    self._data.unsubscribe(slices, now)

    def _count_damaged(self) -> int:
        readers = (*self._control, self._replays)
        return self._data.count_damaged() + sum(reader.damaged for reader in readers)


def _log_ack(ack: Ack) -> None:
    _LOG.debug(
        "acknowledges %s of session %d%s",
        Step(ack.step).name,
        ack.term,
        "" if ack.ok else f": refused, {ack.reason}",
    )
