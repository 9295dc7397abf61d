"""A topic of the store as a stream: its offsets are places in the store's own order.

*Messages*: an offset is a time of the topic; every message has a time of its own, and what was
acknowledged when the topic was asked for now is earlier. *Items*: an offset is a time of the
archive's index, with the name of the last bundle that counts before it; so what follows is told
from what does not count by the index alone (`index`). Both say the same of the same store whoever
asks and however often, so what lies between two offsets is the same after a restart.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any, Final

import msgspec

from evenflow.closing import Closing
from evenflow.durable.index import Name, Tip
from evenflow.durable.spark.reading import (
    Bundles,
    Part,
    archive_of,
    client_of,
    cut,
    now_in,
    shares,
)
from evenflow.model.checked_json import CheckedJson, Whole
from evenflow.model.ids import NOWHERE
from evenflow.model.selection import ALL

if TYPE_CHECKING:
    from collections.abc import Sequence

    from evenflow.durable.spark.options import ReadOptions

IDLE_S: Final = 0.1
"""How long a question waits when there is nothing new, so that an idle query does not spin."""


class Offset(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A place in a topic of the store."""

    time: Whole
    """All before this time of the topic, or of the index, was read."""
    bundle: Name | None = None
    """The last bundle that counts before it; empty: there is none. None: nobody knows, because
    what was before has expired; or these are messages."""

    def to_json(self) -> dict[str, Any]:
        """As Spark keeps it: equal offsets have equal texts."""
        return {"time": self.time, "bundle": self.bundle}

    @classmethod
    def from_json(cls, found: Any) -> Offset:
        """Read what was JSON; `DecodeError` when it is no offset."""
        return _OFFSET.convert(found)

    @property
    def tip(self) -> Tip | None:
        """What the archive had, as far as counting goes on from it."""
        return None if self.bundle is None else Tip(self.bundle, NOWHERE)


_OFFSET: Final = CheckedJson("offset of a stream from the store", Offset)


class StoreStream(Closing):
    """The driver's side of a stream from the store."""

    def __init__(self, options: ReadOptions) -> None:
        self._options = options
        self._client = client_of(options).__enter__()
        self._archive = archive_of(self._client, options)
        self._until: int | None = None
        """Where the stream ends (``availableNow``)."""

    def begin(self) -> Offset:
        """Return where a new query begins."""
        now = now_in(self._client, self._options)
        start = now if self._options.latest else self._options.start
        if not self._options.items:
            return Offset(start)
        tip = self._archive.tip_from(start, now)
        return Offset(start, None if tip is None else tip.bundle)

    def fix(self) -> None:
        """Let the stream end with what there is now."""
        self._until = now_in(self._client, self._options)

    def end(self, start: Offset, most: int | None) -> Offset:
        """Return how far the next batch reads, of about so many rows at most."""
        until = now_in(self._client, self._options) if self._until is None else self._until
        found = self._next(start, until, most)
        if found == start and self._until is None:
            time.sleep(IDLE_S)
        return found

    def _next(self, start: Offset, until: int, most: int | None) -> Offset:
        end, count = start, 0
        if self._options.items:
            for one in self._archive.counted(start.time, until, start.tip):
                count += one.entry.items
                if most is not None and count > most and end != start:
                    break
                end = Offset(one.time + 1, one.entry.bundle)
        elif most is None:
            end = Offset(max(start.time, until))
        elif start.time < until:
            for message in self._client.read(self._options.topic, start.time, until):
                end, count = Offset(message.time + 1), count + 1
                if count == most:
                    break
        return end

    def parts(self, start: Offset, end: Offset) -> Sequence[Part | Bundles]:
        """Cut what lies between two offsets."""
        options = self._options
        if start.time >= end.time:
            return []
        if not options.items:
            return cut(start.time, end.time, options.partitions)
        entries = [one.entry for one in self._archive.counted(start.time, end.time, start.tip)]
        groups = shares(entries, options.partitions)
        return [Bundles(some, ALL, options.lossless) for some in groups]

    def close(self) -> None:
        """End the connection."""
        self._client.close()
