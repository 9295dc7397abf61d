"""The processing node: a :class:`~evenflow.slices.node.core.NodeCore` on DDS.

Two threads. The *loop* (:mod:`evenflow.slices.node.loop`) serves the domain; the *worker*
(:mod:`evenflow.slices.node.worker`) gives items to the application. They share the core under one
lock. The application is a callable ``on_new_data(batch)``; a
:class:`~evenflow.model.batch.Batch` gives its items as columns or one by one.

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
from contextlib import ExitStack
from functools import partial
from typing import TYPE_CHECKING, Protocol, TypeVar

from evenflow.autonomic.rates import Usage, take_part
from evenflow.clock import seconds
from evenflow.closing import Closing
from evenflow.config import Config
from evenflow.config.sections import NEVER
from evenflow.domain.channels import node_partition
from evenflow.domain.cyclone import Participant
from evenflow.errors import ConfigError
from evenflow.model.ids import NodeId
from evenflow.slices.consumer.registry.declared import expected_consumers
from evenflow.slices.dead_letters.office import DeadLetterOffice
from evenflow.slices.node.application.giving_up import give_up
from evenflow.slices.node.application.replying import Replying
from evenflow.slices.node.application.snapshotting import Snapshotting, check_state
from evenflow.slices.node.condition import Condition, bounds_in
from evenflow.slices.node.core import NodeCore
from evenflow.slices.node.loop import TICK_S, NodeLoop
from evenflow.slices.node.sensors import Vitals
from evenflow.slices.node.serving.shell import ServingShell, check_served
from evenflow.slices.node.settings import NodeSettings
from evenflow.slices.node.worker import Worker, stateful
from evenflow.slices.spill import open_spill

if TYPE_CHECKING:
    from collections.abc import Callable

    from evenflow.domain.cyclone import Waiter
    from evenflow.model.messages import NodeReport
    from evenflow.slices.node.application.replying import SendsMany
    from evenflow.slices.node.application.snapshotting import StateStore
    from evenflow.slices.node.worker import OnNewData

    class _Closes(Protocol):
        def close(self) -> None: ...


_LOG = logging.getLogger(__name__)
Part = TypeVar("Part", bound="_Closes")


class Node(Closing):
    """A processing node of one topic.

    >>> with Node("items", lambda batch: print(len(batch))) as node:  # doctest: +SKIP
    ...     node.wait()

    Args:
        topic: The topic.
        on_new_data: The application, called with each batch; None: the node serves. An object, or a
            method of one, with ``give``, ``take`` and ``forget`` has state for each slice.
        name: Name of the node; by default of the host and process.
        config: The configuration; by default that of ``evenflow.toml``.
        participant: Shared with other parts of the process; by default the node opens its own.
        messenger: Takes replies (``batch.reply``) to mobile nodes; by default replies go to the
            publishers of the items.
        snapshots: Where states are kept, of a durable topic with an application:
            ``evenflow.durable.states.StateSnapshots(topic, config)``. The node closes it.
    """

    def __init__(
        self,
        topic: str,
        on_new_data: OnNewData | None,
        *,
        name: str = "",
        config: Config | None = None,
        participant: Participant | None = None,
        messenger: SendsMany | None = None,
        snapshots: StateStore | None = None,
    ) -> None:
        self.config = Config.of(config)
        name = node_partition(name or f"{socket.gethostname()}-{os.getpid()}")
        self.id = NodeId.of(name, secrets.token_hex(3))
        self.error: BaseException | None = None
        """Why the node stopped, when it did not stop by request."""
        self._lock = threading.Lock()
        self._work = threading.Condition(self._lock)
        self._stopping = threading.Event()
        self._ended = threading.Event()
        self._opened = ExitStack()
        with self._opened:
            if snapshots is not None:
                self._keep(snapshots)
            self.topic = self.config.topic(topic)
            check_served(self.topic, serving=on_new_data is None)
            check_state(self.topic, stateful(on_new_data), snapshots)
            settings = NodeSettings.from_config(
                self.config.node,
                serving=on_new_data is None,
                stateful=stateful(on_new_data) is not None,
                durable=snapshots is not None,
            )
            self._core = self._begin_core(settings)
            self._participant = participant or self._keep(Participant(self.config.domain))
            waiter = self._keep(self._participant.waiter())
            self._serving = self._serve(waiter)
            self._loop = self._begin_loop(waiter)
            self._dead = self._put_aside_in(on_new_data)
            self._replying = Replying(topic, self.id, self._loop.control_writers, messenger)
            self._worker = self._work_with(on_new_data)
            self._snapshotting = self._snapshot_at(snapshots)
            self._take_part()
            self._opened = self._opened.pop_all()
        self._threads = self._start_threads(name)

    def _keep(self, part: Part) -> Part:
        """Close a part with the node, the last one first; also when the node does not begin."""
        self._opened.callback(part.close)
        return part

    def _begin_core(self, settings: NodeSettings) -> NodeCore:
        """The rules of the node, on this machine."""
        spill = open_spill("node", self.config.node.spill_dir, self.config.node.spill_bytes)
        return NodeCore(
            self.topic.name,
            self.id,
            self.topic.slices,
            settings,
            time.monotonic(),
            host=socket.gethostname(),
            pid=os.getpid(),
            layout=self.topic.layout,
            spill=spill,
            condition=Condition(bounds_in(self.config.monitor.ranges), os.cpu_count() or 1),
        )

    def _serve(self, waiter: Waiter) -> ServingShell | None:
        """What connects a serving node to consumers."""
        rules = self._core.serving
        if rules is None:
            return None
        rules.consumers.learn(expected_consumers(self.topic))
        rules.keeps = self.topic.kept is not None
        return self._keep(ServingShell(
            rules, self.topic.name, self.config,
            participant=self._participant, waiter=waiter, lock=self._lock,
        ))  # fmt: skip

    def _begin_loop(self, waiter: Waiter) -> NodeLoop:
        return self._keep(NodeLoop(
            self._core, self.topic, self._participant,
            waiter=waiter, work=self._work, stopping=self._stopping, serving=self._serving,
        ))  # fmt: skip

    def _take_part(self) -> None:
        """Tell what waits here against the cache, of a topic that may be thinned."""
        if self.topic.thin != NEVER:
            self._keep(take_part(self._participant, self.config, self.topic.name, use=self._use))

    def _use(self) -> Usage:
        with self._lock:
            cache = self._core.cache
            return Usage(f"node {self.id}", 0, 0, cache.size, cache.limit)

    def _work_with(self, on_new_data: OnNewData | None) -> Worker | None:
        if on_new_data is None:
            return None
        return Worker(
            self._core,
            on_new_data,
            work=self._work,
            stopping=self._stopping,
            perform=self._loop.perform,
            on_idle=self._loop.wake_busy,
            reply=self._replying.send,
            give_up=partial(give_up, self.topic, self._dead),
            state=stateful(on_new_data),
        )

    def _snapshot_at(self, store: StateStore | None) -> Snapshotting | None:
        if store is None:
            return None
        return Snapshotting(self.id, self._core.keeping, store, self._work, self._stopping)

    def _put_aside_in(self, on_new_data: OnNewData | None) -> DeadLetterOffice | None:
        """Where items go that the application cannot process."""
        if on_new_data is None or self.topic.on_error != "dead":
            return None
        return self._keep(DeadLetterOffice(self.topic, self.id, self.config, self._participant))

    def _start_threads(self, name: str) -> list[threading.Thread]:
        runs = [("loop", self._loop.run)]
        if self._worker is not None:
            runs.append(("worker", self._worker.run))
        if self._snapshotting is not None:
            runs.append(("snapshots", self._snapshotting.run))
        threads = [
            threading.Thread(target=self._guarded, args=(run,), name=f"{name} {what}", daemon=True)
            for what, run in runs
        ]
        for thread in threads:
            thread.start()
        return threads

    def _guarded(self, run: Callable[[], None]) -> None:
        """A thread must not die unseen: whatever ends it ends the node."""
        try:
            run()
        except ConfigError as error:
            _LOG.error("node %s ends: %s", self.id, error)
            self.error = error
        except Exception as error:  # noqa: BLE001 - told to whoever waits for the node
            _LOG.exception("node %s ends", self.id)
            self.error = error
        finally:
            if self._worker is not None and self._worker.error is not None:
                self.error = self._worker.error
            self._ended.set()
            self._stop_threads()

    def _stop_threads(self) -> None:
        with self._work:
            self._stopping.set()
            self._work.notify_all()

    # -- the surface ----------------------------------------------------------------------------

    @property
    def slices(self) -> tuple[int, ...]:
        """The slices this node holds now."""
        with self._lock:
            return tuple(sorted(self._core.cache.held))

    @property
    def served(self) -> int:
        """Items sent to readers, by a node that serves."""
        return 0 if self._core.serving is None else self._core.serving.served

    @property
    def items(self) -> int:
        """Items processed since start."""
        return self._core.delivery.items

    @property
    def failed(self) -> int:
        """Items that the application could not process and that were skipped or put aside."""
        return self._core.delivery.failed

    @property
    def retried(self) -> int:
        """Times that the application failed."""
        return self._core.delivery.failures.retried

    @property
    def dead(self) -> int:
        """Items that were put aside in the topic of dead letters."""
        return self._core.delivery.dead

    @property
    def report(self) -> NodeReport | None:
        """What the node last told the domain of itself; None: nothing yet."""
        return self._core.report

    @property
    def replied(self) -> int:
        """Replies of the application that were sent."""
        return self._replying.replied

    @property
    def states_lost(self) -> int:
        """Times that the state of a slice was begun anew because others had gone further."""
        return self._core.states.lost if self._core.states is not None else 0

    @property
    def states_unsaved(self) -> int:
        """Slices whose state could not be stored the last time: nothing of them is committed."""
        return len(self._core.writers.snapshots.unsaved) if self._core.writers.snapshots else 0

    @property
    def states_behind(self) -> int:
        """Slices with items in their state that no snapshot has yet, and that are not committed."""
        return self._core.writers.snapshots.behind if self._core.writers.snapshots else 0

    @property
    def unheard(self) -> int:
        """Replies of the application that nobody listens to, or for which there was no room."""
        return self._replying.unheard

    def vitals(self) -> Vitals:
        """What the node counts, for its monitors."""
        with self._lock:
            core, cache = self._core, self._core.cache
            since = cache.waiting_since
            return Vitals(
                core.delivery.items,
                core.delivery.payload_bytes,
                core.delivery.worked(time.monotonic()),
                cache.backlog,
                cache.size,
                since / 1e6 if since is not None else None,
                self._worker.delay_s if self._worker is not None else 0.0,
                len(cache.held),
            )

    def wait(self, timeout_s: float | None = None) -> bool:
        """Wait until the node has ended; False when the time was up."""
        return self._ended.wait(None if timeout_s is None else seconds(timeout_s))

    def leave(self, timeout_s: float = 10.0) -> bool:
        """Give all slices away, then end; False when they could not all be given away in time.

        What is not given away is not lost: it is uncommitted, and publishers replay it.
        """
        with self._lock:
            self._core.leave()
        self._loop.wake()
        deadline = time.monotonic() + seconds(timeout_s)
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
        self._stop_threads()
        self._loop.wake()
        if self._snapshotting is not None:
            self._snapshotting.close()
        for thread in self._threads:
            if thread is not threading.current_thread():
                thread.join()
        self._opened.close()
