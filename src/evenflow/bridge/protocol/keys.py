"""Keys of devices: a seal on every datagram, and a counter against replay.

**Seal.** The last 24 bytes of a sealed datagram are a counter (u64) and a tag: the first 16 bytes
of the HMAC-SHA256 of everything before the tag. So nothing of a datagram can be changed, or made,
without the key.

**Two keys.** What comes before a session, or concerns two of them (CONNECT, ACCEPTED, REFUSED,
ADOPT, SERVED, GOODBYE, BYE), is sealed with the device's own key. All else is sealed with the key
of the session, made of the device's key, GUID, run, session, and a salt that the bridge draws. So a
conversation that somebody has recorded is worth nothing at another bridge, or at this one after a
restart, though nobody remembers its counters: the salt is another.

**Counter.** Of two datagrams of a device the one with the larger counter is the later. A bridge
takes only what is larger than all it took (a datagram that was overtaken is lost, as datagrams are;
requests are repeated). The counter goes on over the whole life of the device: it begins at its run,
and a later run is larger. A device that has neither clock nor memory is told the floor
(``REFUSED``) and goes on above it. The bridge's counter is that of the session, from 1.

**What a bridge answers.** ACCEPTED and REFUSED repeat the counter of the CONNECT they answer; ADOPT
names run and session, which are never used again. So a device takes no recorded one.
"""

from __future__ import annotations

import hmac
from struct import Struct
from typing import Final

TAG_BYTES: Final = 16
KEY_BYTES: Final = 32

_U64: Final = Struct(">Q")
_SESSION: Final = Struct(">12sQIQ")


def session_key(key: bytes, guid: bytes, run: int, session: int, salt: int) -> bytes:
    """The key of a session."""
    return hmac.digest(key, b"EF session" + _SESSION.pack(guid, run, session, salt), "sha256")


def seal(data: bytes, key: bytes, counter: int) -> bytes:
    """A datagram (its flags say that it is sealed) with counter and tag."""
    signed = data + _U64.pack(counter)
    return signed + hmac.digest(key, signed, "sha256")[:TAG_BYTES]


def is_genuine(data: bytes, key: bytes) -> bool:
    """Whether the tag of a sealed datagram is that of its bytes."""
    tag = hmac.digest(key, data[:-TAG_BYTES], "sha256")[:TAG_BYTES]
    return hmac.compare_digest(tag, data[-TAG_BYTES:])
