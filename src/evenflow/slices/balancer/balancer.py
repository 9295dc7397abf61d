"""The balancer process: a :class:`~evenflow.slices.balancer.core.BalancerCore` per topic, on DDS.

One thread waits for reports, acknowledgements and operators' requests, and performs what the cores
and the autonomic loop (:mod:`evenflow.slices.balancer.autonomy`) ask. Who owns what is known from
the nodes' reports, and what was planned from the history: a balancer that dies is simply started
again. Several may run: one leads, the others stand by
(:mod:`evenflow.slices.balancer.membership.leadership`). Whoever begins or ceases to lead begins its
autonomic loop anew, from the history, as after a restart.
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
    COSTS,
    EVENTS,
    LOADS,
    MOVES,
    ORDERS,
    PROPERTIES,
    REPORTS,
    Gone,
)
from evenflow.domain.cyclone import Participant
from evenflow.errors import EvenflowError
from evenflow.model.messages import (
    ActionOutcome,
    Beat,
    EventNotice,
    NodeReport,
    PropertyReport,
    Receipt,
    Refusal,
    SliceCosts,
)
from evenflow.slices.actions import NodeGone, Send
from evenflow.slices.balancer.autonomy import SliceAutonomy
from evenflow.slices.balancer.core import BalancerCore
from evenflow.slices.balancer.membership.leadership import Leadership
from evenflow.slices.balancer.settings import BalancerSettings
from evenflow.slices.control_writers import ControlWriters

if TYPE_CHECKING:
    from evenflow.domain.cyclone import Reader

_LOG = logging.getLogger(__name__)

TICK_S = 0.02
"""How often the time is looked at when nothing happens."""


class Balancer(Closing):
    """Balances the configured topics until it is closed, or stands by while another one does."""

    def __init__(
        self, *, config: Config | None = None, participant: Participant | None = None
    ) -> None:
        """Enter the domain and listen.

        Raises:
            ConfigError: An event, a rule or a planner is faulty; nothing has been started.
        """
        self.config = config or Config.load()
        self.error: BaseException | None = None
        self._own = participant is None
        self._participant = participant or Participant(self.config.domain)
        self._waiter = self._participant.waiter()
        self._control_writers = ControlWriters(self._participant)
        # Listening begins before the time that is given to it. Who leads is asked before all else:
        # what a balancer finds that stood still may be long over.
        channels = (BEATS, REPORTS, LOADS, COSTS, ACKS, MOVES, PROPERTIES, EVENTS, ACTION_OUTCOMES)
        self._readers = [self._read(channel) for channel in channels]
        now, wall = time.monotonic(), time.time()
        settings = BalancerSettings.from_config(self.config.balancer)
        self.leadership = Leadership(
            now,
            wall,
            identity=secrets.randbits(63),
            quiet=settings.quiet,
            stall=settings.stall,
        )
        self.cores = {
            topic.name: BalancerCore(
                topic.name,
                topic.slices,
                settings,
                now,
                wall,
                leadership=self.leadership,
                layout=topic.layout,
            )
            for topic in self.config.topics
        }
        self._starter = NodeStarter(self.config, self._nodes)
        try:
            kept = self.config.history
            self._history = History(
                self.config.history_file, keep=kept.keep, keep_octets=kept.keep_bytes
            )
            self._begin_loop()
        except EvenflowError:
            self.close_domain()
            raise
        self._refused: set[tuple[str, str]] = set()
        self._stopping = False
        self._next_look = 0.0
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._guarded, name="balancer", daemon=True)
        self._thread.start()

    def _begin_loop(self) -> None:
        """A loop that knows what is in the history now."""
        self._turn_seen = self.leadership.turn
        self._autonomy = SliceAutonomy(
            self.config, self.cores, self._history, self._starter, time.monotonic(), time.time()
        )

    def _nodes(self) -> dict[str, NodeReport]:
        return {node: report for core in self.cores.values() for node, report in core.nodes.items()}

    def _read(self, channel: Any) -> Reader:
        reader = self._participant.reader(channel)
        self._waiter.attach(reader)
        return reader

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
        if self._turn_seen != self.leadership.turn:
            does = "leads" if self.leadership.leads else "stands by"
            _LOG.warning("this balancer %s: %s", does, self.leadership.reason)
            self._begin_loop()
        if now < self._next_look:
            return
        self._next_look = now + TICK_S
        before = self._sessions()
        self._perform([Send(order, order.executor_id) for order in self._autonomy.poll(now)])
        if self._sessions() != before:
            self._perform(self._poll_cores(time.monotonic()))

    def _poll_cores(self, now: float) -> list[Send]:
        return [action for core in self.cores.values() for action in core.poll(now)]

    def _sessions(self) -> list[set[int]]:
        return [set(core.sessions) for core in self.cores.values()]

    def _perform(self, actions: list[Send]) -> None:
        for action in actions:
            if isinstance(action.message, Receipt):
                _log_receipt(action.message)
                self._autonomy.on_receipt(action.message)
            if isinstance(action.message, Refusal):
                self._say_refused(action.message)
            self._control_writers.send(action)

    def _say_refused(self, refusal: Refusal) -> None:
        """Once: the node is told again and again."""
        if (refusal.topic, refusal.node) not in self._refused:
            self._refused.add((refusal.topic, refusal.node))
            _LOG.error("a node gets no slices: %s", refusal.reason)

    def _handle(self, message: Any, now: float) -> list[Send]:
        if isinstance(message, PropertyReport | EventNotice | ActionOutcome):
            self._autonomy.handle(message, now)
            return []
        if isinstance(message, Gone):
            if message.message_type is SliceCosts:
                topic, consumer = message.key
                if topic in self.cores:
                    self.cores[topic].loads.consumer_gone(consumer, now)
                return []
            if message.message_type is Beat:
                return []
            if message.message_type is not NodeReport:
                self._autonomy.handle(message, now)
                return []
            topic, node = message.key
            core = self.cores.get(topic)
            self._control_writers.forget(node)
            self._refused.discard((topic, node))
            return core.handle(NodeGone(node), now) if core else []
        core = self.cores.get(message.topic)
        if isinstance(message, NodeReport) and core:
            self._control_writers.prepare(ORDERS, message.node)
        return core.handle(message, now) if core else []


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
