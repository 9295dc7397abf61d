"""The balancer process: a :class:`~evenflow.slices.balancer.core.BalancerCore` per topic, on DDS.

One thread waits for reports, acknowledgements and operators' requests, and performs what the cores
and the autonomic loop (:mod:`evenflow.slices.balancer.autonomy`) ask. Who owns what is known from
the nodes' reports, and what was planned from the history: a balancer that dies is simply started
again. Which writers have ended and which consumers are registered is on its disk
(:mod:`evenflow.slices.ending.disk`).
"""

from __future__ import annotations

import logging
import secrets
import threading
import time
from typing import TYPE_CHECKING, Any

from evenflow.autonomic.execute.node_starter import NodeStarter
from evenflow.autonomic.knowledge.history import History
from evenflow.closing import Closing
from evenflow.config import Config
from evenflow.domain.channels import (
    ACKS,
    ACTION_OUTCOMES,
    BEATS,
    CONSUMERS,
    COPIES,
    COSTS,
    CUT_ANSWERS,
    CUTS,
    EVENTS,
    LOADS,
    MOVES,
    ORDERS,
    PROPERTIES,
    REPORTS,
    SILENCES,
    WRITER_REQUESTS,
    Gone,
)
from evenflow.domain.cyclone import Participant
from evenflow.errors import BalancerRunning, EvenflowError, StorageError
from evenflow.model.messages import (
    ActionOutcome,
    Beat,
    CommitCopy,
    ConsumerCommit,
    EventNotice,
    NodeReport,
    PropertyReport,
    Receipt,
    SliceCosts,
)
from evenflow.slices.actions import ConsumerGone, NodeGone, Send
from evenflow.slices.balancer.autonomy import SliceAutonomy
from evenflow.slices.balancer.core import BalancerCore
from evenflow.slices.balancer.settings import BalancerSettings
from evenflow.slices.consumer.registry import ARCHIVE
from evenflow.slices.control_writers import ControlWriters
from evenflow.slices.ending.bookkeeping import Books
from evenflow.slices.ending.disk import StateFolder
from evenflow.slices.ending.registrations import BALANCER

if TYPE_CHECKING:
    from evenflow.config import TopicConfig
    from evenflow.domain.cyclone import Reader

_LOG = logging.getLogger(__name__)

TICK_S = 0.02
"""How often the time is looked at when nothing happens."""
SAVE_AGAIN_S = 1.0
"""After a disk that could not be written."""
HEARD = (
    REPORTS, LOADS, COSTS, ACKS, MOVES, PROPERTIES, EVENTS, ACTION_OUTCOMES, SILENCES, CUT_ANSWERS,
    CUTS, WRITER_REQUESTS, CONSUMERS, COPIES,
)  # fmt: skip
LISTEN_BEATS = 4
"""A balancer that is alive is heard within this many beats."""


class Balancer(Closing):
    """Balances the configured topics until it is closed."""

    def __init__(
        self, *, config: Config | None = None, participant: Participant | None = None
    ) -> None:
        """Enter the domain; :class:`BalancerRunning` when it has a balancer already.

        Raises:
            ConfigError: An event, a rule or a planner is faulty; nothing has been started.
        """
        self.config = config or Config.load()
        self.error: BaseException | None = None
        self._own = participant is None
        self._participant = participant or Participant(self.config.domain)
        self._waiter = self._participant.waiter()
        try:
            self._refuse_second()
        except BalancerRunning:
            self.close_domain()
            raise
        self._control_writers = ControlWriters(self._participant)
        # Listening begins before the time that is given to it.
        self._readers = [self._read(channel) for channel in HEARD]
        self._state = StateFolder(self.config.state_folder)
        self._next_save = 0.0
        try:
            self.cores = {topic.name: self._core(topic) for topic in self.config.topics}
        except StorageError:
            self.close_domain()
            raise
        self._starter = NodeStarter(self.config, self._nodes)
        try:
            kept = self.config.history
            self._history = History(
                self.config.history_file, keep=kept.keep, keep_octets=kept.keep_bytes
            )
            self._autonomy = SliceAutonomy(
                self.config,
                self.cores,
                self._history,
                self._starter,
                time.monotonic(),
                time.time(),
            )
        except EvenflowError:
            self.close_domain()
            raise
        self._stopping = False
        self._next_look = 0.0
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._guarded, name="balancer", daemon=True)
        self._thread.start()

    def _core(self, topic: TopicConfig) -> BalancerCore:
        return BalancerCore(
            topic.name,
            topic.slices,
            BalancerSettings.from_config(self.config.balancer),
            time.monotonic(),
            time.time(),
            identity=secrets.randbits(63),
            books=Books(
                self._state.load(topic.name),
                served=topic.served,
                expected=(ARCHIVE,) if topic.durable else (),
            ),
        )

    def _nodes(self) -> dict[str, NodeReport]:
        return {node: report for core in self.cores.values() for node, report in core.nodes.items()}

    def _read(self, channel: Any) -> Reader:
        reader = self._participant.reader(channel)
        self._waiter.attach(reader)
        return reader

    def _refuse_second(self) -> None:
        """A live balancer beats; what a dead one left behind is a single last beat."""
        reader = self._read(BEATS)
        heard: dict[tuple[str, int], int] = {}
        deadline = time.monotonic() + LISTEN_BEATS * self.config.balancer.beat_ms / 1000
        while time.monotonic() < deadline:
            self._waiter.wait(TICK_S)
            for beat in reader.take():
                if isinstance(beat, Beat):
                    key = (beat.topic, beat.balancer)
                    heard[key] = heard.get(key, 0) + 1
                    if heard[key] > 2 and any(t.name == beat.topic for t in self.config.topics):
                        raise BalancerRunning(f"{beat.balancer:x}", self.config.domain.id)
        self._waiter.detach(reader)
        reader.close()

    # -- the surface ----------------------------------------------------------------------------

    def wait(self, timeout_s: float | None = None) -> bool:
        """Wait until the balancer has ended; False when the time was up."""
        return self._ended.wait(timeout_s)

    def close(self) -> None:
        """End; the nodes go on with what they have."""
        self._stopping = True
        self._waiter.wake()
        self._thread.join()
        self._starter.close()
        self._history.close()
        self.close_domain()

    def close_domain(self) -> None:
        """Leave the domain, unless the participant is somebody else's."""
        if self._own:
            self._participant.close()

    # -- the loop -------------------------------------------------------------------------------

    def _guarded(self) -> None:
        try:
            while not self._stopping:
                self._waiter.wait(TICK_S)
                self._turn(time.monotonic())
        except Exception as error:  # noqa: BLE001 - told to whoever waits for the balancer
            _LOG.exception("the balancer ends")
            self.error = error
        finally:
            self._ended.set()

    def _turn(self, now: float) -> None:
        """What the cores answer goes out first; then the loop plans, and what it began begins.

        The loop looks around every ``TICK_S``, which takes some milliseconds: in a handover turns
        come faster, and its next order shall not wait for that.
        """
        actions: list[Send] = []
        for reader in self._readers:
            for message in reader.take():
                actions += self._handle(message, now)
        self._perform([*actions, *self._poll_cores(now)])
        self._save(now)
        if now < self._next_look:
            return
        self._next_look = now + TICK_S
        before = self._sessions()
        self._perform([Send(order, order.executor_id) for order in self._autonomy.poll(now)])
        if self._sessions() != before:
            self._perform(self._poll_cores(time.monotonic()))

    def _save(self, now: float) -> None:
        """Put on disk what has to be there before it is told."""
        if now < self._next_save:
            return
        for topic, core in self.cores.items():
            if not core.books.due(now):
                continue
            files = core.books.files(now)
            try:
                self._state.save(topic, files)
            except StorageError:
                _LOG.exception("what was decided cannot be written, and waits")
                self._next_save = now + SAVE_AGAIN_S
                return
            core.books.on_saved(files, now)

    def _poll_cores(self, now: float) -> list[Send]:
        return [action for core in self.cores.values() for action in core.poll(now)]

    def _sessions(self) -> list[set[int]]:
        return [set(core.sessions) for core in self.cores.values()]

    def _perform(self, actions: list[Send]) -> None:
        for action in actions:
            if isinstance(action.message, Receipt):
                _log_receipt(action.message)
                self._autonomy.on_receipt(action.message)
            self._control_writers.send(action)

    def _handle(self, message: Any, now: float) -> list[Send]:
        if isinstance(message, PropertyReport | EventNotice | ActionOutcome):
            self._autonomy.handle(message, now)
            return []
        if isinstance(message, Gone):
            return self._on_gone(message, now)
        if isinstance(message, CommitCopy) and message.node == BALANCER:
            return []  # its own, or that of a balancer before it
        core = self.cores.get(message.topic)
        if isinstance(message, NodeReport) and core:
            self._control_writers.prepare(ORDERS, message.node)
        return core.handle(message, now) if core else []

    def _on_gone(self, gone: Gone, now: float) -> list[Send]:
        """A process left, or is silent."""
        if gone.message_type not in (SliceCosts, ConsumerCommit, NodeReport):
            self._autonomy.handle(gone, now)
            return []
        topic, name = gone.key
        core = self.cores.get(topic)
        if gone.message_type is NodeReport:
            self._control_writers.forget(name)
            return core.handle(NodeGone(name), now) if core else []
        if core is None:
            return []
        if gone.message_type is ConsumerCommit:
            return core.handle(ConsumerGone(name), now)
        core.loads.consumer_gone(name, now)
        return []


def _log_receipt(receipt: Receipt) -> None:
    _LOG.info(
        "%s: %d slices of %s from %s to %s in %.1f ms, %d items moved, %d replayed: %s (%s)",
        receipt.cause,
        len(receipt.slices),
        receipt.topic,
        receipt.giver or "nobody",
        receipt.taker,
        receipt.ms,
        receipt.moved,
        receipt.replayed,
        receipt.outcome,
        receipt.why,
    )
