"""An archive in the store: bundles are added to it, and found by its index.

To *add* a bundle: publish its pieces, then its entry, then read the index up to now. If the entry
counts (`index`), the bundle is a part of the archive. If not, another archiver was first: the
bundle counts for nothing, and its items beyond the position that the other has reached are to be
added again. Either way the position that comes back is what the archive has, and may be committed.
"""

from __future__ import annotations

import logging
import secrets
from typing import TYPE_CHECKING, Final, NamedTuple

from evenflow.durable.frames import Assembly, archive_topic, decode_piece, encode_bundle
from evenflow.durable.index import (
    NOTHING,
    Chain,
    Entry,
    Tip,
    beginning,
    counting,
    decode_entry,
    encode_entry,
    entry_of,
    index_topic,
    placed,
    reached,
)
from evenflow.errors import DecodeError, ReadFailed

if TYPE_CHECKING:
    from collections.abc import Iterator

    import pyarrow as pa

    from evenflow.model.ids import Position
    from evenflow.overlay.client.blocking import Client

FIRST_WINDOW_NS: Final = 4_000_000_000
"""How far back a position is looked for in the index at first; then eight times as far."""

_log = logging.getLogger(__name__)


class Indexed(NamedTuple):
    """An entry, and when it was stored."""

    time: int
    entry: Entry


class Archive:
    """The archive of one topic.

    Args:
        client: A client of the store.
        topic: The topic of the domain.
        level: Resilience level of an archive that is new; 0: do not make it.
    """

    def __init__(self, client: Client, topic: str, level: int) -> None:
        self.topic = topic
        self._client = client
        self._level = level
        self._pieces = archive_topic(topic)
        self._index = index_topic(topic)
        self._seen = 1
        self._chain = Chain(NOTHING)

    # -- who writes -------------------------------------------------------------------------------

    def open(self) -> Position:
        """Return what the archive has now, before anything is added."""
        self._client.ensure(self._pieces, level=self._level)
        self._seen = self.now()
        self._chain = Chain(self.tip_at(self._seen))
        return self._tip.position

    def refresh(self) -> Position:
        """Return what the archive has now, after something was added, or may have been."""
        now = self.now()
        for one in self.entries(self._seen, now):
            self._chain.add(one.entry)
        self._seen = now
        return self._tip.position

    def add(self, rows: list[pa.RecordBatch], end: Position) -> Position:
        """Add the items between what the archive has and a position; return what it has then."""
        entry = entry_of(rows, secrets.token_hex(8), self._tip.bundle, end)
        since = self._client.now(self._pieces, level=self._level)
        pieces = encode_bundle(rows, end, entry.bundle)
        self._client.publish_all(self._pieces, pieces, level=self._level)
        until = self._client.now(self._pieces, level=self._level)
        self._client.publish(
            self._index, encode_entry(placed(entry, since, until)), level=self._level
        )
        return self.refresh()

    @property
    def _tip(self) -> Tip:
        assert self._chain.tip is not None
        return self._chain.tip

    # -- who reads --------------------------------------------------------------------------------

    def now(self) -> int:
        """Return a time of the index: entries that were acknowledged before are earlier."""
        return self._client.now(self._index, level=self._level)

    def entries(self, start: int, end: int) -> Iterator[Indexed]:
        """Yield the entries stored from a time up to another, in order."""
        for message in self._client.read(self._index, start, end):
            try:
                yield Indexed(message.time, decode_entry(message.payload))
            except DecodeError as error:
                _log.warning("%s has a message that is none of its: %s", self._index, error)

    def counted(self, start: int, end: int, tip: Tip | None) -> Iterator[Indexed]:
        """Yield the entries that count, of those stored from a time up to another.

        Args:
            start: The first time.
            end: The time behind the last.
            tip: What the archive had at the start; None: as `tip_from` says, nobody knows.
        """
        if tip is not None:
            chain = Chain(tip)
            yield from (one for one in self.entries(start, end) if chain.add(one.entry))
            return
        found = list(self.entries(start, end))
        entries = [one.entry for one in found]
        yield from (found[which] for which in counting(entries, beginning(entries)))

    def tip_from(self, start: int, now: int) -> Tip | None:
        """Return what the archive had at a time; None: what was before has expired."""
        if start > 1:
            return self.tip_at(start)
        first = next(self.entries(1, now), None)
        return beginning([first.entry] if first is not None else [])

    def tip_at(self, time: int) -> Tip:
        """Return what the archive had at a time of the index."""
        window = FIRST_WINDOW_NS
        while True:
            start = max(1, time - window)
            entries = [one.entry for one in self.entries(start, time)]
            found = reached(entries, whole=start == 1)
            if found is not None:
                return found
            window *= 8

    def rows(self, entry: Entry) -> pa.Table | None:
        """Return the items of a bundle; None when it has expired.

        Raises:
            ReadFailed: The bundle should be there, and is not.
        """
        assembly = Assembly()
        for message in self._client.read(self._pieces, entry.since, entry.until):
            try:
                if decode_piece(message.payload).bundle != entry.bundle:
                    continue
                bundle = assembly.add(message.payload)
            except DecodeError as error:
                _log.warning("%s has a message that is none of its: %s", self._pieces, error)
                continue
            if bundle is not None:
                return bundle.rows
        oldest = next(self._client.read(self._pieces, 1), None)
        if oldest is None or oldest.time >= entry.since:
            return None
        raise ReadFailed(self._pieces, (), f"bundle {entry.bundle} is not whole")
