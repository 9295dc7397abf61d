"""Bytes into datagrams. Nothing is trusted: every length, number and text is checked first.

Whatever is wrong is a :class:`~evenflow.errors.DecodeError`; nothing else is ever raised.
"""

from __future__ import annotations

from struct import Struct
from struct import error as StructError  # noqa: N812
from typing import TYPE_CHECKING, Any, Final

from evenflow.bridge.protocol import datagrams as dg
from evenflow.bridge.protocol.device_types import (
    KINDS,
    MOST_NAME,
    MOST_TYPE_NAME,
    Field,
    device_type,
)
from evenflow.bridge.protocol.encoding import HEADER, MAGIC, SEAL_BYTES, SEALED
from evenflow.bridge.protocol.guid import MOST_DEVICE_NAME
from evenflow.bridge.protocol.kinds import (
    LONGEST_HEARTBEAT_MS,
    MOST_ADDRESS,
    MOST_BRIDGE,
    MOST_DATAGRAM,
    MOST_ENTITIES,
    MOST_RUN,
    MOST_SESSION,
    MOST_TOPIC,
    SHORTEST_HEARTBEAT_MS,
    VERSION,
    Fault,
    Kind,
    Refusal,
    Role,
)
from evenflow.errors import DecodeError

if TYPE_CHECKING:
    from collections.abc import Callable

_COUNTER: Final = Struct(">Q")


class Cursor:
    """Reads a body from its begin to its end."""

    __slots__ = ("_at", "_data", "_end")

    def __init__(self, data: bytes, at: int, end: int) -> None:
        self._data = data
        self._at = at
        self._end = end

    def numbers(self, form: Struct) -> tuple[Any, ...]:
        """Numbers in a fixed form."""
        at = self._at
        self._at = at + form.size
        if self._at > self._end:
            raise DecodeError("too short", size=len(self._data))
        return form.unpack_from(self._data, at)

    def number(self, form: Struct, most: int, least: int = 0) -> int:
        """One number between two bounds."""
        value: int = self.numbers(form)[0]
        return self.check(value, most, least)

    def check(self, value: int, most: int, least: int = 0) -> int:
        """The value, which must lie between two bounds."""
        if not least <= value <= most:
            raise DecodeError(f"{value} is not {least} to {most}", size=len(self._data))
        return value

    def entity(self) -> int:
        """The number of an entity."""
        return self.number(_U8, MOST_ENTITIES - 1)

    def text(self, most: int, least: int = 0) -> str:
        """A text with its length before it."""
        size = self.number(_U8, most, least)
        data = self.octets(size)
        try:
            text = data.decode()
        except UnicodeDecodeError:
            raise DecodeError("no UTF-8", size=len(self._data)) from None
        if not text.isprintable():
            raise DecodeError("a text with control characters", size=len(self._data))
        return text

    def octets(self, size: int) -> bytes:
        """So many bytes."""
        at = self._at
        self._at = at + size
        if self._at > self._end:
            raise DecodeError("too short", size=len(self._data))
        return self._data[at : self._at]

    def rest(self) -> bytes:
        """All that is left."""
        at, self._at = self._at, self._end
        return self._data[at : self._end]

    def close(self) -> None:
        """Nothing must be left."""
        if self._at != self._end:
            raise DecodeError(f"{self._end - self._at} bytes too many", size=len(self._data))


_U8: Final = Struct(">B")
_U16: Final = Struct(">H")
_U32: Final = Struct(">I")
_U64: Final = Struct(">Q")
_TWO_U64: Final = Struct(">QQ")
_ALIVE: Final = Struct(">II")
_HEARTBEAT: Final = Struct(">IIIQ")
_DATA: Final = Struct(">BI")
_ITEM: Final = Struct(">BQQQ")


def decode(data: bytes) -> dg.Datagram:
    """What a datagram says; :class:`DecodeError` when it is none."""
    size = len(data)
    if not HEADER.size <= size <= MOST_DATAGRAM:
        raise DecodeError("too short or too long", size=size)
    magic, version, kind, flags, reserved, guid, session, number = HEADER.unpack_from(data)
    if magic != MAGIC or version != VERSION or flags & ~SEALED or reserved:
        raise DecodeError("no datagram of this protocol", size=size)
    decode_body = _DECODERS.get(kind)
    if decode_body is None:
        raise DecodeError(f"unknown kind {kind}", size=size)
    end, counter = size, None
    if flags & SEALED:
        end -= SEAL_BYTES
        if end < HEADER.size:
            raise DecodeError("too short for its seal", size=size)
        (counter,) = _COUNTER.unpack_from(data, end)
        if counter > MOST_RUN:
            raise DecodeError(f"counter {counter}", size=size)
    if session > MOST_SESSION:
        raise DecodeError(f"session {session}", size=size)
    cursor = Cursor(data, HEADER.size, end)
    try:
        body = decode_body(cursor)
    except StructError as error:
        raise DecodeError(str(error), size=size) from None
    cursor.close()
    return dg.Datagram(guid, session, number, body, counter)


def _connect(cursor: Cursor) -> dg.Connect:
    run = cursor.number(_U64, MOST_RUN)
    tried = cursor.number(_U8, 255)
    heartbeat_ms = cursor.number(_U16, LONGEST_HEARTBEAT_MS, SHORTEST_HEARTBEAT_MS)
    direct = bool(cursor.number(_U8, 1))
    name = cursor.text(MOST_DEVICE_NAME, 1)
    return dg.Connect(name, run, tried, heartbeat_ms, cursor.text(MOST_BRIDGE), direct)


def _accepted(cursor: Cursor) -> dg.Accepted:
    echo, salt = cursor.numbers(_TWO_U64)
    entities = cursor.number(_U8, MOST_ENTITIES)
    return dg.Accepted(cursor.text(MOST_BRIDGE, 1), echo, salt, entities)


def _refused(cursor: Cursor) -> dg.Refused:
    reason = Refusal(cursor.number(_U8, max(Refusal), min(Refusal)))
    echo = cursor.number(_U64, MOST_RUN)
    floor = cursor.number(_U64, MOST_RUN)
    wait_ms = cursor.number(_U16, 0xFFFF)
    return dg.Refused(reason, echo, floor, wait_ms, cursor.text(MOST_ADDRESS))


def _create(cursor: Cursor) -> dg.Create:
    entity = cursor.entity()
    return dg.Create(entity, Role(cursor.number(_U8, max(Role), min(Role))))


def _set_topic(cursor: Cursor) -> dg.SetTopic:
    entity = cursor.entity()
    reliable = bool(cursor.number(_U8, 1))
    return dg.SetTopic(entity, reliable, cursor.text(MOST_TOPIC, 1))


def _set_type(cursor: Cursor) -> dg.SetType:
    entity = cursor.entity()
    name = cursor.text(MOST_TYPE_NAME, 1)
    fields = []
    for _ in range(cursor.number(_U8, 255)):
        kind = KINDS[cursor.number(_U8, len(KINDS), 1) - 1]
        most = cursor.number(_U8, 255)
        fields.append(Field(cursor.text(MOST_NAME, 1), kind, most))
    try:
        return dg.SetType(entity, device_type(name, fields))
    except ValueError as error:
        raise DecodeError(str(error)) from None


def _data(cursor: Cursor) -> dg.Data:
    entity, mark = cursor.numbers(_DATA)
    return dg.Data(cursor.check(entity, MOST_ENTITIES - 1), mark, cursor.rest())


def _item(cursor: Cursor) -> dg.Item:
    entity, number, time, salt = cursor.numbers(_ITEM)
    cursor.check(entity, MOST_ENTITIES - 1)
    cursor.check(number, MOST_RUN, 1)
    return dg.Item(entity, number, cursor.check(time, MOST_RUN), salt, cursor.rest())


def _safe(cursor: Cursor) -> dg.Safe:
    return dg.Safe(cursor.entity(), cursor.number(_U64, MOST_RUN))


def _settle(cursor: Cursor) -> dg.Settle:
    return dg.Settle(cursor.entity(), cursor.text(MOST_BRIDGE, 1))


def _settled(cursor: Cursor) -> dg.Settled:
    entity, number = cursor.entity(), cursor.number(_U64, MOST_RUN)
    return dg.Settled(entity, cursor.text(MOST_BRIDGE, 1), number)


def _heartbeat(cursor: Cursor) -> dg.Heartbeat:
    sent, received, unsure, salt = cursor.numbers(_HEARTBEAT)
    return dg.Heartbeat(sent, received, unsure, salt, cursor.text(MOST_BRIDGE))


def _alive(cursor: Cursor) -> dg.Alive:
    received, sent = cursor.numbers(_ALIVE)
    return dg.Alive(received, sent, cursor.number(_U8, MOST_ENTITIES))


def _moved(cursor: Cursor) -> dg.Moved:
    (received,) = cursor.numbers(_U32)
    return dg.Moved(cursor.text(MOST_BRIDGE), received)


def _adopt(cursor: Cursor) -> dg.Adopt:
    run, salt = cursor.numbers(_TWO_U64)
    entities = cursor.number(_U8, MOST_ENTITIES)
    return dg.Adopt(cursor.text(MOST_BRIDGE, 1), cursor.check(run, MOST_RUN), salt, entities)


def _served(cursor: Cursor) -> dg.Served:
    run = cursor.number(_U64, MOST_RUN)
    return dg.Served(cursor.text(MOST_BRIDGE, 1), run)


def _goodbye(cursor: Cursor) -> dg.Goodbye:
    run = cursor.number(_U64, MOST_RUN)
    return dg.Goodbye(run, cursor.text(MOST_BRIDGE))


_DECODERS: Final[dict[int, Callable[[Cursor], dg.Body]]] = {
    Kind.CONNECT: _connect,
    Kind.ACCEPTED: _accepted,
    Kind.REFUSED: _refused,
    Kind.CREATE: _create,
    Kind.SET_TOPIC: _set_topic,
    Kind.SET_TYPE: _set_type,
    Kind.DONE: lambda cursor: dg.Done(Fault(cursor.number(_U8, max(Fault)))),
    Kind.DATA: _data,
    Kind.ITEM: _item,
    Kind.SAFE: _safe,
    Kind.SETTLE: _settle,
    Kind.SETTLED: _settled,
    Kind.HEARTBEAT: _heartbeat,
    Kind.ALIVE: _alive,
    Kind.MOVED: _moved,
    Kind.ADOPT: _adopt,
    Kind.SERVED: _served,
    Kind.GOODBYE: _goodbye,
    Kind.BYE: lambda _: dg.Bye(),
}
