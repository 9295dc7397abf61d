"""What programs give as a payload, and the bytes that travel."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Any

from evenflow.errors import UsageError

Payload = bytes | bytearray | memoryview | str | Mapping[str, Any]
"""What callers may give: bytes, a string (sent as UTF-8), or a mapping (sent as JSON)."""


def encode_payload(payload: Payload) -> bytes:
    """Return the bytes that travel."""
    if isinstance(payload, bytes):
        return payload
    if isinstance(payload, str):
        try:
            return payload.encode()
        except UnicodeEncodeError as error:
            raise UsageError(f"the payload is no text that UTF-8 can carry: {error}") from None
    if isinstance(payload, Mapping):
        try:
            return json.dumps(payload, ensure_ascii=False, separators=(",", ":")).encode()
        except (TypeError, ValueError) as error:
            raise UsageError(f"the payload cannot be written as JSON: {error}") from None
    if isinstance(payload, bytearray | memoryview):
        return bytes(payload)
    raise UsageError(f"a payload of type {type(payload).__name__}: give bytes, str or a mapping")


def encode_payloads(payloads: Iterable[Payload]) -> list[bytes]:
    """Return the bytes of many; a single payload, taken for many by mistake, is refused."""
    if isinstance(payloads, str | bytes | bytearray | memoryview | Mapping):
        raise UsageError("publish_many takes a list of payloads; publish() takes one")
    return [encode_payload(one) for one in payloads]
