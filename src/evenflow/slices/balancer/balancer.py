"""The balancer process: a :class:`~evenflow.slices.balancer.core.BalancerCore` per topic, on DDS.

One thread waits for reports, acknowledgements and operators' requests, and performs what the cores
and the autonomic loop (:mod:`evenflow.slices.balancer.autonomy`) ask. Who owns what is known from
the nodes' reports, and what was planned from the history: a balancer that dies is simply started
again. Several may run: one leads, the others stand by
(:mod:`evenflow.slices.balancer.membership.leadership`). Whoever begins or ceases to lead begins its
autonomic loop anew, from the history, as after a restart. Which writers have ended and which
consumers are registered is on its disk (:mod:`evenflow.slices.ending.saving`); only who leads
writes there.
"""

from __future__ import annotations

import logging
import secrets
import threading
import time
from contextlib import ExitStack
from functools import partial
from typing import TYPE_CHECKING, Any

from evenflow.autonomic.execute.node_starter import NodeStarter
from evenflow.autonomic.knowledge.history import History
from evenflow.clock import seconds
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
    NEWER_TERMS,
    ORDERS,
    PROPERTIES,
    REPORTS,
    ROOM,
    SILENCES,
    WRITER_REQUESTS,
    Gone,
)
from evenflow.domain.cyclone import Participant
from evenflow.errors import EvenflowError
from evenflow.model.messages import (
    ActionOutcome,
    Beat,
    CommitCopy,
    ConsumerCommit,
    EventNotice,
    NodeReport,
    PropertyReport,
    Receipt,
    Refusal,
    SliceCosts,
)
from evenflow.slices.actions import ConsumerGone, NodeGone, Send
from evenflow.slices.balancer.autonomy import SliceAutonomy
from evenflow.slices.balancer.core import BalancerCore
from evenflow.slices.balancer.membership.leadership import Leadership
from evenflow.slices.balancer.membership.news import News
from evenflow.slices.balancer.settings import BalancerSettings
from evenflow.slices.consumer.registry.copies import BALANCER
from evenflow.slices.consumer.registry.declared import declared_consumers
from evenflow.slices.control_writers import FAREWELL_S, ControlWriters
from evenflow.slices.ending.bookkeeping import Books
from evenflow.slices.ending.saving import Saving

if TYPE_CHECKING:
    from collections.abc import Sequence

    from evenflow.autonomic.companion import Companion
    from evenflow.config import TopicConfig
    from evenflow.domain.channels import Channel
    from evenflow.domain.cyclone import Reader

_LOG = logging.getLogger(__name__)

TICK_S = 0.02
"""How often the time is looked at when nothing happens."""
URGENT = (BEATS, NEWER_TERMS, ACKS)
"""Who leads is asked before all else: what a balancer finds that stood still may be long over. Then
what a handover waits for: a report of a thousand slices takes longer than a step of it."""
HEARD = (
    REPORTS, LOADS, COSTS, MOVES, PROPERTIES, EVENTS, ACTION_OUTCOMES, SILENCES, CUT_ANSWERS, CUTS,
    WRITER_REQUESTS, CONSUMERS, COPIES, ROOM,
)  # fmt: skip


class Balancer(Closing):
    """Balances the configured topics until it is closed, or stands by while another one does."""

    def __init__(
        self,
        *,
        config: Config | None = None,
        participant: Participant | None = None,
        companions: Sequence[Companion] = (),
    ) -> None:
        """Enter the domain and listen.

        Args:
            config: The configuration; None reads it.
            participant: Its place in the domain; None enters it.
            companions: What else is kept even by its loop.

        Raises:
            ConfigError: An event, a rule or a planner is faulty; nothing has been started.
        """
        self.config = Config.of(config)
        self.error: BaseException | None = None
        self.news = News()
        """What operators hear of it."""
        self._companions = companions
        with ExitStack() as opened:
            self._enter(participant, opened)
            now, wall = time.monotonic(), time.time()
            settings = BalancerSettings.from_config(self.config.balancer)
            self.leadership = Leadership(
                now,
                wall,
                identity=secrets.randbits(63),
                quiet=settings.quiet,
                stall=settings.stall,
            )
            self._saving = Saving(self.config.state_folder, self.leadership)
            self.cores = {
                topic.name: self._core(topic, settings, now, wall)
                for topic in self.config.all_topics
            }
            self._history = self._open_history()
            opened.callback(self._history.close)
            self._starter = NodeStarter(self.config, self._nodes)
            opened.callback(self._starter.close)
            self._begin_loop()
            self._opened = opened.pop_all()
        self._stopping = False
        self._next_look = 0.0
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._guarded, name="balancer", daemon=True)
        self._thread.start()

    def _enter(self, participant: Participant | None, opened: ExitStack) -> None:
        """Open everything that it hears and speaks by; listening begins before the time for it."""
        if participant is None:
            participant = opened.enter_context(Participant(self.config.domain))
        self._waiter = participant.waiter()
        opened.callback(self._waiter.close)
        theirs = [(channel, one) for one in self._companions for channel in one.channels]
        self._heard_by = {channel.message_type: one for channel, one in theirs}
        self._urgent = [self._reader(participant, opened, channel) for channel in URGENT]
        self._readers = [
            self._reader(participant, opened, channel)
            for channel in (*HEARD, *(channel for channel, _ in theirs))
        ]
        self._control_writers = ControlWriters(participant)
        opened.callback(self._control_writers.close, FAREWELL_S)

    def _reader(self, participant: Participant, opened: ExitStack, channel: Channel) -> Reader:
        reader = participant.reader(channel)
        opened.callback(reader.close)
        self._waiter.attach(reader)
        return reader

    def _open_history(self) -> History:
        kept = self.config.history
        return History(self.config.history_file, keep=kept.keep, keep_octets=kept.keep_bytes)

    def _core(
        self, topic: TopicConfig, settings: BalancerSettings, now: float, wall: float
    ) -> BalancerCore:
        return BalancerCore(
            topic.name,
            topic.slices,
            settings,
            now,
            wall,
            leadership=self.leadership,
            layout=topic.layout,
            books=partial(self._books, topic),
        )

    def _books(self, topic: TopicConfig) -> Books:
        """What is on disk."""
        saved, expected = self._saving.load(topic.name), declared_consumers(topic)
        expires = self.config.consumer.expires_s
        return Books(saved, topic.served, expected, topic.kept, expires)

    def _begin_loop(self) -> None:
        """A loop that knows what is in the history now."""
        self._turn_seen = self.leadership.turn
        self._autonomy = SliceAutonomy(
            self.config,
            self.cores,
            self._history,
            self._starter,
            time.monotonic(),
            time.time(),
            self._companions,
        )

    def _nodes(self) -> dict[str, NodeReport]:
        return {node: report for core in self.cores.values() for node, report in core.nodes.items()}

    # -- the surface ----------------------------------------------------------------------------

    @property
    def planner_failures(self) -> int:
        """Times that a planner could not answer, since it last began to lead or stand by."""
        return self._autonomy.loop.failures

    def wait(self, timeout_s: float | None = None) -> bool:
        """Wait until the balancer has ended; False when the time was up."""
        return self._ended.wait(None if timeout_s is None else seconds(timeout_s))

    def close(self) -> None:
        """End; the nodes go on with what they have."""
        self._stopping = True
        self._waiter.wake()
        self._thread.join()
        self._opened.close()

    # -- the loop -------------------------------------------------------------------------------

    def _guarded(self) -> None:
        try:
            while not self._stopping:
                self._waiter.wait(TICK_S)
                self._turn(time.monotonic())
        except EvenflowError as error:  # its disk is damaged, say: words, and no traceback
            self.error = error
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
        self._perform(self._hear(self._urgent, now))
        self._perform([*self._hear(self._readers, now), *self._poll_cores(now)])
        for topic, core in self.cores.items():
            self.news.look(topic, core.nodes, leads=self.leadership.leads)
        if self._turn_seen != self.leadership.turn:
            does = "leads" if self.leadership.leads else "stands by"
            _LOG.warning("this balancer %s: %s", does, self.leadership.reason)
            self._begin_loop()
        self._saving.poll({topic: core.books for topic, core in self.cores.items()}, now)
        if now < self._next_look:
            return
        self._next_look = now + TICK_S
        before = self._sessions()
        self._perform([Send(order, order.executor_id) for order in self._autonomy.poll(now)])
        if self._sessions() != before:
            self._perform(self._poll_cores(time.monotonic()))

    def _hear(self, readers: list[Reader], now: float) -> list[Send]:
        return [
            action
            for reader in readers
            for message in reader.take()
            for action in self._handle(message, now)
        ]

    def _poll_cores(self, now: float) -> list[Send]:
        return [action for core in self.cores.values() for action in core.poll(now)]

    def _sessions(self) -> list[set[int]]:
        return [set(core.sessions) for core in self.cores.values()]

    def _perform(self, actions: list[Send]) -> None:
        for action in actions:
            if isinstance(action.message, Receipt):
                self.news.on_receipt(action.message)
                self._autonomy.on_receipt(action.message)
            if isinstance(action.message, Refusal):
                self.news.on_refusal(action.message)
            self._control_writers.send(action)

    def _handle(self, message: Any, now: float) -> list[Send]:
        kind = message.message_type if isinstance(message, Gone) else type(message)
        if kind in self._heard_by:
            self._heard_by[kind].handle(message, now)
            return []
        if isinstance(message, PropertyReport | EventNotice | ActionOutcome):
            self._autonomy.handle(message, now)
            return []
        if isinstance(message, Gone):
            return self._on_gone(message, now)
        if isinstance(message, CommitCopy) and message.node == BALANCER and self.leadership.leads:
            return []  # its own, or that of a balancer before it
        core = self.cores.get(message.topic)
        if isinstance(message, NodeReport) and core:
            self._control_writers.prepare(ORDERS, message.node)
        return core.handle(message, now) if core else []

    def _on_gone(self, gone: Gone, now: float) -> list[Send]:
        """A process left, or is silent."""
        if gone.message_type is Beat:
            return []
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
