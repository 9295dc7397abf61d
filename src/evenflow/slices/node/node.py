"""The processing node: a :class:`~evenflow.slices.node.core.NodeCore` on DDS.

Two threads. The *loop* waits for the domain, feeds the core and performs what the core asks; the
*worker* gives items to the application, so that a slow application delays no heartbeat and no
handover. They share the core under one lock. The application is a callable ``on_new_data(batch)``;
a :class:`~evenflow.model.batch.Batch` gives its items as columns or one by one.

What an application raises is counted and logged. By default the items count as processed and the
node goes on; with ``on_error = "stop"`` the node leaves them uncommitted, gives its slices away and
ends.

Without an application the node *serves* (:mod:`evenflow.slices.node.serving.rules`): consumers, as
a rule Spark queries, read its items by Arrow Flight and say when they may be forgotten.
"""

from __future__ import annotations

import logging
import os
import secrets
import socket
import threading
import time
from typing import TYPE_CHECKING, Any

from evenflow.closing import Closing
from evenflow.config import Config
from evenflow.domain.channels import (
    ACKS,
    ANSWERS,
    BEATS,
    CACHE,
    EPOCHS,
    MAPS,
    ORDERS,
    Gone,
    node_partition,
    replay,
)
from evenflow.domain.cyclone import Participant
from evenflow.model.ids import NodeId, WriterId
from evenflow.model.messages import Ack, EpochClose, Order, SliceMap, Step
from evenflow.slices.actions import (
    Action,
    Send,
    Subscribe,
    Subscribed,
    Unsubscribe,
    WriterGone,
)
from evenflow.slices.consumer.registry import ARCHIVE
from evenflow.slices.control_writers import Outbox
from evenflow.slices.node.core import NodeCore, NodeSettings
from evenflow.slices.node.sensors import Vitals
from evenflow.slices.node.serving.shell import Service, check_served
from evenflow.slices.node.slice_readers import SliceReaders
from evenflow.slices.spill import open_spill

if TYPE_CHECKING:
    from collections.abc import Callable

    from evenflow.config import NodeConfig
    from evenflow.domain.cyclone import Reader
    from evenflow.model.batch import Batch

    OnNewData = Callable[[Batch], object]

_LOG = logging.getLogger(__name__)

TICK_S = 0.02
"""How often the loop looks at the time when nothing happens."""
BUSY_S = 0.005
"""How often the loop looks for new items while the application has enough to do."""
TAKE = 256
"""Samples taken from a reader at once."""


class Node(Closing):
    """A processing node of one topic.

    >>> with Node("items", lambda batch: print(len(batch))) as node:  # doctest: +SKIP
    ...     node.wait()
    """

    def __init__(
        self,
        topic: str,
        on_new_data: OnNewData | None,
        *,
        name: str = "",
        config: Config | None = None,
        participant: Participant | None = None,
    ) -> None:
        self.config = config or Config.load()
        self.topic = self.config.topic(topic)
        check_served(self.topic, serving=on_new_data is None)
        name = node_partition(name or f"{socket.gethostname()}-{os.getpid()}")
        self.id = NodeId.of(name, secrets.token_hex(3))
        self.error: BaseException | None = None
        """Why the node stopped, when it did not stop by request."""
        self._on_new_data = on_new_data
        # Before anything is opened that would have to be closed again.
        spill = open_spill("node", self.config.node.spill_dir, self.config.node.spill_bytes)
        self._own = participant is None
        self._participant = participant or Participant(self.config.domain)
        self._lock = threading.Lock()
        self._work = threading.Condition(self._lock)
        self._ended = threading.Event()
        self._stopping = False
        self._delay_s = 0.0
        self._core = NodeCore(
            topic,
            self.id,
            self.topic.slices,
            node_settings(self.config.node, serving=on_new_data is None),
            time.monotonic(),
            host=socket.gethostname(),
            pid=os.getpid(),
            spill=spill,
        )
        self._waiter = self._participant.waiter()
        self._orders_waiter = self._participant.waiter()
        self._outbox = Outbox(self._participant)
        self._outbox.prepare(ACKS, "")
        self._data = SliceReaders(self._participant, self._waiter, topic)
        self._replays = self._reader(self._participant.reader(replay(topic), [self.id]))
        self._control = self._control_readers()
        self._service = self._serve()
        runs = [("loop", self._loop)]
        if on_new_data is not None:
            runs.append(("worker", self._worker))
        self._threads = [
            threading.Thread(target=self._guarded, args=(run,), name=f"{name} {what}", daemon=True)
            for what, run in runs
        ]
        for thread in self._threads:
            thread.start()

    def _control_readers(self) -> list[Reader]:
        """Readers of what others tell and order; they wake the loop, and who waits for orders."""
        mine = [self.id]
        wanted = ((ORDERS, mine), (ANSWERS, mine), (CACHE, mine), (MAPS, ()), (BEATS, ()),
                  (EPOCHS, ()))  # fmt: skip
        readers = [self._reader(self._participant.reader(*one)) for one in wanted]
        for reader in readers:
            self._orders_waiter.attach(reader)
        return readers

    def _serve(self) -> Service | None:
        """The service of a serving node."""
        if self._core.serving is None:
            return None
        if self.topic.durable:
            self._core.serving.consumers.learn((ARCHIVE,))
        return Service(
            self._core.serving,
            self.topic.name,
            self.config,
            participant=self._participant,
            waiter=self._waiter,
            lock=self._lock,
        )

    def _reader(self, reader: Reader) -> Reader:
        self._waiter.attach(reader)
        return reader

    # -- the surface ----------------------------------------------------------------------------

    @property
    def slices(self) -> tuple[int, ...]:
        """The slices this node holds now."""
        with self._lock:
            return tuple(sorted(self._core.cache.held))

    @property
    def items(self) -> int:
        """Items processed since start."""
        return self._core.delivery.items

    @property
    def failed(self) -> int:
        """Items on which the application raised an error."""
        return self._core.delivery.failed

    def vitals(self) -> Vitals:
        """What the node counts, for its monitors."""
        with self._lock:
            core, cache = self._core, self._core.cache
            since = cache.waiting_since
            return Vitals(
                core.delivery.items,
                core.delivery.octets,
                core.delivery.busy,
                cache.backlog,
                cache.octets,
                since / 1e6 if since is not None else None,
                self._delay_s,
                len(cache.held),
            )

    def wait(self, timeout_s: float | None = None) -> bool:
        """Wait until the node has ended; False when the time was up."""
        return self._ended.wait(timeout_s)

    def leave(self, timeout_s: float = 10.0) -> bool:
        """Give all slices away, then end; False when they could not all be given away in time.

        What is not given away is not lost: it is uncommitted, and publishers replay it.
        """
        with self._lock:
            self._core.leave()
        self._waiter.wake()
        deadline = time.monotonic() + timeout_s
        given = False
        while time.monotonic() < deadline and not self._ended.is_set():
            with self._lock:
                given = not self._core.cache.held
                if given or not self._core.has_company(time.monotonic()):
                    break
            time.sleep(TICK_S)
        self.close()
        return given

    def close(self) -> None:
        """End at once: finish what the application has in hand, commit, leave the domain."""
        with self._lock:
            self._stopping = True
            self._work.notify_all()
        self._waiter.wake()
        for thread in self._threads:
            if thread is not threading.current_thread():
                thread.join()
        if self._service is not None:
            self._service.close()
        if self._own:
            self._participant.close()

    # -- the loop -------------------------------------------------------------------------------

    def _guarded(self, run: Callable[[], None]) -> None:
        """A thread must not die unseen: whatever ends it ends the node."""
        try:
            run()
        except Exception as error:  # noqa: BLE001 - told to whoever waits for the node
            _LOG.exception("node %s ends", self.id)
            self.error = error
        finally:
            self._ended.set()
            with self._lock:
                self._stopping = True
                self._work.notify_all()

    def _loop(self) -> None:
        while not self._stopping:
            if self._data.waiting:
                self._waiter.wait(0.001)
            elif self._core.cache.has_work:
                # More items cannot be processed sooner by being taken sooner: let them gather.
                self._orders_waiter.wait(BUSY_S)
            else:
                self._waiter.wait(TICK_S)
            self._turn()
        with self._lock:
            actions = self._core.streams.commit()
        self._perform(actions)

    def _turn(self) -> None:
        """Take what has arrived, let the core decide, do what it says."""
        now = time.monotonic()
        actions: list[Action] = []
        with self._lock:
            core = self._core
            if self._orders_waiter.wait(0):
                for reader in self._control:
                    for message in reader.take(TAKE):
                        actions += self._handle(message, now)
            if self._service is not None:
                self._service.take()
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
        self._perform(actions)
        self._data.fold(now)

    def _handle(self, message: Any, now: float) -> list[Action]:
        if isinstance(message, Gone):
            if message.message_type is EpochClose:
                writer = message.key[0]
                self._outbox.forget(WriterId.text(writer))
                return self._core.handle(WriterGone(writer), now)
            return []
        if message.topic != self.topic.name:
            return []
        if isinstance(message, Order):
            _LOG.debug("order %s of session %d", Step(message.step).name, message.term)
            if message.step == Step.FREEZE:
                self._outbox.prepare(CACHE, message.peer)
        if isinstance(message, SliceMap) and self._service is not None:
            self._service.mapped(message)
        if isinstance(message, EpochClose) and message.slice_count != self.topic.slices:
            self._warn_misfit(message)
        return self._core.handle(message, now)

    def _warn_misfit(self, close: EpochClose) -> None:
        if close.writer not in self._core.streams.misfits:
            _LOG.error(
                "publisher %016x cuts topic %s into %d slices, this node into %d; its items are "
                "not processed: use the same topics.%s.slices everywhere",
                close.writer,
                close.topic,
                close.slice_count,
                self.topic.slices,
                close.topic,
            )

    def _perform(self, actions: list[Action]) -> None:
        now = time.monotonic()
        for action in actions:
            match action:
                case Send():
                    if isinstance(action.message, Ack):
                        _log_ack(action.message)
                    self._outbox.send(action)
                case Subscribe(slices, term):
                    self._data.subscribe(slices, term, len(self._core.streams.live_writers), now)
                case Unsubscribe(slices):
                    self._data.unsubscribe(slices, now)

    def _count_damaged(self) -> int:
        readers = (*self._control, self._replays)
        return self._data.count_damaged() + sum(reader.damaged for reader in readers)

    # -- the worker -----------------------------------------------------------------------------

    def _worker(self) -> None:
        while True:
            with self._lock:
                batch = self._core.next_delivery(time.monotonic())
                if batch is None:
                    self._orders_waiter.wake()
                while batch is None and not self._stopping:
                    self._work.wait(TICK_S)
                    batch = self._core.next_delivery(time.monotonic())
                if batch is None:
                    return
            ok, seconds = self._process(batch)
            self._delay_s = max(0.0, time.time() - int(batch.times[0]) / 1e6)
            with self._lock:
                if not ok and self.config.node.on_error == "stop":
                    self._core.delivery.put_back()
                    self._stopping = True
                    return
                actions = self._core.delivered(seconds, ok=ok)
                stopping = self._stopping
            self._perform(actions)
            if stopping:
                return

    def _process(self, batch: Batch) -> tuple[bool, float]:
        assert self._on_new_data is not None
        started = time.perf_counter()
        try:
            self._on_new_data(batch)
        except Exception as error:  # noqa: BLE001 - whatever an application may raise
            _LOG.exception(
                "the application failed on items %d..%d of slice %d (writer %016x)",
                batch.first,
                batch.last,
                batch.slice,
                batch.writer,
            )
            self.error = error if self.config.node.on_error == "stop" else None
            return False, time.perf_counter() - started
        return True, time.perf_counter() - started


def _log_ack(ack: Ack) -> None:
    _LOG.debug(
        "acknowledges %s of session %d%s",
        Step(ack.step).name,
        ack.term,
        "" if ack.ok else f": refused, {ack.reason}",
    )


def node_settings(config: NodeConfig, *, serving: bool = False) -> NodeSettings:
    """The core's settings from the configuration."""
    return NodeSettings(
        deliver_items=config.deliver_items,
        cache_octets=config.cache_bytes,
        commit_every=config.commit_ms / 1000,
        report_every=config.report_ms / 1000,
        lease=config.lease_s,
        stall=config.stall_s,
        serving=serving,
    )
