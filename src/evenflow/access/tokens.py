"""Tokens: what the operator signs, and how a door checks it.

A token is text of three parts, joined by dots::

    ef1 . base64url(JSON) . base64url(Ed25519 signature of "ef1." and the second part)

The JSON says: id, subject, what is allowed, when it was issued, when it expires. Nothing in it is
secret, but who has the token is taken for its subject, so it travels only inside TLS.

A token is refused when it is missing or damaged, when the signature is not that of the key, when
it has expired or was issued in the future (both with some patience for clocks that differ), and
when its id is revoked. The signature is checked before anything in the token is believed.
"""

from __future__ import annotations

import base64
import binascii
import re
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Annotated, Final

import msgspec
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey

from evenflow.errors import AccessDenied, UsageError

if TYPE_CHECKING:
    from collections.abc import Container

PREFIX: Final = "ef1"
MOST_TOKEN: Final = 4_096
"""Characters of the longest token."""
PATTERN: Final = re.compile(r"[^\s\x00-\x1f\x7f\ud800-\udfff?\[\]\"'#$]{1,255}")
"""A name, or several: ``*`` stands for any letters."""
TOKEN_ID: Final = re.compile(r"[0-9a-f]{16}")
FOREVER: Final = 1 << 40
"""No time of a token is above this."""

MOST_TOPICS: Final = 100

_Pattern = Annotated[str, msgspec.Meta(max_length=255)]
_Time = Annotated[int, msgspec.Meta(ge=0, le=FOREVER)]


@dataclass(frozen=True, slots=True)
class Allowed:
    """What the bearer of a token may do."""

    publish: tuple[str, ...] = ()
    """Topics it may publish to: names, or patterns such as ``sensors-*``."""
    receive: bool = True
    """Whether it may receive messages that are sent to it."""
    send: bool = False
    """Whether it may send messages to others."""


@dataclass(frozen=True, slots=True)
class Grant:
    """What a token that was checked says."""

    subject: str
    """Who the bearer is: a name, or a pattern such as ``car-*``."""
    allowed: Allowed
    expires: float
    """Seconds since 1970."""
    id: str
    """By which it is revoked."""

    def covers(self, name: str) -> bool:
        """Whether the bearer may go by this name."""
        return matches(self.subject, name)

    def may_publish(self, topic: str) -> bool:
        """Whether the bearer may publish to a topic."""
        return any(matches(pattern, topic) for pattern in self.allowed.publish)


class _Claims(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What stands in a token."""

    id: Annotated[str, msgspec.Meta(pattern=r"\A[0-9a-f]{16}\Z")]
    sub: _Pattern
    pub: Annotated[tuple[_Pattern, ...], msgspec.Meta(max_length=MOST_TOPICS)]
    rcv: bool
    snd: bool
    iat: _Time
    exp: _Time


_DECODER: Final = msgspec.json.Decoder(_Claims)


def matches(pattern: str, name: str) -> bool:
    """Whether a name fits a pattern; only ``*`` is special, and never fits a ``*``."""
    if "*" not in pattern:
        return pattern == name
    parts = map(re.escape, pattern.split("*"))
    return re.fullmatch("[^*]*".join(parts), name) is not None


def issue(
    key: Ed25519PrivateKey,
    *,
    subject: str,
    allowed: Allowed,
    issued: float,
    expires: float,
    id: str,
) -> str:
    """Return a signed token.

    Args:
        key: The operator's signing key.
        subject: Who the bearer is: a name, or a pattern such as ``car-*``.
        allowed: What it may do.
        issued: Seconds since 1970; before this it is not valid.
        expires: Seconds since 1970; after this it is not valid.
        id: 16 random hexadecimal digits.

    Raises:
        UsageError: Something of it cannot stand in a token.
    """
    for pattern in (subject, *allowed.publish):
        if not PATTERN.fullmatch(pattern):
            raise UsageError(
                f"{pattern!r} must be a name of at most 255 letters without spaces and quotes,"
                " or a pattern such as car-*"
            )
    if len(allowed.publish) > MOST_TOPICS:
        raise UsageError(f"a token names at most {MOST_TOPICS} topics: use a pattern")
    if not 0 <= issued < expires <= FOREVER:
        raise UsageError("a token expires after it is issued, and within 30,000 years")
    claims = _Claims(
        id, subject, allowed.publish, allowed.receive, allowed.send, int(issued), int(expires)
    )
    signed = f"{PREFIX}.{_packed(msgspec.json.encode(claims))}"
    token = f"{signed}.{_packed(key.sign(signed.encode()))}"
    if len(token) > MOST_TOKEN:
        raise UsageError(f"the token would have {len(token)} letters: allow fewer topics")
    return token


@dataclass(frozen=True, slots=True)
class Tokens:
    """Checks tokens.

    Args:
        key: Public half of the operator's signing key.
        revoked: Ids of the tokens that are not valid any more; it may change.
        skew_s: By how much clocks may differ.
    """

    key: Ed25519PublicKey
    revoked: Container[str] = field(default=frozenset())
    skew_s: float = 60.0

    def check(self, token: str, *, now: float) -> Grant:
        """Return what a token grants.

        Args:
            token: As the bearer shows it.
            now: Seconds since 1970.

        Raises:
            AccessDenied: It is missing, damaged, forged, expired or revoked.
        """
        if not token:
            raise AccessDenied("no token: ask the operator for one (evenflow token issue)")
        claims = self._verified(token)
        if claims.id in self.revoked:
            raise AccessDenied(f"token {claims.id} of {claims.sub} is revoked")
        if now > claims.exp + self.skew_s:
            raise AccessDenied(f"token {claims.id} of {claims.sub} expired {_date(claims.exp)}")
        if now < claims.iat - self.skew_s:
            raise AccessDenied(
                f"token {claims.id} of {claims.sub} is valid from {_date(claims.iat)}:"
                " look at the clocks"
            )
        allowed = Allowed(claims.pub, claims.rcv, claims.snd)
        return Grant(claims.sub, allowed, claims.exp + self.skew_s, claims.id)

    def _verified(self, token: str) -> _Claims:
        prefix, _, rest = token.partition(".")
        body, _, signature = rest.partition(".")
        if len(token) > MOST_TOKEN or prefix != PREFIX or not body or not signature:
            raise AccessDenied("this is no token of ours")
        try:
            self.key.verify(_unpacked(signature), f"{prefix}.{body}".encode())
            return _DECODER.decode(_unpacked(body))
        except InvalidSignature:
            raise AccessDenied(
                "the token was not signed by this operator, or was changed"
            ) from None
        except (ValueError, msgspec.MsgspecError):
            raise AccessDenied("the token is damaged") from None


def _packed(data: bytes) -> str:
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


def _unpacked(text: str) -> bytes:
    """Read base64url in its one proper form; raise `ValueError`."""
    try:
        data = base64.b64decode(text + "=" * (-len(text) % 4), altchars=b"-_", validate=True)
    except binascii.Error as error:
        raise ValueError(str(error)) from None
    if _packed(data) != text:
        raise ValueError("not in its proper form")
    return data


def _date(time: float) -> str:
    return datetime.fromtimestamp(time, UTC).strftime("%Y-%m-%d %H:%M:%S UTC")
