"""Items through Cyclone's stock Python codec: what Evenflow is measured against.

Nothing but the codec experiment uses this. The samples are the same as ours, byte for byte: each is
a sample of one item, an object of the IDL class that the stock codec turns into CDR and back.
A ``plain`` writer sends the simplest struct that can hold an item instead.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from cyclonedds.core import InstanceState, ReadCondition, SampleState, ViewState
from cyclonedds.idl import make_idl_struct
from cyclonedds.idl import types as idl
from cyclonedds.pub import DataWriter
from cyclonedds.qos import Policy, Qos
from cyclonedds.sub import DataReader
from cyclonedds.topic import Topic

from evenflow.domain.types import idl_type
from evenflow.model.sample import Sample

if TYPE_CHECKING:
    from evenflow.domain.cyclone import Participant

_SEQUENCE: Final[Any] = idl.sequence
_PLAIN: Final[Any] = make_idl_struct(
    "PlainItem",
    "evenflow::PlainItem",
    {"sender": str, "id": idl.int64, "time": idl.int64, "payload": _SEQUENCE[idl.uint8]},
)
_SAMPLE: Final[Any] = idl_type(Sample)
_PATIENCE_NS: Final = 60 * 1_000_000_000
_QOS: Final = Qos(Policy.Reliability.Reliable(_PATIENCE_NS), Policy.History.KeepAll)


class StockWriter:
    """Writes single items as the stock codec does; ``write`` blocks when a reader is slow."""

    def __init__(self, participant: Participant, name: str, *, plain: bool) -> None:
        topic = _topic(participant, name, plain=plain)
        self._writer = DataWriter(participant.entity, topic, _QOS)
        self.write = self._write_plain if plain else self._write_sample

    def _write_sample(self, number: int, sender: str, time: int, payload: bytes) -> None:
        name = sender.encode()
        offsets, payload_offsets = [0, len(name)], [0, len(payload)]
        self._writer.write(
            _SAMPLE(
                1, number, 0, [0], [1], [number],
                [number], [time], offsets, name, payload_offsets, payload,
            )
        )  # fmt: skip

    def _write_plain(self, number: int, sender: str, time: int, payload: bytes) -> None:
        self._writer.write(_PLAIN(sender, number, time, payload))

    def matched(self) -> int:
        """Return how many readers there are."""
        status: Any = self._writer.get_publication_matched_status  # has no types
        return int(status().current_count)


class StockReader:
    """Reads single items as the stock codec does."""

    def __init__(self, participant: Participant, name: str, *, plain: bool) -> None:
        topic = _topic(participant, name, plain=plain)
        self._reader = DataReader(participant.entity, topic, _QOS)
        self._plain = plain
        self.condition = ReadCondition(
            self._reader, SampleState.Any | ViewState.Any | InstanceState.Any
        )
        """Holds while there is something to take; what a waiter waits for."""

    def take(self) -> list[tuple[int, list[int]]]:
        """Take what has arrived: id and payload of each item."""
        samples: list[Any] = self._reader.take(512)
        if self._plain:
            return [(sample.id, sample.payload) for sample in samples]
        return [(sample.ids[0], sample.payloads) for sample in samples]


def _topic(participant: Participant, name: str, *, plain: bool) -> Topic[Any]:
    return Topic(participant.entity, name, _PLAIN if plain else _SAMPLE)
