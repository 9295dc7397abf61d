"""Datagrams into bytes; :class:`ValueError` for what does not fit, which is a fault of ours."""

from __future__ import annotations

from struct import Struct
from struct import error as StructError  # noqa: N812
from typing import TYPE_CHECKING, Final

from evenflow.bridge.protocol import datagrams as dg
from evenflow.bridge.protocol.device_types import KINDS
from evenflow.bridge.protocol.guid import GUID_BYTES
from evenflow.bridge.protocol.kinds import MOST_DATAGRAM, VERSION, Kind

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

MAGIC: Final = b"EF"
HEADER: Final = Struct(">2sBBBB12sIH")
SEALED: Final = 1
"""Flag: a seal follows the body."""
SEAL_BYTES: Final = 24

_ENTITY_U64: Final = Struct(">BQ")
_ITEM: Final = Struct(">BQQQ")
_DATA: Final = Struct(">BI")
_HEARTBEAT: Final = Struct(">IIIQ")
_ALIVE: Final = Struct(">IIB")
_REFUSED: Final = Struct(">BQQH")
_CONNECT: Final = Struct(">QBHB")
_KEYED: Final = Struct(">QQB")
_U32: Final = Struct(">I")
_U64: Final = Struct(">Q")


def encode(guid: bytes, session: int, number: int, body: dg.Body, *, sealed: bool = False) -> bytes:
    """The bytes of a datagram; one that is to be sealed says so in its flags."""
    if len(guid) != GUID_BYTES:
        raise ValueError(f"a GUID of {len(guid)} bytes")
    kind, encode_body = _ENCODERS[type(body)]
    flags = SEALED if sealed else 0
    try:
        data: bytes = HEADER.pack(
            MAGIC, VERSION, kind, flags, 0, guid, session, number
        ) + encode_body(body)
    except StructError as error:
        raise ValueError(f"{body!r}: {error}") from None
    if len(data) + SEAL_BYTES * sealed > MOST_DATAGRAM:
        raise ValueError(f"a datagram of {len(data)} bytes: at most {MOST_DATAGRAM}")
    return data


def _text(text: str) -> bytes:
    encoded = text.encode()
    return bytes((len(encoded),)) + encoded


def _connect(body: dg.Connect) -> bytes:
    fixed = _CONNECT.pack(body.run, body.tried, body.heartbeat_ms, body.direct)
    return fixed + _text(body.name) + _text(body.last_bridge)


def _accepted(body: dg.Accepted) -> bytes:
    return _KEYED.pack(body.echo, body.salt, body.entities) + _text(body.bridge)


def _refused(body: dg.Refused) -> bytes:
    fixed = _REFUSED.pack(body.reason, body.echo, body.floor, body.wait_ms)
    return fixed + _text(body.address)


def _set_topic(body: dg.SetTopic) -> bytes:
    return bytes((body.entity, body.reliable)) + _text(body.topic)


def _set_type(body: dg.SetType) -> bytes:
    out = bytearray((body.entity,))
    out += _text(body.type.name)
    out.append(len(body.type.fields))
    for field in body.type.fields:
        out.append(KINDS.index(field.kind) + 1)
        out.append(field.most)
        out += _text(field.name)
    return bytes(out)


def _adopt(body: dg.Adopt) -> bytes:
    return _KEYED.pack(body.run, body.salt, body.entities) + _text(body.bridge)


_ENCODERS: Final[dict[type[Any], tuple[Kind, Callable[[Any], bytes]]]] = {
    dg.Connect: (Kind.CONNECT, _connect),
    dg.Accepted: (Kind.ACCEPTED, _accepted),
    dg.Refused: (Kind.REFUSED, _refused),
    dg.Create: (Kind.CREATE, lambda body: bytes((body.entity, body.role))),
    dg.SetTopic: (Kind.SET_TOPIC, _set_topic),
    dg.SetType: (Kind.SET_TYPE, _set_type),
    dg.Done: (Kind.DONE, lambda body: bytes((body.fault,))),
    dg.Data: (Kind.DATA, lambda body: _DATA.pack(body.entity, body.mark) + body.payload),
    dg.Item: (
        Kind.ITEM,
        lambda body: _ITEM.pack(body.entity, body.number, body.time, body.salt) + body.payload,
    ),
    dg.Safe: (Kind.SAFE, lambda body: _ENTITY_U64.pack(body.entity, body.number)),
    dg.Settle: (Kind.SETTLE, lambda body: bytes((body.entity,)) + _text(body.bridge)),
    dg.Settled: (
        Kind.SETTLED,
        lambda body: _ENTITY_U64.pack(body.entity, body.number) + _text(body.bridge),
    ),
    dg.Heartbeat: (
        Kind.HEARTBEAT,
        lambda body: (
            _HEARTBEAT.pack(body.sent, body.received, body.unsure, body.salt) + _text(body.offer)
        ),
    ),
    dg.Alive: (Kind.ALIVE, lambda body: _ALIVE.pack(body.received, body.sent, body.entities)),
    dg.Moved: (Kind.MOVED, lambda body: _U32.pack(body.received) + _text(body.bridge)),
    dg.Adopt: (Kind.ADOPT, _adopt),
    dg.Served: (Kind.SERVED, lambda body: _U64.pack(body.run) + _text(body.bridge)),
    dg.Goodbye: (Kind.GOODBYE, lambda body: _U64.pack(body.run) + _text(body.bridge)),
    dg.Bye: (Kind.BYE, lambda _: b""),
}
