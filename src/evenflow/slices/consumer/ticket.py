"""What a reader asks a node for, and the ticket that carries it: a :class:`Range` in JSON.

A ticket comes from another process and is trusted in nothing: every field is checked, and one that
does not fit is a :class:`~evenflow.errors.DecodeError`. Writers are written as 16 hexadecimal
digits, as everywhere outside of the wire's own messages.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import msgspec

from evenflow.errors import DecodeError
from evenflow.model.checked_json import (
    CheckedJson,
    SliceNumber,
    Whole,
    WriterText,
    encode_json,
    fits,
)
from evenflow.model.ids import Position, WriterId

if TYPE_CHECKING:
    from collections.abc import Mapping

READS: Final = "reads"
"""The action by which a reader's task says what it has read."""
COUNT: Final = "count"
"""The action that tells how many items of a ticket a node has, in the slices that it owns."""


@dataclass(frozen=True, slots=True)
class Range:
    """A question: the items of some slices between two positions."""

    slices: tuple[int, ...]
    start: Position
    """For each writer, the epoch behind which to begin; others: from the first item kept."""
    end: Position
    """For each writer, the last epoch; writers not named are left out."""
    after: Mapping[tuple[int, int], int]
    """For (slice, writer): the reader has everything up to this number already."""


@dataclass(frozen=True, slots=True)
class Refusal:
    """Why a question cannot be answered here and now."""

    reason: str
    """``moved``: ask the owner; ``later``: ask again; ``forgotten``: no use in asking."""
    detail: str


class _Ticket(msgspec.Struct, forbid_unknown_fields=True):
    """A range as JSON."""

    topic: str
    slices: list[SliceNumber]
    start: dict[WriterText, Whole]
    end: dict[WriterText, Whole]
    after: dict[WriterText, tuple[list[SliceNumber], list[Whole]]]
    """By writer, as two columns: with many slices there is much of it."""


_JSON: Final = CheckedJson("ticket", _Ticket)


def encode_ticket(topic: str, asked: Range) -> bytes:
    """Write a ticket."""
    after: dict[str, tuple[list[int], list[int]]] = {}
    texts = {writer: WriterId.text(writer) for _, writer in asked.after}
    for (slice_id, writer), number in asked.after.items():
        slices, numbers = after.setdefault(texts[writer], ([], []))
        slices.append(slice_id)
        numbers.append(number)
    return encode_json(
        _Ticket(
            topic,
            list(asked.slices),
            asked.start.to_json(),
            asked.end.to_json(),
            after,
        )
    )


def decode_ticket(encoded: bytes) -> tuple[str, Range]:
    """Read a ticket: the topic and what is asked for; `DecodeError` when it is none."""
    found = _JSON.decode(encoded)
    return found.topic, Range(
        tuple(found.slices),
        Position.of_texts(found.start),
        Position.of_texts(found.end),
        _after(found),
    )


def _after(found: _Ticket) -> dict[tuple[int, int], int]:
    after: dict[tuple[int, int], int] = {}
    for text, (slices, numbers) in found.after.items():
        if len(slices) != len(numbers):
            raise DecodeError(f"ticket: {len(slices)} slices with {len(numbers)} numbers")
        fits("ticket", max(numbers, default=0))
        writer = int(text, 16)
        after |= {(slices[i], writer): number for i, number in enumerate(numbers)}
    return after
