"""Offsets as Spark keeps them: a position, and what publishers left out up to there.

``{writer: epoch}``, and of a topic that is thinned ``"thinned": {writer: items}`` beside it
(``ended``: of all writers that are gone). Spark writes offsets to its checkpoint and shows them in
the progress of a query. So the number is as durable as the position, goes on when a query is
started again, and belongs to a micro-batch: a count over the batch can be corrected by it
(:func:`thinned`).

A batch is made for items, never for the number alone: what is left out where nothing follows is
told with the next batch. What was left out before a new query begins may be in its first batch.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from evenflow.model.ids import Position, WriterId
from evenflow.slices.consumer.thinned import ENDED

if TYPE_CHECKING:
    from collections.abc import Mapping

THINNED: Final = "thinned"
_ENDED: Final = "ended"


class Thinned(NamedTuple):
    """Items that publishers left out (``topics.NAME.thin``)."""

    items: int
    """In one micro-batch."""
    total: int
    """Up to its end, since the writers began."""


def offset_of(position: Position, left_out: Mapping[int, int]) -> dict[str, Any]:
    """An offset, which is JSON; equal ones have equal texts, as Spark wants it."""
    named = {_ENDED if w == ENDED else WriterId.text(w): n for w, n in left_out.items() if n}
    offset: dict[str, Any] = dict(position.to_json())
    return {**offset, THINNED: dict(sorted(named.items()))} if named else offset


def position_of(offset: Mapping[str, Any]) -> Position:
    """The position of an offset."""
    return Position.from_json({name: epoch for name, epoch in offset.items() if name != THINNED})


def left_out_of(offset: Mapping[str, Any]) -> dict[int, int]:
    """What was left out up to an offset, by writer."""
    named: Mapping[str, int] = offset.get(THINNED, {})
    return {ENDED if name == _ENDED else int(name, 16): n for name, n in named.items()}


def thinned(progress: Mapping[str, Any]) -> Thinned:
    """How many items publishers left out, by the progress of a query.

    Args:
        progress: ``query.lastProgress``, or one of ``query.recentProgress``.
    """
    before = after = 0
    for source in progress.get("sources", ()):
        before += _total(source.get("startOffset"))
        after += _total(source.get("endOffset"))
    return Thinned(after - before, after)


def _total(offset: Any) -> int:
    """What an offset of any source says; those of others say nothing of it."""
    try:
        found = json.loads(offset) if isinstance(offset, str) else offset
    except ValueError:
        return 0
    counts = found.get(THINNED) if isinstance(found, dict) else None
    return sum(counts.values()) if isinstance(counts, dict) else 0
