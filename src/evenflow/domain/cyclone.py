"""A process's place in the domain: one participant, its writers, readers and waiters.

A process opens one :class:`Participant` and everything else through it. Several participants of one
process (tests, a publisher beside a node) share Cyclone's domain, which is set up once per process
by the first of them.

**Apart.** Cyclone receives for a whole process in one thread, and that thread stands still while a
reader with a resource limit is full (measured: a topic beside it got 50 of 2,565 samples). Such
readers, which only plain topics have (:mod:`evenflow.domain.typed`), are opened by a participant
*apart*: in the same domain as others see it, with sockets and threads of its own. So are the
writers of such topics, in a third place, where acknowledgements are asked for sooner.

Waiting is done in threads of our own with a :class:`Waiter`, never by listeners (deadlocks).
Closing goes from the leaves to the root: waiters, readers, writers, participant, domain. A thread
that still waits is woken; writers get a moment, all together, to be acknowledged.
"""

from __future__ import annotations

import os
import threading
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, Protocol

from cyclonedds.core import DDSException, Entity, GuardCondition, ReadCondition, WaitSet
from cyclonedds.domain import Domain, DomainParticipant
from cyclonedds.topic import Topic

from evenflow.closing import Closing
from evenflow.domain.channels import Gone
from evenflow.domain.endpoints import Reader, Writer, delete
from evenflow.domain.flow import Flow
from evenflow.domain.quality import nanoseconds
from evenflow.domain.settings import (
    Apart,
    check_interface,
    check_peers,
    cyclone_xml,
    why_not_entered,
)
from evenflow.domain.types import idl_type
from evenflow.errors import ClosedError, DomainError, UsageError

if TYPE_CHECKING:
    from collections.abc import Iterable

    from evenflow.config import DomainConfig
    from evenflow.domain.channels import Channel

__all__ = ["Apart", "Gone", "Participant", "Reader", "Waiter", "Writer"]

FAREWELL_S: Final = 1.0
"""How long closing a participant waits for what its writers have not got acknowledged."""
_LONGEST_WAIT_S: Final = 3_600.0
_APART: Final = 1_000
"""Added to a domain's id, which is at most 230, for each other place of the process in it."""


_making_topics: Final = threading.RLock()


class Participant(Closing):
    """This process in a domain."""

    def __init__(self, config: DomainConfig, *, apart: Apart = Apart.NO) -> None:
        """Enter the domain; `DomainError` when that is not possible.

        Args:
            config: The domain.
            apart: Receive in a thread that nobody shares but who is apart in the same place.
        """
        self.config = config
        self._process = os.getpid()
        self._place = _Place(config, apart)
        self._lock = threading.Lock()
        self._topics: dict[str, Topic[Any]] = {}
        self._flow = Flow()
        self._writers: set[Writer] = set()
        self._readers: set[Reader] = set()
        self._waiters: list[Waiter] = []
        self._guests: dict[Closing, None] = {}
        self._closed = False
        _domains.enter(self._place)
        try:
            self.entity = DomainParticipant(self._place.id)
            """Cyclone's own participant; for :mod:`evenflow.domain` alone."""
        except DDSException as error:
            _domains.leave(self._place)
            raise DomainError(f"domain {config.id}: participant", str(error)) from None

    def writer(self, channel: Channel, partition: str = "") -> Writer:
        """Open a writer of a channel, in a partition when the channel has them."""
        with self._lock:
            topic = self._topic(channel)
            try:
                writer = Writer(
                    self.entity,
                    topic,
                    channel,
                    partition=partition,
                    liveliness_s=self.config.liveliness_s,
                    flow=self._flow,
                    forget=self._writers.discard,
                )
            except DDSException as error:
                raise DomainError(f"writer of {channel.name}", str(error)) from None
            self._writers.add(writer)
        return writer

    def reader(self, channel: Channel, partitions: Iterable[str] = ()) -> Reader:
        """Open a reader of a channel, of any number of partitions when the channel has them."""
        with self._lock:
            topic = self._topic(channel)
            try:
                reader = Reader(
                    self.entity,
                    topic,
                    channel,
                    partitions=partitions,
                    forget=self._readers.discard,
                )
            except DDSException as error:
                raise DomainError(f"reader of {channel.name}", str(error)) from None
            self._readers.add(reader)
        return reader

    def waiter(self, *readers: Reader) -> Waiter:
        """Open a waiter, for readers."""
        with self._lock:
            self._check_open()
            waiter = Waiter(self.entity)
            self._waiters.append(waiter)
        for reader in readers:
            waiter.attach(reader)
        return waiter

    def typed_topic(self, name: str, type_: type[Any]) -> Topic[Any]:
        """The DDS topic of a type that is not ours: a ``cyclonedds.idl.IdlStruct``."""
        with self._lock:
            self._check_open()
            topic = self._topics.get(name)
            if topic is None:
                topic = self._topics[name] = self.make_topic(name, type_)
        if topic.data_type is not type_:
            raise DomainError(
                f"topic {name}",
                f"this process has it open with the type {topic.data_type.__name__} already",
            )
        return topic

    def make_topic(self, name: str, type_: type[Any]) -> Topic[Any]:
        """Make a DDS topic that its maker deletes, before the participant goes."""
        try:
            # Several participants of a process must not make the same type at the same time.
            with _making_topics:
                return Topic(self.entity, name, type_)
        except (DDSException, TypeError) as error:
            raise DomainError(f"topic {name}", str(error)) from None

    def host(self, guest: Closing) -> None:
        """Close something that stands on this participant before the participant goes."""
        with self._lock:
            self._check_open()
            self._guests[guest] = None

    def dismiss(self, guest: Closing) -> None:
        """It has closed by itself."""
        with self._lock:
            self._guests.pop(guest, None)

    @property
    def endpoints(self) -> int:
        """How many readers and writers are open: what every other process has to know of this."""
        with self._lock:
            return len(self._readers) + len(self._writers)

    def _topic(self, channel: Channel) -> Topic[Any]:
        self._check_open()
        topic = self._topics.get(channel.name)
        if topic is None:
            with _making_topics:
                struct = idl_type(channel.message_type)
                topic = self._topics[channel.name] = self.make_topic(channel.name, struct)
        return topic

    def _check_open(self) -> None:
        if self._closed:
            raise ClosedError(f"participant of domain {self.config.id}")

    def close(self) -> None:
        """Close everything that was opened through this participant, and leave the domain.

        In a child that was forked from its process nothing happens: it is still in the domain.
        """
        if os.getpid() != self._process:
            return
        with self._lock:
            if self._closed:
                return
            self._closed = True
            guests = list(self._guests)
        for guest in reversed(guests):
            guest.close()
        for waiter in self._waiters:
            waiter.close()
        for reader in tuple(self._readers):
            reader.close()
        deadline = time.monotonic() + FAREWELL_S
        for writer in tuple(self._writers):
            writer.wait_acked(max(0.0, deadline - time.monotonic()))
            writer.close()
        for topic in self._topics.values():
            delete(topic)
        delete(self.entity)
        _domains.leave(self._place)


class Readable(Protocol):
    """What a waiter can wait for."""

    condition: ReadCondition


class Waiter:
    """Lets one thread wait until a reader has something to take, or another thread wakes it."""

    def __init__(self, participant: DomainParticipant) -> None:
        self._waitset = WaitSet(participant)
        self._guard = GuardCondition(participant)
        self._waitset.attach(self._guard)
        self._closed = False

    def attach(self, reader: Readable) -> None:
        """Wait for this reader too; a wait under way notices it."""
        self._waitset.attach(reader.condition)

    def detach(self, reader: Readable) -> None:
        """Wait for this reader no longer. A closed reader is detached already."""
        self._waitset.detach(reader.condition)

    def wait(self, timeout_s: float) -> bool:
        """Wait, without Python's lock, until there is something to take, a wake, or the time is up.

        Returns:
            Whether there was a reason to stop waiting: look at all the readers. False when the time
            was up, or the waiter was closed.
        """
        timeout = nanoseconds(min(max(timeout_s, 0.0), _LONGEST_WAIT_S))
        try:
            triggered = self._waitset.wait(timeout)
            woken = self._guard.take()
        except DDSException as error:
            if self._closed:
                return False
            raise DomainError("wait", str(error)) from None
        return not self._closed and (bool(triggered) or woken)

    def wake(self) -> None:
        """End the wait under way, or the next one. Any thread may call it, at any time."""
        try:
            self._guard.set(True)
        except DDSException as error:
            if not self._closed:
                raise DomainError("wake", str(error)) from None

    def close(self) -> None:
        """Stop waiting; a wait under way ends."""
        if not self._closed:
            self._closed = True
            self.wake()
            delete(self._waitset)
            delete(self._guard)


@dataclass(frozen=True, slots=True)
class _Place:
    """A domain as Cyclone sees it from this process."""

    config: DomainConfig
    apart: Apart

    @property
    def id(self) -> int:
        return self.config.id + _APART * self.apart.value


class _Domains:
    """The domains that this process is in: Cyclone sets up each once per process."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._open: dict[int, tuple[Domain, str, int]] = {}
        self._inherited = False
        """Whether this is a child of a process that was in a domain: Cyclone has no threads here,
        and gets no others."""

    def on_forked(self) -> None:
        """This is a child: what is open is the parent's, also when Python finds it unused here."""
        self._lock = threading.Lock()  # who had it is not here
        self._inherited = self._inherited or bool(self._open)
        Entity._entities.clear()

    def enter(self, place: _Place) -> None:
        if self._inherited:
            raise UsageError(
                f"this process was forked from one that is in a DDS domain, and cannot enter domain"
                f" {place.config.id}: start it by multiprocessing's 'spawn', or before the first"
                " Publisher, Node or consumer of its parent"
            )
        xml = cyclone_xml(place.config, apart=place.apart)
        with self._lock:
            domain, known, users = self._open.get(place.id, (None, xml, 0))
            if known != xml:
                raise DomainError(
                    f"domain {place.config.id}",
                    "this process is in this domain already with other settings:"
                    " use the same [domain] section for all of one process",
                )
            if domain is None:
                domain = self._create(place, xml)
            self._open[place.id] = (domain, xml, users + 1)

    def _create(self, place: _Place, xml: str) -> Domain:
        config = place.config
        check_interface(config)
        check_peers(config)
        try:
            return Domain(place.id, xml)
        except DDSException as error:
            raise DomainError(f"domain {config.id}", f"{error} {why_not_entered(config)}") from None

    def leave(self, place: _Place) -> None:
        with self._lock:
            domain, xml, users = self._open.pop(place.id)
            if users > 1:
                self._open[place.id] = (domain, xml, users - 1)
            else:
                delete(domain)


_domains: Final = _Domains()
os.register_at_fork(after_in_child=_domains.on_forked)
