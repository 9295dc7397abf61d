"""The thread that talks to the store about states: does one job after the other.

What has to be done the core says (:mod:`~evenflow.slices.node.application.snapshots`), under the
node's lock; it is done without it, so that a slow store holds up nobody. A job that fails is given
again by the core until the log shows that it was done.

The log is read once before anything is written into it: when it is not of the slices of now, the
node ends (`ConfigError`) and has left nothing there that could hinder who is started rightly.
"""

from __future__ import annotations

import logging
import time
from typing import TYPE_CHECKING, Final, Protocol

from evenflow.errors import ClosedError, ConfigError, EvenflowError
from evenflow.slices.node.application.snapshots import Fetch, Write
from evenflow.slices.node.application.state_log import StateRecord

if TYPE_CHECKING:
    from collections.abc import Sequence
    from threading import Condition, Event

    from evenflow.config import TopicConfig
    from evenflow.slices.node.application.keeping import StateKeeping
    from evenflow.slices.node.application.snapshots import Job, Row
    from evenflow.slices.node.application.state_log import Superseded

IDLE_S: Final = 0.02
"""How often it is looked for something to do."""
PAUSE_S: Final = 0.2
"""How long a job rests that has failed."""

TRIM_S: Final = 20.0
"""How often a node has the log trimmed."""

_LOG = logging.getLogger(__name__)


class StateStore(Protocol):
    """Where states are kept: ``evenflow.durable.StateSnapshots``."""

    def append(self, record: StateRecord, rows: Sequence[Row], /) -> None:
        """Store states, and a record that names them; return when both are safe."""

    def read_on(self) -> list[StateRecord]:
        """The records behind those that were read before, up to now.

        Raises:
            ConfigError: They belong to other slices.
        """

    def fetch(self, record: StateRecord, slices: Sequence[int], /) -> list[Row]:
        """The states of some slices of a snapshot, as far as they are there."""

    def trim(self, superseded: Superseded, /) -> None:
        """Say up to where nobody needs anything any more; it need not be done."""

    def close(self) -> None:
        """End, at once: who waits in another thread is told so."""


class Snapshotting:
    """The store's side of one node.

    Args:
        node: The node.
        keeping: Its states.
        store: Where they are stored.
        work: Notified when the application has something to do; its lock guards the core.
        stopping: Set when it shall end.
    """

    def __init__(
        self, node: str, keeping: StateKeeping, store: StateStore, work: Condition, stopping: Event
    ) -> None:
        self._node = node
        self._keeping = keeping
        self._store = store
        self._work = work
        self._stopping = stopping
        self._failing = False
        self._next_trim = 0.0

    def run(self) -> None:
        """Do what there is to do until the node stops."""
        while not self._stopping.is_set() and not self._try(None):
            self._stopping.wait(PAUSE_S)
        while not self._stopping.is_set():
            with self._work:
                job = self._keeping.next_job()
            if job is None:
                self._stopping.wait(IDLE_S)
            elif not self._try(job):
                self._stopping.wait(PAUSE_S)

    def _try(self, job: Job | None) -> bool:
        try:
            self._do(job)
        except ClosedError:
            return False
        except ConfigError:
            raise  # trying again cannot help
        except EvenflowError as error:
            if not self._failing:  # once: it is tried again and again
                _LOG.error("states cannot be stored or read, nothing is committed: %s", error)
            self._failing = True
            return False
        if self._failing:
            _LOG.warning("states are stored and read again")
        self._failing = False
        return True

    def _do(self, job: Job | None) -> None:
        """Do a job and read on; without one, read what is there."""
        rows: list[Row] = []
        if isinstance(job, Fetch):
            rows = self._store.fetch(job.record, job.slices)
        elif job is not None:
            self._store.append(*_record_of(self._node, job))
        whole = isinstance(job, Fetch) and len(rows) == len(job.slices)
        records = [] if whole else self._store.read_on()
        with self._work:
            now = time.monotonic()
            self._keeping.on_records(records, now)
            if isinstance(job, Fetch):
                self._keeping.on_states(job, rows, now)
            superseded = self._keeping.superseded()
            self._work.notify()
        self._trim(superseded, now)

    def _trim(self, superseded: Superseded | None, now: float) -> None:
        if superseded is not None and now >= self._next_trim:
            self._next_trim = now + TRIM_S
            self._store.trim(superseded)

    def close(self) -> None:
        """End what is under way."""
        self._store.close()


def check_state(topic: TopicConfig, application: object, store: StateStore | None) -> None:
    """Raise `ConfigError` unless states are kept of a topic that keeps them, and of no other."""
    if topic.keeps_state and application is None:
        raise ConfigError(
            topic.key("durable"), topic.durable,
            "nothing to keep: the topic is not served, and its application has no state (give, take"
            " and forget)",
        )  # fmt: skip
    if topic.keeps_state != (store is not None):
        raise ConfigError(
            topic.key("durable"), topic.durable,
            "a node keeps state when it is durable, and is given where: Node(...,"
            " snapshots=StateSnapshots(topic, config)); 'evenflow node' does it by itself",
        )  # fmt: skip


def _record_of(node: str, job: Job) -> tuple[StateRecord, tuple[Row, ...]]:
    assert not isinstance(job, Fetch)
    if isinstance(job, Write):
        slices, terms = zip(*((row.slice, row.term) for row in job.rows), strict=True)
        return StateRecord(node, job.number, slices, terms, f"{node}/{job.number}"), job.rows
    return StateRecord(node, job.number, job.slices, job.terms), ()
