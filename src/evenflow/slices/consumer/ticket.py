"""What a reader asks a node for, and the ticket that carries it: a :class:`Range` in JSON.

A ticket comes from another process and is trusted in nothing: every field is checked, and one that
does not fit is a :class:`~evenflow.errors.DecodeError`. Writers are written as 16 hexadecimal
digits, as everywhere outside of the wire's own messages.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from evenflow.errors import DecodeError

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

READS: Final = "reads"
"""The action by which a reader's task says what it has read."""
_WRITER: Final = re.compile(r"[0-9a-f]{16}")
_FIELDS: Final = {"topic", "slices", "start", "end", "after", "final"}
_MOST: Final = 1 << 64


@dataclass(frozen=True, slots=True)
class Range:
    """A question: the items of some slices between two positions."""

    slices: tuple[int, ...]
    start: Mapping[int, int]
    """For each writer, the epoch behind which to begin; others: from the first item kept."""
    end: Mapping[int, int]
    """For each writer, the last epoch; writers not named are left out."""
    after: Mapping[tuple[int, int], int]
    """For (slice, writer): the reader has everything up to this number already."""
    final: frozenset[int]
    """Writers that the reader has found gone: what is here of them is all there is."""


@dataclass(frozen=True, slots=True)
class Refusal:
    """Why a question cannot be answered here and now."""

    reason: str
    """``moved``: ask the owner; ``later``: ask again; ``forgotten``: no use in asking."""
    detail: str


def writer_name(writer: int) -> str:
    """A writer's id as text."""
    return f"{writer:016x}"


def position_to_json(position: Mapping[int, int]) -> dict[str, int]:
    """A position with writers as text."""
    return {writer_name(writer): epoch for writer, epoch in position.items()}


def position_from_json(found: Any) -> dict[int, int]:
    """Read a position; `DecodeError` when it is none."""
    if not isinstance(found, dict):
        raise DecodeError(f"position {found!r}: must be {{writer: epoch}}")
    return {_writer(writer): _number(epoch) for writer, epoch in found.items()}


def cursor_to_json(after: Mapping[tuple[int, int], int]) -> list[list[Any]]:
    """How far a reader is in each slice and writer, as rows."""
    return [[slice_id, writer_name(writer), last] for (slice_id, writer), last in after.items()]


def cursor_from_json(found: Any) -> dict[tuple[int, int], int]:
    """Read how far a reader is."""
    if not isinstance(found, list) or not all(
        isinstance(row, list) and len(row) == 3 for row in found
    ):
        raise DecodeError("cursor: must be rows of slice, writer and number")
    return {(_number(row[0]), _writer(row[1])): _number(row[2]) for row in found}


def encode_ticket(topic: str, asked: Range) -> bytes:
    """Write a ticket."""
    return json.dumps(
        {
            "topic": topic,
            "slices": asked.slices,
            "start": position_to_json(asked.start),
            "end": position_to_json(asked.end),
            "after": cursor_to_json(asked.after),
            "final": [writer_name(writer) for writer in sorted(asked.final)],
        }
    ).encode()


def decode_ticket(encoded: bytes) -> tuple[str, Range]:
    """Read a ticket: the topic and what is asked for."""
    try:
        found = json.loads(encoded)
    except (ValueError, RecursionError):
        raise DecodeError("ticket: not JSON", size=len(encoded)) from None
    if not isinstance(found, dict) or found.keys() != _FIELDS:
        raise DecodeError(f"ticket: must have {', '.join(sorted(_FIELDS))}", size=len(encoded))
    topic, slices, final = found["topic"], found["slices"], found["final"]
    if not isinstance(topic, str) or not isinstance(slices, list) or not isinstance(final, list):
        raise DecodeError("ticket: topic, slices or final", size=len(encoded))
    return topic, Range(
        tuple(_numbers(slices)),
        position_from_json(found["start"]),
        position_from_json(found["end"]),
        cursor_from_json(found["after"]),
        frozenset(_writer(writer) for writer in final),
    )


def _writer(found: Any) -> int:
    if not isinstance(found, str) or not _WRITER.fullmatch(found):
        raise DecodeError(f"writer {found!r}: must be 16 hexadecimal digits")
    return int(found, 16)


def _number(found: Any) -> int:
    if isinstance(found, bool) or not isinstance(found, int) or not 0 <= found < _MOST:
        raise DecodeError(f"number {found!r}: must be whole and not negative")
    return found


def _numbers(found: Iterable[Any]) -> list[int]:
    return [_number(one) for one in found]
