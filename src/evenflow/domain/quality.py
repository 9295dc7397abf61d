"""The DDS quality of service of a channel, as Cyclone wants it.

A channel with a key is a table of the newest states: of each instance only the last message counts,
for late readers and for present ones alike. On the others every message counts: a present reader
gets all of them, and ``Channel.kept`` bounds only what a late reader is given.

Writers do not dispose their instances when they leave. Two writers may share a key (a balancer and
its successor); the instance is gone when the last of them is.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from cyclonedds.qos import Policy, Qos

if TYPE_CHECKING:
    from collections.abc import Iterable

    from evenflow.domain.channels import Channel

_NANOSECONDS: Final = 1_000_000_000
_UNLIMITED: Final = -1
_REPRESENTATION: Final = Policy.DataRepresentation(use_cdrv0_representation=True)
"""XCDR version 1 is what the codec reads and writes."""
_LOOKED_AT: Final = 1_000
"""Samples that wait for who only looks; then the oldest are dropped."""


def writer_qos(channel: Channel, liveliness_s: float) -> Qos:
    """Return what a writer of this channel offers."""
    policies = [*_common(channel), Policy.WriterDataLifecycle(autodispose=False)]
    if channel.kept:
        late = Policy.History.KeepLast(channel.kept)
        policies.append(Policy.DurabilityService(0, late, _UNLIMITED, _UNLIMITED, _UNLIMITED))
    if channel.liveliness:
        policies.append(Policy.Liveliness.Automatic(nanoseconds(liveliness_s)))
    return Qos(*policies)


def reader_qos(channel: Channel) -> Qos:
    """Return what a reader of this channel asks for."""
    if channel.best_effort:
        return Qos(
            Policy.Reliability.BestEffort,
            Policy.Durability.Volatile,
            Policy.History.KeepLast(_LOOKED_AT),
            _REPRESENTATION,
        )
    return Qos(*_common(channel))


def partition_qos(partitions: Iterable[str]) -> Qos | None:
    """Return the partitions as the setting of a DDS publisher or subscriber."""
    names = list(partitions)
    return Qos(Policy.Partition(names)) if names else None


def nanoseconds(seconds: float) -> int:
    """Return a time in seconds as DDS wants it."""
    return int(seconds * _NANOSECONDS)


def _common(channel: Channel) -> list[Any]:
    kept, keyed = channel.kept, channel.keyed
    return [
        # No blocking inside Cyclone: see evenflow.domain.endpoints.
        Policy.Reliability.Reliable(0),
        Policy.Durability.TransientLocal if kept else Policy.Durability.Volatile,
        Policy.History.KeepLast(kept) if keyed else Policy.History.KeepAll,
        _REPRESENTATION,
    ]
