"""What a reader asks a node for, and the ticket that carries it: a :class:`Range` in JSON.

A ticket comes from another process and is trusted in nothing: every field is checked, and one that
does not fit is a :class:`~evenflow.errors.DecodeError`. Writers are written as 16 hexadecimal
digits, as everywhere outside of the wire's own messages.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, NamedTuple

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
from evenflow.model.selection import ALL, Selection, SelectionJson

if TYPE_CHECKING:
    from collections.abc import Mapping

READS: Final = "reads"
"""The action by which a reader's task says what it has read."""
HELD: Final = "held"
"""The action that tells how many items of a ticket a node has, in the slices that it owns."""
COUNTS: Final = "counts"
"""The action by which a consumer asks how many items a range has."""
SINCE: Final = "since"
"""The action by which a consumer asks which epochs of a range are the first to have items of a time
or later."""


class Split(NamedTuple):
    """A part of an epoch: all items of slices below one, and of that slice those up to a number.

    See :mod:`evenflow.slices.consumer.splits`. Of one epoch, splits are in order.
    """

    epoch: int
    slice: int
    number: int
    items: int
    """How many items that is; nothing but figures goes by it."""


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
    taken: Mapping[int, Split] = field(default_factory=dict)
    """By writer: what was taken before of the first epoch that is asked for."""
    upto: Mapping[int, Split] = field(default_factory=dict)
    """By writer: how much is asked for of the last epoch, when that is not all of it."""
    headers: bool = False
    """Whether the items' headers are wanted, too."""
    only: Selection = ALL
    """Of these items, those that are wanted."""


@dataclass(frozen=True, slots=True)
class Refusal:
    """Why a question cannot be answered here and now."""

    reason: str
    """``moved``: ask the owner; ``later``: ask again; ``forgotten``: no use in asking."""
    detail: str


SplitJson = tuple[Whole, SliceNumber, Whole, Whole]
"""A split as JSON has it, unchecked but for its form."""


class _Ticket(msgspec.Struct, forbid_unknown_fields=True, omit_defaults=True):
    """A range as JSON."""

    topic: str
    slices: list[SliceNumber]
    start: dict[WriterText, Whole]
    end: dict[WriterText, Whole]
    after: dict[WriterText, tuple[list[SliceNumber], list[Whole]]]
    """By writer, as two columns: with many slices there is much of it."""
    taken: dict[WriterText, SplitJson] = {}
    upto: dict[WriterText, SplitJson] = {}
    headers: bool = False
    only: SelectionJson | None = None


class _Question(msgspec.Struct, forbid_unknown_fields=True):
    """A range and a number beside it, as JSON."""

    asked: _Ticket
    number: Whole


_QUESTION: Final = CheckedJson("question", _Question)
_JSON: Final = CheckedJson("ticket", _Ticket)


def encode_ticket(topic: str, asked: Range) -> bytes:
    """Write a ticket."""
    return encode_json(_ticket(topic, asked))


def encode_question(topic: str, asked: Range, number: int) -> bytes:
    """Write a range with a number, whose meaning the kind of question says."""
    return encode_json(_Question(_ticket(topic, asked), number))


def _ticket(topic: str, asked: Range) -> _Ticket:
    after: dict[str, tuple[list[int], list[int]]] = {}
    texts = {writer: WriterId.text(writer) for _, writer in asked.after}
    for (slice_id, writer), number in asked.after.items():
        slices, numbers = after.setdefault(texts[writer], ([], []))
        slices.append(slice_id)
        numbers.append(number)
    return _Ticket(
        topic,
        list(asked.slices),
        asked.start.to_json(),
        asked.end.to_json(),
        after,
        splits_to_json(asked.taken),
        splits_to_json(asked.upto),
        asked.headers,
        None if asked.only == ALL else asked.only.to_json(),
    )


def splits_to_json(splits: Mapping[int, Split]) -> dict[str, tuple[int, int, int, int]]:
    """Writers as text, in order: Spark compares offsets as text."""
    return dict(sorted((WriterId.text(w), (*split,)) for w, split in splits.items()))


def decode_ticket(encoded: bytes) -> tuple[str, Range]:
    """Read a ticket: the topic and what is asked for; `DecodeError` when it is none."""
    return _read(_JSON.decode(encoded))


def decode_question(encoded: bytes) -> tuple[str, Range, int]:
    """Read a question: topic, range and number; `DecodeError` when it is none."""
    found = _QUESTION.decode(encoded)
    return *_read(found.asked), fits("question", found.number)


def _read(found: _Ticket) -> tuple[str, Range]:
    return found.topic, Range(
        tuple(found.slices),
        Position.of_texts(found.start),
        Position.of_texts(found.end),
        _after(found),
        splits_of_texts(found.taken),
        splits_of_texts(found.upto),
        found.headers,
        ALL if found.only is None else Selection.of_json(found.only),
    )


def splits_of_texts(found: Mapping[str, tuple[int, int, int, int]]) -> dict[int, Split]:
    """Take splits of writers as text, of which each was checked to be one."""
    for split in found.values():
        fits("split", max(split))
    return {int(writer, 16): Split(*split) for writer, split in found.items()}


def _after(found: _Ticket) -> dict[tuple[int, int], int]:
    after: dict[tuple[int, int], int] = {}
    for text, (slices, numbers) in found.after.items():
        if len(slices) != len(numbers):
            raise DecodeError(f"ticket: {len(slices)} slices with {len(numbers)} numbers")
        fits("ticket", max(numbers, default=0))
        writer = int(text, 16)
        after |= {(slices[i], writer): number for i, number in enumerate(numbers)}
    return after
