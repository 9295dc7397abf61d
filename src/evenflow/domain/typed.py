"""Writers and readers of types that are not ours: the user's own ``cyclonedds.idl.IdlStruct``.

Samples go through the codec of the Python binding, about 50 us each way; the channels of Evenflow
do without it (:mod:`evenflow.domain.endpoints`). What is said there of Python's lock holds here
too: a write never blocks inside Cyclone, and waiting for acknowledgements lets go of the lock.

**Limits.** At a writer Cyclone heeds no resource limit in samples: it counts unacknowledged bytes.
:mod:`evenflow.qos.plain` counts the samples. At a reader it heeds them: a full reader takes no
more, and what its process receives waits (see *apart* in :mod:`evenflow.domain.cyclone`).

**The filter** (``time_based_filter``) lets a sample of an instance through when its source time is
at least the separation after the last one that was let through; the first always. It acts at the
reader, before the sample is decoded, and counts as lost what it does not let through. It holds for
a new reader only: ``set_qos`` of a live one changes nothing.
"""

from __future__ import annotations

import ctypes
import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from cyclonedds._clayer import ddspy_take, ddspy_write
from cyclonedds.core import DDSException, InstanceState, ReadCondition, SampleState, ViewState
from cyclonedds.internal import dds_c_t
from cyclonedds.pub import DataWriter
from cyclonedds.qos import Policy, Qos
from cyclonedds.sub import DataReader

from evenflow.domain.endpoints import delete
from evenflow.domain.quality import nanoseconds
from evenflow.errors import ClosedError, DomainError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from evenflow.domain.cyclone import Participant

_ANY: Final = SampleState.Any | ViewState.Any | InstanceState.Any
_UNLIMITED: Final = -1
_TAKE: Final = 4_096
"""Samples that are taken by one call."""


@dataclass(frozen=True, slots=True)
class Quality:
    """The quality of service of a foreign topic. Infinite, or 0: no such limit."""

    reliable: bool = True
    durable: bool = False
    """Whether a late reader is given the history (transient local)."""
    depth: int = 0
    """Samples of an instance that are kept; 0: all."""
    deadline_s: float = math.inf
    latency_budget_s: float = 0.0
    lifespan_s: float = math.inf
    max_samples: int = 0
    max_instances: int = 0
    max_samples_per_instance: int = 0


@dataclass(frozen=True, slots=True)
class Taken:
    """What a reader took: a sample, or the end of an instance."""

    sample: Any
    """The sample; of an end, an object of the type in which only the key is of use."""
    writer: int
    """Who wrote it: a number that all readers of this process agree on."""
    time: int
    """When it was written, in nanoseconds since 1970 by the writer's clock."""
    valid: bool
    """False for the end of an instance: disposed, or without a writer."""
    alone: bool
    """Whether the instance has no writer any more."""


class TypedWriter:
    """Writes samples of one type. Any thread may write."""

    def __init__(
        self, participant: Participant, name: str, type_: type[Any], quality: Quality
    ) -> None:
        self.name = name
        topic = participant.typed_topic(name, type_)
        try:
            self._writer = DataWriter(participant.entity, topic, _writer_qos(quality))
        except DDSException as error:
            raise DomainError(f"writer of {name}", str(error)) from None
        self._ref: int = self._writer._ref
        self._closed = False

    def write(self, sample: Any) -> bool:
        """Write; False when too many bytes are unacknowledged: nothing was written."""
        encoded = sample.serialize(use_version_2=self._writer._use_version_2)
        code = ddspy_write(self._ref, encoded.ljust((len(encoded) + 3) & ~3, b"\0"))
        if code == DDSException.DDS_RETCODE_TIMEOUT:
            return False
        if code != 0:
            raise self._failure("write", code)
        return True

    def wait_acked(self, timeout_s: float) -> bool:
        """Wait until all readers have what was written before this call; whether they have."""
        code = self._writer._wait_for_acks(self._ref, nanoseconds(timeout_s))
        return bool(code == 0)

    def matched(self) -> int:
        """How many readers there are."""
        status = dds_c_t.publication_matched_status()
        code = self._writer._get_publication_matched_status(self._ref, ctypes.byref(status))
        if code != 0:
            raise self._failure("count readers", code)
        return int(status.current_count)

    def close(self) -> None:
        """Leave at once; what is not acknowledged is dropped."""
        if not self._closed:
            self._closed = True
            delete(self._writer)

    def _failure(self, operation: str, code: int) -> Exception:
        return _failure(f"writer of {self.name}", operation, code, closed=self._closed)


class TypedReader:
    """Reads samples of one type, with one separation. One thread at a time may take."""

    def __init__(
        self,
        participant: Participant,
        name: str,
        type_: type[Any],
        quality: Quality,
        separation_s: float,
    ) -> None:
        self.name = name
        self._type = type_
        topic = participant.typed_topic(name, type_)
        try:
            self._reader = DataReader(participant.entity, topic, _reader_qos(quality, separation_s))
        except DDSException as error:
            raise DomainError(f"reader of {name}", str(error)) from None
        self._ref: int = self._reader._ref
        self.condition = ReadCondition(self._reader, _ANY)
        """Holds while there is something to take; what a waiter waits for."""
        self._closed = False

    def take(self, limit: int) -> list[Taken]:
        """Take what has arrived, at most ``limit`` samples."""
        samples = ddspy_take(self._ref, _ANY, limit)
        if isinstance(samples, int):
            raise _failure(f"reader of {self.name}", "take", samples, closed=self._closed)
        return [self._taken(encoded, info) for encoded, info in samples]

    def take_all(self) -> list[Taken]:
        """Take all that has arrived."""
        return [taken for part in self._parts() for taken in part]

    def _parts(self) -> Iterator[list[Taken]]:
        part = self.take(_TAKE)
        while len(part) == _TAKE:
            yield part
            part = self.take(_TAKE)
        yield part

    def _taken(self, encoded: bytes, info: Any) -> Taken:
        valid = bool(info.valid_data)
        decode = self._type.deserialize if valid else self._type.deserialize_key
        sample = decode(encoded)
        if valid:
            sample.sample_info = info
        alone = info.instance_state == InstanceState.NotAliveNoWriters
        return Taken(sample, info.publication_handle, info.source_timestamp, valid, alone)

    def matched(self) -> int:
        """How many writers there are."""
        status = dds_c_t.subscription_matched_status()
        self._check(self._reader._get_subscription_matched_status(self._ref, ctypes.byref(status)))
        return int(status.current_count)

    def filtered(self) -> int:
        """How many samples the filter has not let through, as Cyclone counts what it drops."""
        status = dds_c_t.sample_lost_status()
        self._check(self._reader._get_sample_lost_status(self._ref, ctypes.byref(status)))
        return int(status.total_count)

    def _check(self, code: int) -> None:
        if code != 0:
            raise _failure(f"reader of {self.name}", "status", code, closed=self._closed)

    def close(self) -> None:
        """Stop reading. Waiters forget this reader."""
        if not self._closed:
            self._closed = True
            delete(self.condition)
            delete(self._reader)


def _failure(name: str, operation: str, code: int, *, closed: bool) -> Exception:
    if closed:
        return ClosedError(name)
    return DomainError(f"{name}: {operation}", str(DDSException(code)))


def _common(quality: Quality) -> list[Any]:
    keep = Policy.History
    limits = (quality.max_samples, quality.max_instances, quality.max_samples_per_instance)
    policies = [
        # No blocking inside Cyclone: see evenflow.domain.endpoints.
        Policy.Reliability.Reliable(0) if quality.reliable else Policy.Reliability.BestEffort,
        Policy.Durability.TransientLocal if quality.durable else Policy.Durability.Volatile,
        keep.KeepLast(quality.depth) if quality.depth else keep.KeepAll,
        Policy.ResourceLimits(*(limit or _UNLIMITED for limit in limits)),
    ]
    if quality.deadline_s < math.inf:
        policies.append(Policy.Deadline(nanoseconds(quality.deadline_s)))
    if quality.latency_budget_s:
        policies.append(Policy.LatencyBudget(nanoseconds(quality.latency_budget_s)))
    return policies


def _writer_qos(quality: Quality) -> Qos:
    policies = [*_common(quality), Policy.WriterDataLifecycle(autodispose=False)]
    if quality.lifespan_s < math.inf:
        policies.append(Policy.Lifespan(nanoseconds(quality.lifespan_s)))
    if quality.durable:
        # Without it Cyclone gives late readers the newest sample of each instance alone.
        late = Policy.History.KeepLast(quality.depth)
        policies.append(
            Policy.DurabilityService(0, late, _UNLIMITED, _UNLIMITED, _UNLIMITED),
        )
    return Qos(*policies)


def _reader_qos(quality: Quality, separation_s: float) -> Qos:
    return Qos(*_common(quality), Policy.TimeBasedFilter(nanoseconds(separation_s)))
