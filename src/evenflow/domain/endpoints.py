"""Writers and readers: encoded bytes in and out of Cyclone's C layer.

No object of an IDL class is made for any sample.

**Python's lock** (cyclonedds 11.0.1): ``ddspy_write`` and ``ddspy_take`` hold it until they return;
whatever goes through ``ctypes`` (waiting, deleting, asking for a status) lets go of it. A take
never blocks. A write would, for up to the writer's ``max_blocking_time`` when a reader does not
acknowledge, and the whole process would stand still with it. Writers are therefore made with a
blocking time of zero, and :meth:`Writer.write_encoded` waits for room itself, by waiting for
acknowledgements.

**Full writers.** Cyclone refuses a sample when a writer has too much unacknowledged. Each writer
has its own measure, so the readers of one stopped process fill the writers they read from and no
others; :mod:`evenflow.domain.flow` tells when it is of no use to wait for room.

**Gone.** On a keyed channel DDS tells a reader when the last writer of an instance is gone, be it
closed, dead, or silent for longer than its lease. A writer that was silent and speaks again is
simply heard again.
"""

from __future__ import annotations

import ctypes
import time
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Final, cast

from cyclonedds._clayer import (
    ddspy_dispose,
    ddspy_take,
    ddspy_unregister_instance,
    ddspy_write,
)
from cyclonedds.core import DDSException, InstanceState, ReadCondition, SampleState, ViewState
from cyclonedds.internal import dds_c_t
from cyclonedds.pub import DataWriter, Publisher
from cyclonedds.qos import Policy
from cyclonedds.sub import DataReader, Subscriber

from evenflow.domain.channels import Gone
from evenflow.domain.codec import Codec, codec_of
from evenflow.domain.quality import nanoseconds, partition_qos, reader_qos, writer_qos
from evenflow.errors import ClosedError, DecodeError, DomainError
from evenflow.model.bounds import newest_term
from evenflow.model.sample import Sample

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from cyclonedds.core import Entity
    from cyclonedds.domain import DomainParticipant
    from cyclonedds.topic import Topic

    from evenflow.domain.channels import Channel
    from evenflow.domain.flow import Flow
    from evenflow.model.wire import Message

_RETRY_S: Final = 0.00002
_BYTE_S: Final = 1e-8
"""A large sample may wait longer for its like to be sent: 100 MB/s is less than any link we use."""
_ANY: Final = SampleState.Any | ViewState.Any | InstanceState.Any


def _decode_sample(encoded: bytes, _newest_term: int) -> Sample:
    """Items have numbers and no terms."""
    return Sample(encoded)


class Writer:
    """Writes messages of one channel into one partition. Any thread may write."""

    def __init__(
        self,
        participant: DomainParticipant,
        topic: Topic[Any],
        channel: Channel,
        *,
        partition: str,
        liveliness_s: float,
        flow: Flow,
        forget: Callable[[Writer], None],
    ) -> None:
        self.channel = channel
        self.partition = partition
        self._codec = _codec_of(channel)
        self._flow = flow
        self._forget = forget
        self._publisher = Publisher(participant, partition_qos([partition] if partition else []))
        self._writer = DataWriter(self._publisher, topic, writer_qos(channel, liveliness_s))
        self._ref: int = self._writer._ref
        self._matched = 0
        self._counts = (0, 0)
        self._closed = False

    def write(self, message: Message | Sample) -> bool:
        """Write a message; see :meth:`write_encoded`."""
        if self._codec is None:
            return self.write_encoded(bytes(cast("Sample", message).encoded))
        return self.write_encoded(self._codec.encode(message))

    def write_encoded(self, encoded: bytes) -> bool:
        """Write an encoded sample.

        Returns:
            False when there was no room for it within the channel's time: it is not written.

        Raises:
            DomainError: The bytes are no sample of this channel, or Cyclone failed.
        """
        code = ddspy_write(self._ref, encoded)
        if code != 0 and not self._wait_for_room(encoded, code):
            return False
        self._flow.wrote(self, len(encoded))
        return True

    def _wait_for_room(self, encoded: bytes, code: int) -> bool:
        start = time.monotonic()
        limit = self.channel.blocking_s + _BYTE_S * len(encoded)
        while code == DDSException.DDS_RETCODE_TIMEOUT:
            now = time.monotonic()
            if not self._flow.may_wait(now):
                return False
            if now - start >= limit:
                self._flow.waited_in_vain(now - start)
                return False
            # A full writer takes no more until nearly all is acknowledged: no use in asking before.
            if self.is_acked(start + limit - now):
                time.sleep(_RETRY_S)
            code = ddspy_write(self._ref, encoded)
        if code != 0:
            raise self._failure("write", code)
        return True

    def withdraw(self, message: Message) -> None:
        """Say no more about an instance of a keyed channel: readers hear that it is gone.

        Args:
            message: Any message of that instance.
        """
        assert self._codec is not None
        code = ddspy_unregister_instance(self._ref, self._codec.encode(message))
        if code not in (0, DDSException.DDS_RETCODE_PRECONDITION_NOT_MET):  # it is not told of
            raise self._failure("withdraw", code)

    def dispose(self, message: Message) -> None:
        """Say that an instance of a keyed channel is over: readers hear that it is disposed.

        Args:
            message: Any message of that instance.
        """
        assert self._codec is not None
        code = ddspy_dispose(self._ref, self._codec.encode(message))
        if code != 0:
            raise self._failure("dispose", code)
        self.withdraw(message)

    def matched(self) -> int:
        """Return how many readers there are of this very partition.

        Who reads along, by a wildcard, is sent everything and counts for nobody.
        """
        status = dds_c_t.publication_matched_status()
        code = self._writer._get_publication_matched_status(self._ref, ctypes.byref(status))
        if code != 0:
            raise self._failure("count readers", code)
        if not self.partition:
            return int(status.current_count)
        # Together they change whenever a reader comes or goes.
        counts = (status.total_count, status.current_count)
        if counts != self._counts:
            # Cyclone raises either when readers change while they are listed (the second when one
            # is new): then the next look counts.
            with suppress(DDSException, IndexError):
                self._matched, self._counts = self._readers(), counts
        return min(self._matched, int(status.current_count))

    def _readers(self) -> int:
        """Count the readers that name the partition: slow, so asked only when they change."""
        found = map(
            self._writer.get_matched_subscription_data, self._writer.get_matched_subscriptions()
        )
        return sum(
            self.partition in endpoint.qos[Policy.Partition].partitions
            for endpoint in found
            if endpoint is not None and Policy.Partition in endpoint.qos
        )

    def wait_acked(self, timeout_s: float) -> bool:
        """Wait until every reader has received everything; return whether that is so."""
        code = self._wait(timeout_s)
        if code not in {0, DDSException.DDS_RETCODE_TIMEOUT}:
            raise self._failure("wait for acknowledgement", code)
        return bool(code == 0)

    def is_acked(self, timeout_s: float) -> bool:
        """Whether, perhaps after a wait, nothing is outstanding; a closed writer has nothing."""
        return self._wait(timeout_s) != DDSException.DDS_RETCODE_TIMEOUT

    def _wait(self, timeout_s: float) -> int:
        return int(self._writer._wait_for_acks(self._ref, nanoseconds(timeout_s)))

    def close(self) -> None:
        """Leave at once; what is not acknowledged is dropped (:meth:`wait_acked` comes before)."""
        if not self._closed:
            self._closed = True
            self._forget(self)
            delete(self._writer)
            delete(self._publisher)

    def _failure(self, operation: str, code: int) -> Exception:
        return _failure(self, f"writer of {self.channel.name}", operation, code)


class Reader:
    """Reads messages of one channel from some partitions. One thread at a time may take."""

    def __init__(
        self,
        participant: DomainParticipant,
        topic: Topic[Any],
        channel: Channel,
        *,
        partitions: Iterable[str],
        forget: Callable[[Reader], None],
    ) -> None:
        self.channel = channel
        self.partitions = tuple(partitions)
        self._forget = forget
        self.damaged = 0
        """Samples that could not be decoded and were skipped."""
        self._codec = _codec_of(channel)
        self._keyed = channel.keyed
        decode = _decode_sample if self._codec is None else self._codec.decode
        self._decode = cast("Callable[[bytes, int], Message | Sample]", decode)
        self._subscriber = Subscriber(participant, partition_qos(self.partitions))
        self._reader = DataReader(self._subscriber, topic, reader_qos(channel))
        self._ref: int = self._reader._ref
        self.condition = ReadCondition(self._reader, _ANY)
        """Holds while there is something to take; what a waiter waits for."""
        self._closed = False

    def take(self, limit: int = 512) -> list[Any]:
        """Take what has arrived, at most ``limit`` samples.

        Returns:
            Messages (or samples of items) in the order of their writers, and on a keyed channel
            :class:`~evenflow.domain.channels.Gone`.
        """
        samples = ddspy_take(self._ref, _ANY, limit)
        if isinstance(samples, int):
            raise self._failure("take", samples)
        taken: list[Any] = []
        if not samples:
            return taken
        newest = newest_term(time.time())
        for encoded, info in samples:
            try:
                if info.valid_data:
                    taken.append(self._decode(encoded, newest))
                if self._keyed and info.instance_state != InstanceState.Alive:
                    self._add_gone(taken, encoded, info)
            except DecodeError:
                self.damaged += 1
        return taken

    def _add_gone(self, taken: list[Any], encoded: bytes, info: Any) -> None:
        # DDS tells by a sample without data that an instance is gone, unless one with data still
        # waited to be taken: then the state of that one says so.
        assert self._codec is not None
        disposed = info.instance_state == InstanceState.NotAliveDisposed
        if not info.valid_data:
            key = self._codec.decode_key(encoded)
        elif info.sample_rank == 0:
            key = self._codec.key_of(taken[-1])
        else:
            return
        taken.append(Gone(self.channel.message_type, key, disposed))

    def matched(self) -> int:
        """Return how many writers there are."""
        status = dds_c_t.subscription_matched_status()
        code = self._reader._get_subscription_matched_status(self._ref, ctypes.byref(status))
        if code != 0:
            raise self._failure("count writers", code)
        return int(status.current_count)

    def close(self) -> None:
        """Stop reading. Waiters forget this reader."""
        if not self._closed:
            self._closed = True
            self._forget(self)
            delete(self.condition)
            delete(self._reader)
            delete(self._subscriber)

    def _failure(self, operation: str, code: int) -> Exception:
        return _failure(self, f"reader of {self.channel.name}", operation, code)


def _codec_of(channel: Channel) -> Codec[Any] | None:
    """Return the codec of a channel's messages; None for samples of items, which are their own."""
    return None if channel.message_type is Sample else codec_of(channel.message_type)


def _failure(endpoint: Writer | Reader, name: str, operation: str, code: int) -> Exception:
    if endpoint._closed:
        return ClosedError(name)
    return DomainError(f"{name}: {operation}", str(DDSException(code)))


def delete(entity: Entity) -> None:
    """Delete a DDS entity now rather than when Python collects it, and only once."""
    if entity._entities.pop(entity._ref, None) is not None:
        entity._delete(entity._ref)
