"""States of applications in the store, for the nodes of a durable topic.

Two topics of the store. ``states/NAME`` has the states, one message for each slice of a snapshot,
with the positions that it agrees with. ``state-log/NAME`` has the records, claims and snapshots; a
record says between which times of the store its states lie. A record is written when its states
are stored, so whoever reads it finds them. Which records count, nodes find out by themselves
(:mod:`evenflow.slices.node.application.state_log`).

A record says how the topic was sliced: with another number of slices, or another assignment, slice
3 is of other items, and no state in the log belongs to any slice of now. Whoever reads such a
record goes no further (`ConfigError`).

The log is read whole by a node that comes new, and from there on what was added. Nodes store every
slice again every minute, also without a change, and have both topics trimmed up to where every
slice has a newer snapshot that counts. So the store has what was written in the last few minutes,
however long the topic lives, and a node that comes new has little to read.
"""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Annotated, Final, TypeVar

import msgspec

from evenflow.closing import Closing
from evenflow.durable.archiver import brokers_of
from evenflow.errors import ConfigError
from evenflow.overlay.client.blocking import Client
from evenflow.slices.node.application.snapshots import Row
from evenflow.slices.node.application.state_log import StateRecord

if TYPE_CHECKING:
    from collections.abc import Sequence

    from evenflow.config import Config
    from evenflow.overlay.protocol.messages import Message
    from evenflow.slices.node.application.state_log import Superseded

MOST_BYTES: Final = 3 << 20
"""Largest state; the store takes messages of 4 MiB, and positions come with it."""

_log = logging.getLogger(__name__)

T = TypeVar("T")
Number = Annotated[int, msgspec.Meta(ge=0)]


class _Stored(msgspec.Struct, frozen=True, array_like=True, forbid_unknown_fields=True):
    """The state of a slice, as a message of the store."""

    bundle: str
    slice: Number
    term: Number
    positions: dict[Number, Number]
    state: bytes


class _Record(msgspec.Struct, frozen=True, array_like=True, forbid_unknown_fields=True):
    """A record of the log, as a message of the store."""

    node: str
    number: Number
    slices: tuple[Number, ...]
    terms: tuple[Number, ...]
    bundle: str
    since: Number
    until: Number
    slicing: str = ""
    """As :attr:`evenflow.config.TopicConfig.slicing` puts it; versions before did not say."""

    def __post_init__(self) -> None:
        if len(self.slices) != len(self.terms):
            raise ValueError("as many slices as terms")


_STORED: Final = msgspec.msgpack.Decoder(_Stored)
_RECORD: Final = msgspec.msgpack.Decoder(_Record)
_ENCODE: Final = msgspec.msgpack.Encoder().encode


class StateSnapshots(Closing):
    """Keeps the states of one topic's application in the store, for one node.

    Args:
        topic: The topic.
        config: The configuration; its topic must be durable, and processed at the nodes.
    """

    def __init__(self, topic: str, config: Config) -> None:
        found = config.topic(topic)
        if not found.keeps_state:
            raise ConfigError(
                found.key("durable"), found.durable, "must be true, and served false, to keep state"
            )
        if config.node.state_bytes > MOST_BYTES:
            raise ConfigError(
                "node.state_bytes",
                config.node.state_bytes,
                f"must not be above {MOST_BYTES} for a durable topic: the store takes no more",
            )
        self._topic = found
        self._states, self._log = f"states/{topic}", f"state-log/{topic}"
        self._level = config.store.level
        self._seen = 1
        """Up to which time of the store the log was read."""
        self.damaged = 0
        """Messages in these topics that are none of theirs."""
        self._client = Client(brokers_of(config))

    def append(self, record: StateRecord, rows: Sequence[Row]) -> None:
        """Store states, and a record that names them; return when both are safe."""
        since = until = 0
        if rows:
            since = self._client.now(self._states, level=self._level)
            stored = (
                _Stored(record.bundle, row.slice, row.term, dict(row.positions), row.state)
                for row in rows
            )
            self._client.publish_all(self._states, map(_ENCODE, stored), level=self._level)
            until = self._client.now(self._states, level=self._level)
        node, number, slices, terms, bundle, *_ = record
        placed = _Record(
            str(node), number, slices, terms, bundle, since, until, self._topic.slicing
        )
        self._client.publish(self._log, _ENCODE(placed), level=self._level)

    def read_on(self) -> list[StateRecord]:
        """The records behind those that were read before, up to now.

        Raises:
            ConfigError: The topic was sliced in another way when they were written.
        """
        now = self._client.now(self._log, level=self._level)
        found = []
        for message in self._client.read(self._log, self._seen, now):
            record = self._decoded(_RECORD, message, self._log)
            if record is not None:
                *fields, slicing = msgspec.structs.astuple(record)
                self._check(slicing)
                read = StateRecord(*fields)
                found.append(read._replace(at=message.time))
        self._seen = now
        return found

    def _check(self, slicing: str) -> None:
        """Raise `ConfigError` when states of this slicing are not of the slices of now."""
        topic = self._topic
        if slicing == topic.slicing:
            return
        former = slicing or "a number of slices that nobody wrote down (an earlier version)"
        raise ConfigError(
            topic.key("slices"), topic.slices,
            f"the store keeps the state of this topic's application by slice, from {former}, and"
            f" the file has {topic.slicing} now: give the topic a new name, or slices and"
            " assignment as they were",
        )  # fmt: skip

    def fetch(self, record: StateRecord, slices: Sequence[int]) -> list[Row]:
        """The states of some slices of a snapshot, as far as they are there."""
        rows = []
        for message in self._client.read(self._states, record.since, record.until):
            one = self._decoded(_STORED, message, self._states)
            if one is not None and one.bundle == record.bundle and one.slice in slices:
                rows.append(Row(one.slice, one.term, one.positions, one.state))
        return rows

    def trim(self, superseded: Superseded) -> None:
        """Have deleted what nobody needs any more."""
        self._client.trim(self._states, superseded.states)
        self._client.trim(self._log, superseded.records)

    def _decoded(
        self, decoder: msgspec.msgpack.Decoder[T], message: Message, topic: str
    ) -> T | None:
        try:
            return decoder.decode(message.payload)
        except msgspec.DecodeError as error:
            self.damaged += 1
            _log.warning("%s has a message that is none of its: %s", topic, error)
            return None

    def close(self) -> None:
        """End, at once: who waits in another thread is told so."""
        self._client.close()
