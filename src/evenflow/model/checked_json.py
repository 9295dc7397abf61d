"""JSON from another process, checked against a type while it is read.

Tickets, metadata of record batches, offsets and the heads of archived bundles come from outside and
are trusted in nothing. `msgspec` reads and checks them in one pass; whatever does not fit is a
:class:`~evenflow.errors.DecodeError` that says what was read and why it was refused.
"""

from __future__ import annotations

from typing import Annotated, Any, Final, Generic, TypeVar

import msgspec

from evenflow.errors import DecodeError

T = TypeVar("T")
_ENCODER: Final = msgspec.json.Encoder()
_MOST: Final = 1 << 64

Whole = Annotated[int, msgspec.Meta(ge=0)]
"""A number that is not negative. Its upper bound is :func:`fits`'s to check."""
SliceNumber = Annotated[int, msgspec.Meta(ge=0, lt=1 << 32)]
WriterText = Annotated[str, msgspec.Meta(pattern=r"\A[0-9a-f]{16}\Z")]
"""A writer as text."""


def encode_json(value: Any) -> bytes:
    """Write a value of plain types or structures as JSON."""
    return _ENCODER.encode(value)


class CheckedJson(Generic[T]):
    """Reads JSON of one type.

    Args:
        what: What is read, for errors.
        kind: Its type, as `msgspec` understands types.
    """

    def __init__(self, what: str, kind: type[T]) -> None:
        self._what = what
        self._kind = kind
        self._decoder = msgspec.json.Decoder(kind)

    def decode(self, encoded: bytes | str) -> T:
        """Read JSON; `DecodeError` when it is none of this type."""
        try:
            return self._decoder.decode(encoded)
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
            raise DecodeError(f"{self._what}: {error}", size=len(encoded)) from None

    def convert(self, found: Any) -> T:
        """Check what somebody else has read from JSON."""
        try:
            return msgspec.convert(found, self._kind)
        except (msgspec.ValidationError, RecursionError) as error:
            raise DecodeError(f"{self._what}: {error}") from None


def fits(what: str, number: int) -> int:
    """Return a number that fits 64 bits, else raise `DecodeError`."""
    if number >= _MOST:
        raise DecodeError(f"{what}: {number} has more than 64 bits")
    return number
