"""From the archive into the live stream, each item once: which position joins the two.

The archive's content is a position, ``{writer: epoch}`` (`index`), and so is every place in the
live stream. A query that begins with the archive may go on with the live stream behind the very
position that the archive had reached, if nothing behind it is forgotten by then. That is so when

1. the query is a registered consumer of the topic, at what is kept at that moment: from then on
   nothing behind that is forgotten;
2. the index is read *after* that: what had been forgotten before was committed by the archiver, and
   it commits only what the index has. So the archive has all up to where the query is registered,
   or more; and
3. the query has read the archive up to that end.

So a query reads bundles until it is near the end of the archive. Then it is registered, the end of
the archive at that moment is its *fence*, and when it has read up to the fence it goes on live.
Before, it is not registered and holds nothing up, however long the archive is. A query that dies
before it went on live, and is started again, is registered anew: nothing rests on what it knew.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, Protocol

import msgspec

from evenflow.durable.index import Name, Tip
from evenflow.model.checked_json import CheckedJson, Whole, WriterText
from evenflow.model.ids import NOWHERE

if TYPE_CHECKING:
    from collections.abc import Iterator

    from evenflow.durable.index import Entry

ARCHIVE: Final = "archive"
"""The one key of an offset in the archive."""


class Place(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A place in an archive."""

    time: Whole
    """All before this time of the index was read."""
    bundle: Name | None
    """The last bundle that counts before it; None: nobody knows."""
    position: dict[WriterText, Whole]
    """What is reached with it."""

    @property
    def tip(self) -> Tip | None:
        """What the archive had."""
        return None if self.bundle is None else Tip(self.bundle, NOWHERE)

    def to_json(self) -> dict[str, Any]:
        """As an offset of the joined stream."""
        return {ARCHIVE: msgspec.to_builtins(self)}


_PLACE: Final = CheckedJson("offset in an archive", Place)


def place_of(offset: Any) -> Place | None:
    """Return the place in the archive of an offset; None when it is one of the live stream."""
    found = offset.get(ARCHIVE) if isinstance(offset, dict) else None
    # A topic may be called so: its place has writers, not a time.
    return _PLACE.convert(found) if isinstance(found, dict) and "time" in found else None


class Indexed(Protocol):
    """An entry, and when it was stored."""

    @property
    def time(self) -> int:
        """When it was stored."""

    @property
    def entry(self) -> Entry:
        """The entry."""


class ArchiveIndex(Protocol):
    """What is asked of an archive (`archive`)."""

    def now(self) -> int:
        """Return a time of the index behind all that was acknowledged."""

    def tip_from(self, start: int, now: int) -> Tip | None:
        """Return what the archive had at a time."""

    def counted(self, start: int, end: int, tip: Tip | None) -> Iterator[Any]:
        """Yield the entries that count."""


class LiveStream(Protocol):
    """What is asked of the live stream."""

    def register(self) -> None:
        """Register at what is kept now: nothing behind that is forgotten from now on."""

    def end(self, start: dict[str, Any]) -> dict[str, Any]:
        """Return how far the next batch reads; ``start`` itself when there is nothing new."""


class Joining:
    """Where the next batch ends: in the archive, or in the live stream.

    Args:
        archive: The index of the archive.
        live: The live stream.
    """

    def __init__(self, archive: ArchiveIndex, live: LiveStream) -> None:
        self._archive = archive
        self._live = live
        self._fence: int | None = None
        """Up to where the archive has to be read; None: the query is not registered."""

    def begin(self, oldest: int | None = None) -> dict[str, Any]:
        """Return where a new query begins: with all, or with bundles that have items of a time.

        Args:
            oldest: That time, microseconds since 1970.
        """
        now = self._archive.now()
        tip = self._archive.tip_from(1, now)
        place = Place(1, None if tip is None else tip.bundle, {})
        if oldest is not None:
            for one in self._archive.counted(1, now, tip):
                if one.entry.newest >= oldest:
                    break
                place = _behind(one)
        return place.to_json()

    def end(self, start: dict[str, Any], most: int | None = None) -> dict[str, Any]:
        """Return how far the next batch reads, of about so many items at most."""
        place = place_of(start)
        if place is None:
            return self._live.end(start)
        found, last = self._next(place, most)
        if last and self._fence is None:
            self._live.register()
            self._fence = self._archive.now()
            if found == place:  # something may have come before we were registered
                found, _ = self._next(place, most)
        if found != place:
            return found.to_json()
        live = self._live.end(place.position)
        return start if live == place.position else live

    def _next(self, place: Place, most: int | None) -> tuple[Place, bool]:
        """Return the next place in the archive, and whether it is its end."""
        until = self._archive.now() if self._fence is None else self._fence
        found, count = place, 0
        for one in self._archive.counted(place.time, until, place.tip):
            count += one.entry.items
            if most is not None and count > most and found != place:
                return found, False
            found = _behind(one)
        return found, True


def _behind(one: Indexed) -> Place:
    return Place(one.time + 1, one.entry.bundle, one.entry.end)
