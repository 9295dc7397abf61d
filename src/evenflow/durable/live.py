"""The newest items of a served topic, from the nodes: a place in the domain to read along from.

The archiver reads as a registered consumer: nothing is forgotten before it commits. Others read
along without a registration: they commit nothing and hold nothing up.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from evenflow.closing import Closing
from evenflow.errors import ReadFailed
from evenflow.slices.consumer.follower import Follower
from evenflow.slices.consumer.reading import read_numbered

if TYPE_CHECKING:
    from collections.abc import Iterator

    import pyarrow as pa

    from evenflow.config import Config
    from evenflow.model.ids import Position

READ_S: Final = 30.0
"""How long items that nobody gives are asked for."""
MOST_ITEMS: Final = 10_000
"""About how many items are read along at once: they are in memory together."""


class Live(Closing):
    """A served topic, seen from inside the domain. Use ``with``.

    Args:
        topic: The topic.
        config: The configuration.
        consumer: Name to register under; empty: not at all.
    """

    def __init__(self, topic: str, config: Config, consumer: str = "") -> None:
        name = consumer or "reader"
        self._follower = Follower(topic, name, config, read_timeout_s=READ_S)
        self._follower.enter(alone=bool(consumer))

    def register(self, position: Position) -> None:
        """Register at a position."""
        self._follower.register(position)

    def latest(self, start: Position, wait_s: float) -> Position:
        """Return the newest position that can be read; wait a moment for one beyond ``start``."""
        return self._follower.latest(start, wait_s)

    def limited(self, start: Position, end: Position, items: int) -> Position:
        """Return a position between two, about this many items behind the first."""
        return self._follower.limited(start, end, items)

    def read(self, start: Position, end: Position) -> Iterator[pa.RecordBatch]:
        """Yield the items between two positions, numbered.

        Raises:
            ReadFailed: Nobody gives them, or they are forgotten.
        """
        for share in self._follower.shares(start, end):
            yield from read_numbered(share)

    def commit(self, position: Position) -> None:
        """Everything up to a position is safe elsewhere."""
        self._follower.commit(position)

    def close(self) -> None:
        """Leave the domain."""
        self._follower.close()


def read_along(live: Live, start: Position, wait_s: float) -> tuple[Position, list[pa.RecordBatch]]:
    """Return what is new since a position, and the position that is reached.

    It is about `MOST_ITEMS` at most: who is not at the end then asks again. What cannot
    be read, because it was forgotten meanwhile or its node just died, is left out: the archive has
    it, or will have.
    """
    end = live.latest(start, wait_s)
    if end == start:
        return start, []
    end = live.limited(start, end, MOST_ITEMS)
    try:
        return end, list(live.read(start, end))
    except ReadFailed:
        return end, []
