"""What an application may choose about its client, checked; and what it sees of it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import msgspec

from evenflow.errors import ConfigError
from evenflow.mobile.client.buffer import ITEM_BYTES, MOST_PAYLOAD, Limits
from evenflow.mobile.link.frames import Described, Name, Place, Time
from evenflow.model.given_headers import GivenHeaders, given_headers
from evenflow.model.item_headers import encode_pairs

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from evenflow.mobile.client.core import ClientCore

WHEN_FULL: Final = ("block", "drop_oldest")
Payload = bytes | str | dict[str, object]


@dataclass(frozen=True, slots=True)
class ClientStats:
    """What a client has done so far, and what it has in hand."""

    node: str
    gateway: str
    """The gateway that the node is attached to; empty when it is not."""
    published: int
    safe: int
    """Items that a gateway has accepted."""
    kept: int
    """Items that none has accepted yet."""
    kept_bytes: int
    unsettled: int
    """Of those, items that were sent to a gateway which may have accepted them."""
    held_up_by: tuple[str, ...]
    """Gateways that must say how far they accepted before the node can go on."""
    dropped: int
    """Items that were dropped because there was no room."""
    messages: int
    """Messages handed to the application."""
    repeated: int
    """Messages that came again, and were dropped."""
    failed: int
    """Messages on which the application's handler raised."""
    connections: int
    """Times that the node was welcomed by a gateway."""
    lost: int
    """Connections that were lost."""
    handovers: int
    failed_handovers: int


def stats_of(core: ClientCore, failed: int) -> ClientStats:
    """Return the statistics of a client."""
    buffer, inbox, executor = core.buffer, core.inbox, core.executor
    return ClientStats(
        node=core.identity.node,
        gateway=core.gateway,
        published=buffer.published,
        safe=buffer.accepted,
        kept=buffer.items,
        kept_bytes=buffer.size,
        unsettled=buffer.unsettled,
        held_up_by=tuple(sorted(core.held_up_by)) if core.gateway else (),
        dropped=buffer.dropped,
        messages=inbox.taken,
        repeated=inbox.repeated,
        failed=failed,
        connections=core.connections,
        lost=core.lost,
        handovers=executor.done,
        failed_handovers=executor.failed,
    )


def checked_limits(most_items: int, most_bytes: int, when_full: str) -> Limits:
    """Return how much is kept, or raise `ConfigError`."""
    if when_full not in WHEN_FULL:
        raise ConfigError("when_full", when_full, f"must be one of {', '.join(WHEN_FULL)}")
    if most_items < 2:
        raise ConfigError("most_items", most_items, "must be at least 2")
    if most_bytes < 2 * ITEM_BYTES:
        raise ConfigError("most_bytes", most_bytes, f"must be at least {2 * ITEM_BYTES}")
    return Limits(most_items, most_bytes, when_full == "drop_oldest")


def checked_name(key: str, name: str) -> str:
    """Return a name that may go on the wire, or raise `ConfigError`."""
    try:
        checked: str = _on_wire(name, Name)
    except (ValueError, TypeError):
        raise ConfigError(
            key, name, "must be 1 to 255 characters, no space, quote, or *?[]#$"
        ) from None
    return checked


def checked_token(token: str) -> str:
    """Return a token without the line end of the file that it came from, or raise `ConfigError`."""
    if not isinstance(token, str):
        raise ConfigError("token", token, "must be the text of the token, as in PATH.read_text()")
    return token.strip()


def checked_time(time_us: int) -> int:
    """Return a time that may go on the wire, or raise `ConfigError`."""
    try:
        checked: int = _on_wire(time_us, Time)
    except (ValueError, TypeError, OverflowError):
        raise ConfigError("time_us", time_us, "must be microseconds since 1970") from None
    return checked


def _on_wire(value: Any, kind: Any) -> Any:
    """Return a value as the other side will read it; raise `ValueError` if it would not.

    What is kept is sent until it is safe. What nobody can read would be sent for ever.
    """
    return msgspec.msgpack.decode(msgspec.msgpack.encode(value), type=kind)


def checked_gateways(gateways: str | Sequence[str]) -> tuple[str, ...]:
    """Return addresses of gateways, or raise `ConfigError`."""
    from evenflow.mobile.link.address import parse_link_address  # noqa: PLC0415

    listed = (gateways,) if isinstance(gateways, str) else tuple(gateways)
    if not listed:
        raise ConfigError("gateways", listed, "must name at least one, as quic://HOST:PORT")
    return tuple(str(parse_link_address(one, "gateways")) for one in listed)


def checked_attributes(
    attributes: Mapping[str, str | float | bool],
) -> dict[str, str | float | bool]:
    """Return attributes that may go on the wire, or raise `ConfigError`."""
    try:
        described: dict[str, str | float | bool] = _on_wire(dict(attributes), Described)
    except (ValueError, TypeError, OverflowError) as error:
        raise ConfigError("attributes", attributes, str(error)) from None
    return described


def checked_place(latitude: float, longitude: float) -> tuple[float, float]:
    """Return a position that may go on the wire, or raise `ConfigError`."""
    try:
        place: tuple[float, float] = _on_wire((latitude, longitude), Place)
    except (ValueError, TypeError, OverflowError) as error:
        raise ConfigError("position", (latitude, longitude), str(error)) from None
    return place


def encoded_headers(given: GivenHeaders | None) -> bytes:
    """Return the headers of an item as a sample of it alone has them; empty without any."""
    return encode_pairs(given_headers(given))


def encoded(payload: Payload, most_bytes: int, beside: int = 0) -> bytes:
    """Return the bytes of an item: bytes as they are, text as UTF-8, all else as JSON.

    Args:
        payload: What is given.
        most_bytes: How much is kept in all.
        beside: Bytes of the item's headers.

    Raises:
        ConfigError: They are too many.
    """
    if isinstance(payload, bytes | bytearray | memoryview):
        data = bytes(payload)
    elif isinstance(payload, str):
        data = payload.encode()
    else:
        data = msgspec.json.encode(payload)
    most = min(MOST_PAYLOAD, most_bytes - ITEM_BYTES) - beside
    if len(data) > most:
        raise ConfigError("payload", f"{len(data)} bytes", f"must have at most {most}")
    return data
