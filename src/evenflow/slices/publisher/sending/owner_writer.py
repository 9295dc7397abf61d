"""The way of samples into the domain: one DDS writer for each node, whatever it owns.

Samples are queued under the publisher's lock, in the order they are made, and written outside of it
by whoever holds the owner writer's own lock, so a slow write delays nobody but its own node.

A sample that is not written is *unsent*: its slices have no owner, their owner is not there, or it
does not keep up. It stays retained, and is a hole that its owner finds by the numbers and has
replayed. A writer that was just opened has a moment to meet its reader, in which samples wait for
it. When a reader does not keep up, its DDS writer fills and refuses a sample; the node is then
*congested*: samples are not written, so that a stopped node costs the others nothing, until it has
acknowledged everything that is on its way (or is gone).
"""

from __future__ import annotations

from collections import deque
from threading import Lock
from typing import TYPE_CHECKING, Final

from evenflow.domain import channels
from evenflow.errors import ClosedError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from evenflow.domain.cyclone import Participant, Writer
    from evenflow.slices.publisher.retention import Retained
    from evenflow.slices.publisher.sealing import SealedSample

MATCH_S: Final = 1.0
"""How long samples wait for the reader of a node that was just heard of."""
FEW_UNSENT: Final = 256
"""Notes of unsent samples that are kept without looking whether they still matter."""


class Unsent:
    """Which samples were not written and are still kept. Any thread may ask and tell.

    Args:
        is_retained: Whether a sample, by its serial number, is still kept.
    """

    __slots__ = ("_lock", "_look_at", "_serials", "is_retained", "skipped")

    def __init__(self, is_retained: Callable[[int], bool]) -> None:
        self.is_retained = is_retained
        self.skipped = 0
        """Samples that were not written at first."""
        self._serials: set[int] = set()
        self._look_at = FEW_UNSENT
        self._lock = Lock()

    def skip(self, serial: int) -> None:
        """A sample is not written."""
        with self._lock:
            self.skipped += 1
            self._note(serial)

    def lose(self, serial: int) -> None:
        """A sample was written to a node that is gone."""
        with self._lock:
            self._note(serial)

    def _note(self, serial: int) -> None:
        self._serials.add(serial)
        if len(self._serials) > self._look_at:
            self._serials = set(filter(self.is_retained, self._serials))
            self._look_at = max(FEW_UNSENT, 2 * len(self._serials))

    def has(self, upto: int) -> bool:
        """Whether there is one up to this serial number."""
        with self._lock:
            return any(serial <= upto and self.is_retained(serial) for serial in self._serials)

    def all(self, upto: int) -> list[int]:
        """Those up to this serial number."""
        with self._lock:
            return [s for s in sorted(self._serials) if s <= upto and self.is_retained(s)]

    def send(self, serial: int) -> None:
        """A sample is on its way after all."""
        with self._lock:
            self._serials.discard(serial)


class OwnerWriter:
    """Writes samples to one node."""

    __slots__ = ("_lock", "_look_at", "_met", "_queue", "_sent", "_unsent", "_wait_until",
                 "_writer", "congested", "samples", "written")  # fmt: skip

    def __init__(self, writer: Writer, unsent: Unsent, now: float) -> None:
        self._writer = writer
        self._unsent = unsent
        self._lock = Lock()
        self._queue: deque[Retained] = deque()
        self._wait_until = now + MATCH_S
        self._met = False
        self._sent: list[int] = []
        """Serial numbers of the samples that were written and may still be kept."""
        self._look_at = FEW_UNSENT
        self.congested = False
        self.samples = 0
        """Samples written."""
        self.written = False
        """Whether anything was written since this was last reset."""

    def put(self, sample: Retained) -> None:
        """Queue a sample; call :meth:`drain` afterwards."""
        self._queue.append(sample)

    def drain(self, now: float) -> None:
        """Write what is queued, unless the reader is still to come."""
        with self._lock:
            early = not self._met and now < self._wait_until
            if early and self._queue and not self._is_met():
                return
            while self._queue:
                self._send(self._queue[0])

    def _send(self, sample: Retained) -> None:
        """Write the first sample of the queue, or note that it is unsent.

        It leaves the queue afterwards: whoever asks meanwhile whether all is sent must not miss it.
        """
        sent = False
        try:
            may = not self.congested and self._is_met()
            sent = may and self._writer.write_encoded(bytes(sample.encoded))
            self.congested = not sent and self._is_met()
        finally:
            if sent:
                self._note(sample.serial)
                self.written = True
                self.samples += 1
            else:
                self._unsent.skip(sample.serial)
            self._queue.popleft()

    def _note(self, serial: int) -> None:
        """A sample is at the node, or on its way: lost with it as long as it is kept here."""
        self._sent.append(serial)
        if len(self._sent) > self._look_at:
            self._sent = self._at_stake()
            self._look_at = max(FEW_UNSENT, 2 * len(self._sent))

    def _at_stake(self) -> list[int]:
        return list(filter(self._unsent.is_retained, self._sent))

    def _is_met(self) -> bool:
        met = self._writer.matched() > 0
        self._met = self._met or met
        return met

    @property
    def is_waiting(self) -> bool:
        """Whether samples wait for the reader to come."""
        return bool(self._queue)

    def is_acknowledged(self) -> bool:
        """Whether nothing is on its way to the node; that is so also when it is gone."""
        return not self._queue and self._writer.is_acked(0.0)

    def is_safe(self) -> bool:
        """Whether the node has everything that was queued and is still kept."""
        return self.is_acknowledged() and (self.has_reader() or not self._at_stake())

    def needs_no_wait(self) -> bool:
        """Whether the node has everything, or does not keep up and is not waited for."""
        return self.congested or self.is_waiting or self.is_acknowledged()

    def recover(self) -> None:
        """Write again if the node has caught up."""
        if self.congested and self.is_acknowledged():
            self.congested = False

    def has_reader(self) -> bool:
        """Whether the node reads."""
        try:
            return self._writer.matched() > 0
        except ClosedError:
            return False

    def leave(self) -> bool:
        """Close the writer unless it is in use, or the node reads; return whether it is closed."""
        if not self._lock.acquire(blocking=False):
            return False
        try:
            if self._queue or self.has_reader():
                return False
            for serial in self._at_stake():
                self._unsent.lose(serial)
            self._writer.close()
            return True
        finally:
            self._lock.release()

    def close(self) -> None:
        """Close the writer."""
        self._writer.close()


class OwnerWriters:
    """The writers of one publisher, one for each node of its topic.

    Args:
        participant: Where they are opened.
        topic: The evenflow topic.
        is_retained: Whether a sample, by its serial number, is still kept.
    """

    def __init__(
        self, participant: Participant, topic: str, is_retained: Callable[[int], bool]
    ) -> None:
        self._participant = participant
        self._channel = channels.data(topic)
        self._writers: dict[str, OwnerWriter] = {}
        self._closed_samples = 0
        self._unsent = Unsent(is_retained)
        self.needs_care = False
        """Whether a node was congested, or its reader still to come, when last looked at."""

    def meet(self, nodes: Iterable[str], now: float) -> None:
        """Open writers for nodes that have none; called with the publisher's lock held."""
        for node in nodes:
            # Whoever has a name that no node can have gets nothing, and harms nobody.
            if node not in self._writers and channels.is_node(node):
                writer = self._participant.writer(self._channel, channels.node_partition(node))
                self._writers[node] = OwnerWriter(writer, self._unsent, now)

    def recall(self, serials: Iterable[int]) -> None:
        """Samples of an earlier life: who got them is not known, so a flush sends them again."""
        for serial in serials:
            self._unsent.lose(serial)

    def part(self, nodes: Iterable[str]) -> None:
        """Close the writers of nodes that are gone; called with the publisher's lock held."""
        for node in nodes:
            writer = self._writers.get(node)
            if writer is not None and writer.leave():
                del self._writers[node]
                self._closed_samples += writer.samples

    def put(self, sealed: Iterable[SealedSample], now: float) -> list[str]:
        """Queue samples for their owners; return whom to :meth:`drain`. Called with the lock."""
        touched = {}
        for node, sample in sealed:
            self.meet((node,), now)
            writer = self._writers.get(node)
            if writer is not None:
                writer.put(sample)
                touched[node] = True
            else:
                self._unsent.skip(sample.serial)
        return list(touched)

    def drain(self, nodes: Iterable[str], now: float) -> None:
        """Write what is queued for these nodes."""
        for node in nodes:
            writer = self._writers.get(node)
            if writer is not None:
                writer.drain(now)
                if writer.congested or writer.is_waiting:
                    self.needs_care = True

    def tend(self, now: float) -> None:
        """Write again to the nodes that have caught up, or whose readers have come."""
        # First, so that it stays when another thread finds one that this has looked at already.
        self.needs_care = False
        for writer in list(self._writers.values()):
            writer.recover()
            if writer.is_waiting:
                writer.drain(now)
            if writer.congested or writer.is_waiting:
                self.needs_care = True

    def put_unsent(
        self, upto: int, addressed: Callable[[int], list[SealedSample]], now: float
    ) -> list[str]:
        """Queue what was unsent and has owners now that keep up; called with the publisher's lock.

        Args:
            upto: Samples up to this serial number.
            addressed: What of a sample belongs to whom; empty while a part of it is nobody's.
            now: The time.

        Returns:
            Whom to :meth:`drain`.
        """
        ready = {node for node in self.readers if not self._writers[node].congested}
        touched: list[str] = []
        for serial in self._unsent.all(upto) if ready else ():
            parts = addressed(serial)
            if parts and all(node in ready for node, _ in parts):
                self._unsent.send(serial)
                touched += self.put(parts, now)
        return touched

    def take_written(self) -> list[str]:
        """The nodes that were written to since this was last asked."""
        written = [node for node, writer in list(self._writers.items()) if writer.written]
        for node in written:
            self._writers[node].written = False
        return written

    def needs_no_wait(self, node: str) -> bool:
        """Whether a node has everything, or is not waited for."""
        writer = self._writers.get(node)
        return writer is None or writer.needs_no_wait()

    def are_safe(self, upto: int) -> bool:
        """Whether the nodes have all samples up to this serial number that are still kept."""
        writers = list(self._writers.values())
        return all(writer.is_safe() for writer in writers) and not self._unsent.has(upto)

    @property
    def nodes(self) -> list[str]:
        """The nodes that have a writer."""
        return list(self._writers)

    @property
    def readers(self) -> frozenset[str]:
        """The nodes that read."""
        return frozenset(n for n, writer in list(self._writers.items()) if writer.has_reader())

    @property
    def congested(self) -> int:
        """How many nodes are congested."""
        return sum(writer.congested for writer in list(self._writers.values()))

    @property
    def samples(self) -> int:
        """Samples written, replays not counted."""
        return self._closed_samples + sum(w.samples for w in list(self._writers.values()))

    @property
    def skipped(self) -> int:
        """Samples that were not written at first."""
        return self._unsent.skipped

    def close(self) -> None:
        """Close all writers."""
        for writer in self._writers.values():
            writer.close()
