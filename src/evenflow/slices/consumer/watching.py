"""Looking at the items of a served topic, as nobody: nothing is registered, kept or committed.

An observer reads what nodes keep, as a consumer does, and leaves no trace. What all consumers have
committed may be forgotten before it was looked at; then the observer goes on with what there is.
"""

from __future__ import annotations

from contextlib import ExitStack
from typing import TYPE_CHECKING, Final, Self

from evenflow.closing import Closing
from evenflow.errors import ReadFailed
from evenflow.model.ids import NOWHERE
from evenflow.slices.consumer.core import LATEST
from evenflow.slices.consumer.follower import Follower
from evenflow.slices.consumer.reading import read_numbered

if TYPE_CHECKING:
    from collections.abc import Iterator

    import pyarrow as pa

    from evenflow.config import Config
    from evenflow.model.ids import Position

MOST_ITEMS: Final = 10_000
"""About how many items are read at once."""
READ_S: Final = 10.0
"""How long items are asked for that nobody gives."""


class Watcher(Closing):
    """Looks at a served topic, until it is closed.

    Args:
        topic: The topic.
        config: The configuration.
        name: The consumer where to begin: behind what it has committed, if it is known.
        start: Else `EARLIEST`, with all that is kept, or `LATEST`, with what comes from now on.

    Raises:
        DomainError: Nobody serves the topic.
    """

    def __init__(self, topic: str, config: Config, *, name: str = "", start: str = "") -> None:
        self.overtaken = 0
        """How often items were forgotten before they were looked at."""
        self._follower = Follower(topic, name, config, read_timeout_s=READ_S)
        with ExitStack() as opened:
            opened.callback(self._follower.close)
            self._follower.enter(alone=False)
            self._position = self._begin(name, start)
            opened.pop_all()

    def _begin(self, name: str, start: str) -> Position:
        remembered = self._follower.remembered() if name else None
        if remembered is not None:
            return remembered[0]
        return self._follower.begin(LATEST) if start == LATEST else NOWHERE

    def __enter__(self) -> Self:
        return self

    def look(self, wait_s: float = 0.0) -> Iterator[pa.RecordBatch]:
        """What has come since the last look; waits a moment when that is nothing.

        Yields:
            Rows, with columns ``writer``, ``number``, ``slice``, ``sender``, ``id``, ``time`` and
            ``payload``.
        """
        newest = self._follower.latest(self._position, wait_s)
        while not self._position.covers(newest):
            end = self._follower.limited(self._position, newest, MOST_ITEMS)
            try:
                for share in self._follower.shares(self._position, end):
                    yield from (rows for rows in read_numbered(share) if rows.num_rows)
            except ReadFailed:
                self.overtaken += 1
                end = newest
            self._position = end

    def close(self) -> None:
        """Leave the domain."""
        self._follower.close()
