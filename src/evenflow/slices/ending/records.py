"""What is on disk of ended writers and registered consumers: the same as in memory, as JSON."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final

import msgspec

from evenflow.model.checked_json import CheckedJson, Whole, WriterText, encode_json
from evenflow.model.ids import WriterId
from evenflow.model.messages import ConsumerCommit, CutStage, WriterCut
from evenflow.slices.ledger_view import MOST_ENDED

MOST_CUTS: Final = 100
"""Cuts whose numbers are kept."""


@dataclass(slots=True)
class Ended:
    """A writer that has ended."""

    writer: int
    term: int
    stage: CutStage
    cut: WriterCut | None = None
    """Where; None when it said goodbye, or where is forgotten."""


@dataclass(slots=True)
class State:
    """Everything of one topic that outlives the balancer."""

    ended: list[Ended] = field(default_factory=list)
    consumers: list[ConsumerCommit] = field(default_factory=list)
    """The newest commit of each; one that has ended tells when."""


def too_old(ended: dict[int, Ended], *, served: bool) -> list[Ended]:
    """Those of which only the id is kept any longer; the oldest ids of all are dropped.

    Of a served topic a writer is kept until everybody has read it.
    """
    least = CutStage.CLEARED if served else CutStage.DECIDED
    cuts = [one for one in ended.values() if one.cut is not None and one.stage >= least]
    cuts.sort(key=lambda one: one.term)
    if len(ended) > MOST_ENDED:
        over = [one for one in ended.values() if one.stage >= CutStage.CLEARED]
        for one in sorted(over, key=lambda one: one.term)[: MOST_ENDED // 10]:
            del ended[one.writer]
    old = cuts[: max(0, len(cuts) - MOST_CUTS)]
    return [Ended(one.writer, one.term, CutStage.FORGOTTEN) for one in old]


class _Cut(msgspec.Struct):
    writer: WriterText
    term: Whole
    stage: Whole
    epoch: Whole = 0
    slices: list[Whole] = []
    upto: list[Whole] = []
    owner_terms: list[Whole] = []
    beyond: Whole = 0
    numbers: bool = False
    """Whether the numbers are known."""


class _Consumer(msgspec.Struct):
    name: str
    number: Whole
    ended: bool
    position: dict[WriterText, Whole]
    planned: dict[WriterText, Whole]


class _File(msgspec.Struct):
    topic: str
    ended: list[_Cut] = []
    consumers: list[_Consumer] = []


_JSON: Final = CheckedJson("state of the balancer", _File)


def encode_ended(topic: str, ended: list[Ended]) -> bytes:
    """The file of ended writers."""
    rows = []
    for one in ended:
        row = _Cut(WriterId.text(one.writer), one.term, int(one.stage))
        if one.cut is not None:
            cut = one.cut
            row.epoch, row.beyond, row.numbers = cut.epoch, cut.beyond, True
            row.slices, row.upto = list(cut.slices), list(cut.upto)
            row.owner_terms = list(cut.owner_terms)
        rows.append(row)
    return encode_json(_File(topic, ended=rows))


def encode_consumers(topic: str, consumers: list[ConsumerCommit]) -> bytes:
    """The file of consumers."""
    rows = [
        _Consumer(
            one.consumer,
            one.number,
            one.ended,
            _position(one.writers, one.epochs),
            _position(one.planned_writers, one.planned_epochs),
        )
        for one in consumers
    ]
    return encode_json(_File(topic, consumers=rows))


def decode_state(topic: str, *files: bytes) -> State:
    """Read the files of a topic; `DecodeError` when one is none of it."""
    state = State()
    for encoded in files:
        found = _JSON.decode(encoded)
        state.ended += [_ended(topic, row) for row in found.ended]
        state.consumers += [
            ConsumerCommit(
                topic, row.name, row.number, *_columns(row.position), row.ended,
                *_columns(row.planned),
            )
            for row in found.consumers
        ]  # fmt: skip
    return state


def _ended(topic: str, row: _Cut) -> Ended:
    writer = int(row.writer, 16)
    cut = None
    if row.numbers:
        cut = WriterCut(
            topic, writer, row.term, row.epoch, tuple(row.slices), tuple(row.upto),
            tuple(row.owner_terms), row.beyond,
        )  # fmt: skip
    return Ended(writer, row.term, CutStage(row.stage), cut)


def _position(writers: tuple[int, ...], epochs: tuple[int, ...]) -> dict[str, int]:
    return {WriterId.text(w): epoch for w, epoch in zip(writers, epochs, strict=True)}


def _columns(position: dict[str, int]) -> tuple[tuple[int, ...], tuple[int, ...]]:
    return tuple(int(writer, 16) for writer in position), tuple(position.values())
