"""What programs give as headers of an item, and what travels."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from evenflow.errors import UsageError
from evenflow.model.item_headers import (
    HEADER_BYTES,
    MOST_HEADER_BYTES,
    MOST_HEADERS,
    MOST_NAME_BYTES,
)

if TYPE_CHECKING:
    from evenflow.model.item_headers import Pairs

GivenHeaders = Mapping[str, bytes | bytearray | memoryview | str]
"""What callers may give: names with bytes or strings (sent as UTF-8)."""


def given_headers(given: GivenHeaders | None) -> Pairs:
    """The headers that a caller gives an item, as they travel; `UsageError` when they cannot."""
    if not given:
        return ()
    if not isinstance(given, Mapping):
        raise UsageError(f"headers of type {type(given).__name__}: give a mapping of str to bytes")
    pairs = tuple((_name(name), _value(name, value)) for name, value in given.items())
    check_size(len(pairs), sum(len(name) + len(value) for name, value in pairs))
    return pairs


def check_size(count: int, octets: int) -> None:
    """Refuse an item with more headers than it may have, or larger ones."""
    if count > MOST_HEADERS:
        raise UsageError(f"{count} headers: an item may have {MOST_HEADERS}")
    if octets > MOST_HEADER_BYTES:
        raise UsageError(
            f"headers of {octets} bytes: those of an item may have {MOST_HEADER_BYTES} with their"
            " names; what is larger belongs into the payload"
        )


def _name(name: Any) -> bytes:
    try:
        encoded = str.encode(name)
    except (TypeError, UnicodeEncodeError) as error:
        raise UsageError(f"the name of a header is {name!r}: give a string ({error})") from None
    if not 1 <= len(encoded) <= MOST_NAME_BYTES:
        raise UsageError(f"the name of a header has {len(encoded)} bytes: 1 to {MOST_NAME_BYTES}")
    return encoded


def _value(name: str, value: Any) -> bytes:
    if isinstance(value, bytes):
        return value
    try:
        if isinstance(value, str):
            return value.encode()
        if isinstance(value, bytearray | memoryview):
            return bytes(value)
    except UnicodeEncodeError as error:
        raise UsageError(f"header {name!r} is no text that UTF-8 can carry: {error}") from None
    raise UsageError(f"header {name!r} is of type {type(value).__name__}: give bytes or str")


def pairs_bytes(pairs: Pairs) -> int:
    """Bytes that the headers of an item add to its sample, at most."""
    return sum(HEADER_BYTES + len(name) + len(value) for name, value in pairs)
