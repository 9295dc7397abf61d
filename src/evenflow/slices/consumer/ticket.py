"""What a reader asks a node for, and the ticket that carries it: a :class:`Range` in JSON.

A ticket comes from another process and is trusted in nothing: every field is checked, and one that
does not fit is a :class:`~evenflow.errors.DecodeError`. Writers are written as 16 hexadecimal
digits, as everywhere outside of the wire's own messages.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import msgspec

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
    final: frozenset[int]
    """Writers that the reader has found gone: what is here of them is all there is."""


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
    after: list[tuple[SliceNumber, WriterText, Whole]]
    final: list[WriterText]


_JSON: Final = CheckedJson("ticket", _Ticket)


def encode_ticket(topic: str, asked: Range) -> bytes:
    """Write a ticket."""
    return encode_json(
        _Ticket(
            topic,
            list(asked.slices),
            asked.start.to_json(),
            asked.end.to_json(),
            [(slice_id, WriterId.text(w), at) for (slice_id, w), at in asked.after.items()],
            [WriterId.text(writer) for writer in sorted(asked.final)],
        )
    )


def decode_ticket(encoded: bytes) -> tuple[str, Range]:
    """Read a ticket: the topic and what is asked for; `DecodeError` when it is none."""
    found = _JSON.decode(encoded)
    return found.topic, Range(
        tuple(found.slices),
        Position.of_texts(found.start),
        Position.of_texts(found.end),
        {(slice_id, int(writer, 16)): fits("ticket", at) for slice_id, writer, at in found.after},
        frozenset(int(writer, 16) for writer in found.final),
    )
