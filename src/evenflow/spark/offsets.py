"""Offsets as Spark keeps them: for each topic a point, and what publishers left out up to there.

``{topic: {writer: epoch}}``. Beside the writers a topic may have

* ``"split": {writer: [epoch, slice, number, items]}``: what is taken of an epoch behind that one,
  when ``maxItemsPerTrigger`` ended a micro-batch inside of it, and how many items that is
  (:mod:`evenflow.slices.consumer.splits`);
* ``"thinned": {writer: items}``: what was left out, of a topic that is thinned (``ended``: by all
  writers that are gone).

Spark writes offsets to its checkpoint and shows them in the progress of a query. So these numbers
are as durable as the position, go on when a query is started again, and belong to a micro-batch: a
count over the batch can be corrected by it (:func:`thinned`).

A batch is made for items, never for a number alone: what is left out where nothing follows is told
with the next batch. What was left out before a new query begins may be in its first batch.

Offsets of former versions are ``{writer: epoch}`` for the one topic of the query; they are read.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import msgspec

from evenflow.errors import DecodeError
from evenflow.model.checked_json import CheckedJson, Whole, WriterText, fits
from evenflow.model.ids import Position, WriterId
from evenflow.slices.consumer.splits import BEGIN, Point
from evenflow.slices.consumer.thinned import ENDED
from evenflow.slices.consumer.ticket import SplitJson, splits_of_texts, splits_to_json

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

THINNED: Final = "thinned"
SPLIT: Final = "split"
_ENDED: Final = "ended"


class _Beside(msgspec.Struct, forbid_unknown_fields=True):
    """What an offset of a topic may have beside writers."""

    split: dict[WriterText, SplitJson] = {}
    thinned: dict[str, Whole] = {}


_BESIDE: Final = CheckedJson("offset", _Beside)


class Place(NamedTuple):
    """How far a query is in one topic."""

    point: Point = BEGIN
    left_out: Mapping[int, int] = {}
    """What publishers have left out up to there, by writer."""


class Thinned(NamedTuple):
    """Items that publishers left out (``topics.NAME.thin``)."""

    items: int
    """In one micro-batch."""
    total: int
    """Up to its end, since the writers began."""


def offset_of(places: Mapping[str, Place]) -> dict[str, Any]:
    """An offset, which is JSON; equal ones have equal texts, as Spark wants it."""
    return {topic: _topic_offset(*place) for topic, place in sorted(places.items())}


def _topic_offset(point: Point, left_out: Mapping[int, int]) -> dict[str, Any]:
    named = {_ENDED if w == ENDED else WriterId.text(w): n for w, n in left_out.items() if n}
    offset: dict[str, Any] = dict(point.position.to_json())
    if point.splits:
        offset[SPLIT] = splits_to_json(point.splits)
    return {**offset, THINNED: dict(sorted(named.items()))} if named else offset


def places_of(offset: Mapping[str, Any], topics: Sequence[str]) -> dict[str, Place]:
    """Where a query is, by topic; `DecodeError` when that is no offset.

    Args:
        offset: The offset.
        topics: The topics of the query: an offset of a former version belongs to the only one.
    """
    if _is_bare(offset, topics):
        if len(topics) != 1:
            raise DecodeError(
                f"the checkpoint is of a query of one topic, and this one reads {len(topics)}:"
                " give this query a checkpointLocation of its own"
            )
        return {topics[0]: _place(offset)}
    return {topic: _place(found) for topic, found in offset.items()}


def places_in(
    offset: Mapping[str, Any], topics: Sequence[str], *, fail_on_loss: bool
) -> dict[str, Place]:
    """Where a query is in each of its topics; one that is new to it begins with all that is kept.

    Raises:
        DecodeError: That is no offset, or it names a topic that the query does not read any more.
    """
    found = places_of(offset, topics)
    left = sorted(found.keys() - set(topics))
    if left and fail_on_loss:
        raise DecodeError(
            f"the checkpoint has read topic {left[0]!r}, and the query does not: give it a"
            " checkpointLocation of its own, or set failOnDataLoss to false to leave the topic"
        )
    return {topic: found.get(topic, Place()) for topic in topics}


def _is_bare(offset: Mapping[str, Any], topics: Sequence[str]) -> bool:
    """Whether an offset has writers where others have topics."""
    return any(isinstance(epoch, int) for epoch in offset.values()) or (
        offset.keys() == {THINNED} and THINNED not in topics
    )


def _place(found: Any) -> Place:
    if not isinstance(found, dict):
        raise DecodeError(f"offset: {found!r} where a position should be")
    others = _BESIDE.convert({name: found[name] for name in (SPLIT, THINNED) if name in found})
    epochs = {name: epoch for name, epoch in found.items() if name not in (SPLIT, THINNED)}
    try:
        left_out = {
            ENDED if name == _ENDED else int(name, 16): fits("offset", n)
            for name, n in others.thinned.items()
        }
    except ValueError as error:
        raise DecodeError(f"offset: {error}") from None
    return Place(Point(Position.from_json(epochs), splits_of_texts(others.split)), left_out)


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
    if not isinstance(found, dict):
        return 0
    topics = (found,) if _is_bare(found, ()) else found.values()
    return sum(_count(one) for one in topics if isinstance(one, dict))


def _count(found: dict[str, Any]) -> int:
    counts = found.get(THINNED)
    if not isinstance(counts, dict):
        return 0
    return sum(n for n in counts.values() if isinstance(n, int))
