"""What a consumer is told that comes back and finds that something was not kept for it."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING, Final

from evenflow.model.ids import Position, WriterId

if TYPE_CHECKING:
    from collections.abc import Mapping

    from evenflow.model.messages import CommitCopy

SHOWN: Final = 3
"""Writers that are named."""


def missing_words(position: Position, gone: Mapping[int, int], released_ns: int | None) -> str:
    """Say that a consumer is not registered, and what it would never get.

    Args:
        position: Where it wants to go on.
        gone: Writers, and the epoch up to which their items are forgotten.
        released_ns: When it was released, in nanoseconds since 1970, if that is known.
    """
    since = f" since {time_words(released_ns)}" if released_ns is not None else ""
    return (
        f"it is not registered{since}, so items behind its position were forgotten"
        f" ({_some(position, gone)}): start it under a new name, a Spark query with a new"
        " checkpoint"
    )


def expired_words(said: CommitCopy, forgotten: Position) -> str:
    """Say that a consumer has expired, since when, and what it lacks.

    Args:
        said: What the balancer tells of it.
        forgotten: For each writer the epoch up to which everything is forgotten.
    """
    position = Position.of(said.writers, said.epochs)
    gone = {w: epoch for w, epoch in forgotten.items() if epoch > position[w]}
    lacks = f"; forgotten so far: {_some(position, gone)}" if gone else ""
    return (
        f"it was not heard for longer than consumer.expires allows, and expired at"
        f" {time_words(said.number)}: what it had not committed by then is not kept for it{lacks}."
        " Start it under a new name, a Spark query with a new checkpoint; or forget it"
        f" ('evenflow consumers forget {said.consumer}'), then it begins anew"
    )


def where_words(position: Position) -> str:
    """Say where a consumer stands, with at most a few writers."""
    listed = sorted(position.items())
    named = ", ".join(f"epoch {epoch} of writer {WriterId.text(w)}" for w, epoch in listed[:SHOWN])
    more = f" and {len(listed) - SHOWN} more" if len(listed) > SHOWN else ""
    return (named or "the beginning") + more


def time_words(nanoseconds: int) -> str:
    """Say a time of day, given in nanoseconds since 1970."""
    return f"{datetime.fromtimestamp(nanoseconds / 1e9, UTC):%Y-%m-%d %H:%M:%S} UTC"


def _some(position: Position, gone: Mapping[int, int]) -> str:
    return ", ".join(
        f"of writer {WriterId.text(w)} epochs {position[w] + 1} to {epoch}"
        for w, epoch in sorted(gone.items())[:SHOWN]
    )
