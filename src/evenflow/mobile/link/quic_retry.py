"""Proof that who begins a connection is where it says: QUIC's Retry (RFC 9000, section 8.1.2).

Anybody can send a first packet under a false address, and each costs the gateway a handshake. When
many are under way, a first packet is answered by a small one that carries a token, and nothing is
remembered; who is really there comes again with the token. It is an HMAC over the address, the two
connection ids that the handshake needs, and the time.
"""

from __future__ import annotations

import hmac
import struct
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from evenflow.mobile.link.paths import Host

VALID_S: Final = 10.0
"""How long a token is good."""

_HEAD: Final = struct.Struct(">dBB")
_MAC_BYTES: Final = 16


def make_token(key: bytes, sender: Host, first_id: bytes, new_id: bytes, now: float) -> bytes:
    """Return a token.

    Args:
        key: The gateway's secret.
        sender: Where the first packet came from.
        first_id: The id that the client gave the gateway.
        new_id: The id that the gateway wants in its place.
        now: The gateway's time.
    """
    body = _HEAD.pack(now, len(first_id), len(new_id)) + first_id + new_id
    return body + _mac(key, sender, body)


def check_token(key: bytes, sender: Host, token: bytes, now: float) -> tuple[bytes, bytes] | None:
    """Return the first id and the new one of a good token; None for any other."""
    body, mac = token[:-_MAC_BYTES], token[-_MAC_BYTES:]
    if len(body) < _HEAD.size or not hmac.compare_digest(mac, _mac(key, sender, body)):
        return None
    made, first, new = _HEAD.unpack_from(body)
    if not 0 <= now - made <= VALID_S or len(body) != _HEAD.size + first + new:
        return None
    ids = body[_HEAD.size :]
    return ids[:first], ids[first:]


def _mac(key: bytes, sender: Host, body: bytes) -> bytes:
    said = f"{sender[0]} {sender[1]} ".encode() + body
    return hmac.digest(key, said, "sha256")[:_MAC_BYTES]
