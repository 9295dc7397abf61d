"""Agent writers and readers: one DDS entity for each, one wait for all readers.

An agent entity stands in the domain for something that does not speak DDS. There may be thousands
of them in a process (measured: 11 KiB and 0.1 ms for each writer with a matched reader), so no
thread belongs to any: a write never blocks, and one thread waits for all readers and is told which
of them have something.

**What is held** is bounded for each entity: a writer keeps its newest `WRITER_DEPTH` samples for
readers that have not acknowledged them, a reader its newest `READER_DEPTH` until they are taken.
Older ones give way. A declared type has no key, so an entity has one instance.
"""

from __future__ import annotations

import ctypes
from dataclasses import dataclass
from threading import Lock
from typing import TYPE_CHECKING, Any, Final

from cyclonedds._clayer import ddspy_take, ddspy_write
from cyclonedds.core import (
    DDSException,
    GuardCondition,
    InstanceState,
    ReadCondition,
    SampleState,
    ViewState,
    WaitSet,
)
from cyclonedds.internal import dds_c_t
from cyclonedds.pub import DataWriter, Publisher
from cyclonedds.qos import Policy, Qos
from cyclonedds.sub import DataReader, Subscriber

from evenflow.closing import Closing
from evenflow.domain.agents.topics import AgentTopics
from evenflow.domain.endpoints import delete
from evenflow.domain.quality import nanoseconds
from evenflow.errors import ClosedError, DecodeError, DomainError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from evenflow.domain.agents.declaration import Declaration, Value
    from evenflow.domain.agents.topics import AgentTopic
    from evenflow.domain.cyclone import Participant

WRITER_DEPTH: Final = 16
READER_DEPTH: Final = 64
_ANY: Final = SampleState.Any | ViewState.Any | InstanceState.Any
_WOKEN: Final = 0
"""What the guard is attached as; readers are numbered from 1."""
_MOST_TRIGGERED: Final = 256
"""Readers that one wait names; the others are named by the next."""


@dataclass(frozen=True, slots=True)
class Arrival:
    """A sample that an agent reader took."""

    values: tuple[Value, ...]
    """One for each field of the declared type."""
    writer: int
    """Who wrote it: a number that all readers of this process agree on."""
    time: int
    """When it was written, in nanoseconds since 1970 by the writer's clock."""


class AgentWriter:
    """Writes values of a declared type."""

    def __init__(self, owner: AgentEntities, topic: AgentTopic, entity: DataWriter[Any]) -> None:
        self.topic = topic
        self._owner = owner
        self._entity = entity
        self._ref: int = entity._ref
        self._encode = topic.plan.encode
        self._closed = False

    def write(self, values: Sequence[Value]) -> bool:
        """Write one value for each field; False when Cyclone has no room: nothing is written.

        Raises:
            ValueError: They are no values of the declared type.
        """
        code = ddspy_write(self._ref, self._encode(values))
        if code == 0:
            return True
        if code == DDSException.DDS_RETCODE_TIMEOUT:
            return False
        raise _failure(self, "write", code)

    def matched(self) -> int:
        """How many readers there are."""
        status = dds_c_t.publication_matched_status()
        code = self._entity._get_publication_matched_status(self._ref, ctypes.byref(status))
        if code != 0:
            raise _failure(self, "count readers", code)
        return int(status.current_count)

    def close(self) -> None:
        """Leave the domain at once; what is not acknowledged is dropped."""
        if not self._closed:
            self._closed = True
            self._owner._drop_writer(self)


class AgentReader:
    """Reads values of a declared type."""

    def __init__(
        self, owner: AgentEntities, topic: AgentTopic, entity: DataReader[Any], number: int
    ) -> None:
        self.topic = topic
        self.number = number
        """What `AgentEntities.wait` calls it."""
        self.damaged = 0
        """Samples that could not be decoded and were skipped."""
        self._owner = owner
        self._entity = entity
        self._condition = ReadCondition(entity, _ANY)
        self._ref: int = entity._ref
        self._decode = topic.plan.decode
        self._closed = False

    def take(self, limit: int = READER_DEPTH) -> list[Arrival]:
        """Take what has arrived, at most ``limit`` samples; nothing when it is closed."""
        if self._closed:
            return []
        samples = ddspy_take(self._ref, _ANY, limit)
        if isinstance(samples, int):
            failure = _failure(self, "take", samples)
            if isinstance(failure, ClosedError):  # by another thread, meanwhile
                return []
            raise failure
        taken = []
        for encoded, info in samples:
            if info.valid_data:
                try:
                    values = self._decode(encoded)
                except DecodeError:
                    self.damaged += 1
                else:
                    taken.append(Arrival(values, info.publication_handle, info.source_timestamp))
        return taken

    def matched(self) -> int:
        """How many writers there are."""
        status = dds_c_t.subscription_matched_status()
        code = self._entity._get_subscription_matched_status(self._ref, ctypes.byref(status))
        if code != 0:
            raise _failure(self, "count writers", code)
        return int(status.current_count)

    def close(self) -> None:
        """Stop reading."""
        if not self._closed:
            self._closed = True
            self._owner._drop_reader(self)


class AgentEntities(Closing):
    """The agent entities of a process. Any thread may open and close; one thread waits."""

    def __init__(self, participant: Participant) -> None:
        self._participant = participant
        self._lock = Lock()
        self._topics = AgentTopics(participant)
        self._publisher = Publisher(participant.entity)
        self._subscriber = Subscriber(participant.entity)
        self._waitset = WaitSet(participant.entity)
        self._guard = GuardCondition(participant.entity)
        self._waitset._waitset_attach(self._waitset._ref, self._guard._ref, _WOKEN)
        self._triggered = (dds_c_t.attach * _MOST_TRIGGERED)()
        self._writers: set[AgentWriter] = set()
        self._readers: dict[int, AgentReader] = {}
        self._newest = 0
        self._closed = False
        participant.host(self)

    def writer(self, name: str, declaration: Declaration, *, reliable: bool) -> AgentWriter:
        """Open a writer of a topic.

        Raises:
            TypeRefused: The topic's name cannot be, or it is in use with another type.
            DomainError: Cyclone failed.
        """
        with self._lock:
            self._check_open()
            topic = self._topics.use(name, declaration)
            try:
                entity = DataWriter(self._publisher, topic.entity, _writer_qos(reliable=reliable))
            except DDSException as error:
                self._topics.give_back(topic)
                raise DomainError(f"agent writer of {name}", str(error)) from None
            writer = AgentWriter(self, topic, entity)
            self._writers.add(writer)
        return writer

    def reader(self, name: str, declaration: Declaration, *, reliable: bool) -> AgentReader:
        """Open a reader of a topic; a wait under way notices it. Raises as `writer` does."""
        with self._lock:
            self._check_open()
            topic = self._topics.use(name, declaration)
            try:
                entity = DataReader(self._subscriber, topic.entity, _reader_qos(reliable=reliable))
            except DDSException as error:
                self._topics.give_back(topic)
                raise DomainError(f"agent reader of {name}", str(error)) from None
            self._newest += 1
            reader = AgentReader(self, topic, entity, self._newest)
            self._readers[reader.number] = reader
            condition = reader._condition
            self._waitset._waitset_attach(self._waitset._ref, condition._ref, reader.number)
        return reader

    def wait(self, timeout_s: float) -> list[AgentReader]:
        """Wait, without Python's lock, until readers have something, a wake, or the time is up.

        Returns:
            The readers that have something to take; none when woken, or the time is up.
        """
        count = self._waitset._waitset_wait(
            self._waitset._ref, self._triggered, _MOST_TRIGGERED, nanoseconds(timeout_s)
        )
        if self._closed:
            return []
        if count < 0:
            raise DomainError("wait for agent readers", str(DDSException(count)))
        numbers = [number or _WOKEN for number in self._triggered[: min(count, _MOST_TRIGGERED)]]
        if _WOKEN in numbers:
            self._guard.take()
        return [reader for number in numbers if (reader := self._readers.get(number)) is not None]

    def wake(self) -> None:
        """End the wait under way, or the next one. Any thread may call it."""
        if not self._closed:
            self._guard.set(True)

    @property
    def counts(self) -> tuple[int, int, int]:
        """How many writers, readers and topics there are."""
        return len(self._writers), len(self._readers), len(self._topics)

    def _drop_writer(self, writer: AgentWriter) -> None:
        with self._lock:
            self._writers.discard(writer)
            delete(writer._entity)
            self._topics.give_back(writer.topic)

    def _drop_reader(self, reader: AgentReader) -> None:
        with self._lock:
            self._readers.pop(reader.number, None)
            delete(reader._condition)
            delete(reader._entity)
            self._topics.give_back(reader.topic)

    def _check_open(self) -> None:
        if self._closed:
            raise ClosedError("agent entities")

    def close(self) -> None:
        """Close all of them; a wait under way ends."""
        with self._lock:
            if self._closed:
                return
            self._guard.set(True)
            self._closed = True
        for writer in tuple(self._writers):
            writer.close()
        for reader in tuple(self._readers.values()):
            reader.close()
        for entity in (self._waitset, self._guard, self._publisher, self._subscriber):
            delete(entity)
        self._participant.dismiss(self)


def _failure(entity: AgentWriter | AgentReader, operation: str, code: int) -> Exception:
    name = f"agent entity of {entity.topic.name}"
    if entity._closed:
        return ClosedError(name)
    return DomainError(f"{name}: {operation}", str(DDSException(code)))


def _writer_qos(*, reliable: bool) -> Qos:
    return Qos(
        *_common(WRITER_DEPTH, reliable=reliable),
        # The plan writes XCDR version 1.
        Policy.DataRepresentation(use_cdrv0_representation=True),
        Policy.WriterDataLifecycle(autodispose=False),
    )


def _reader_qos(*, reliable: bool) -> Qos:
    both = Policy.DataRepresentation(use_cdrv0_representation=True, use_xcdrv2_representation=True)
    return Qos(*_common(READER_DEPTH, reliable=reliable), both)


def _common(depth: int, *, reliable: bool) -> list[Any]:
    return [
        # No blocking inside Cyclone: see evenflow.domain.endpoints.
        Policy.Reliability.Reliable(0) if reliable else Policy.Reliability.BestEffort,
        Policy.Durability.Volatile,
        Policy.History.KeepLast(depth),
    ]
