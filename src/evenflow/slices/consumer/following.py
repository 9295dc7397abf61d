"""A served topic in a loop: batch after batch, each committed when the next one is asked for.

.. code-block:: python

    for batch in evenflow.follow("fleet", consumer="audit"):
        for item in batch:
            print(item.sender, item.id, item.payload)

The consumer is registered under its name. Publishers and nodes keep what it has not committed,
whether its process runs or not, and the domain remembers its position: a later process under the
same name goes on where the earlier one was.

**Exactly once.** Before a batch is given out, its end is told to the nodes together with the commit
of all before it. So a process that ends between two batches, or while it waits, loses nothing and
repeats nothing. One that dies while its loop works on a batch is given *that batch* again, with the
same items and the same ``batch.position``: whether its work was done, only the application knows.
One that stores ``batch.position`` in the same transaction as its results skips a batch that it has
stored already, and has every item once. It may also give the stored position back as ``start``.

There is one case in which batches come again that were committed: all serving nodes and the
balancer ended within a second after they were. The balancer writes positions down once a second.
"""

from __future__ import annotations

import threading
import time
import weakref
from contextlib import ExitStack
from typing import TYPE_CHECKING, Final, Self

from evenflow.closing import Closing
from evenflow.config import Config
from evenflow.errors import ClosedError, ConfigError
from evenflow.model.ids import NOWHERE, Position
from evenflow.query_options import a_name
from evenflow.slices.consumer.core import EARLIEST, LATEST
from evenflow.slices.consumer.follower import Follower
from evenflow.slices.consumer.reading import read_numbered
from evenflow.slices.consumer.registry.declared import ARCHIVE, DEAD, expected_consumers
from evenflow.slices.consumer.served_batch import ServedBatch, joined

if TYPE_CHECKING:
    import pyarrow as pa

MOST_ITEMS: Final = 10_000
WAIT_S: Final = 0.2
"""How long a question for new items waits before it is looked whether to stop."""


def follow(
    topic: str,
    consumer: str,
    *,
    config: Config | None = None,
    start: str | Position = EARLIEST,
    limit: int = MOST_ITEMS,
    timeout: float | None = None,
) -> Following:
    """Follow a served topic under a name.

    Args:
        topic: The topic.
        consumer: Name of the consumer; one process at a time may have it.
        config: The configuration; ``evenflow.toml`` when none is given.
        start: Where a consumer begins that the domain does not know: ``"earliest"``, with all that
            is kept, or ``"latest"``, with what comes from now on. A position counts always: the
            application remembers it itself.
        limit: About how many items a batch has at most; a batch is in memory as a whole. An epoch
            of a publisher is never split.
        timeout: The loop ends when nothing new came for this many seconds; None: never.

    Raises:
        ConfigError: The topic is not served, or an argument cannot be used.
        DomainError: Nobody serves the topic, or another process runs under this name.
    """
    found = Config.of(config)
    _check(found, topic, consumer, start, limit, timeout)
    return Following(Follower(topic, consumer, found), start, limit, timeout)


def _check(
    config: Config,
    topic: str,
    consumer: str,
    start: str | Position,
    limit: object,
    timeout: object,
) -> None:
    section = config.topic(topic)
    if not section.served:
        raise ConfigError(section.key("served"), section.served, "must be true to follow a topic")
    try:
        a_name(consumer)
    except (TypeError, ValueError) as error:
        raise ConfigError("consumer", consumer, str(error)) from None
    if consumer in (ARCHIVE, DEAD) and consumer not in expected_consumers(section):
        raise ConfigError(
            "consumer", consumer, "is the name of a consumer of our own: take another"
        )
    if start not in (EARLIEST, LATEST) and not isinstance(start, Position):
        raise ConfigError("start", start, f"must be {EARLIEST!r}, {LATEST!r} or a position")
    if not isinstance(limit, int) or limit < 1:
        raise ConfigError("limit", limit, "must be a whole number of at least 1")
    if timeout is not None and not (isinstance(timeout, int | float) and timeout >= 0):
        raise ConfigError("timeout", timeout, "must be seconds, or None: without end")


class Following(Closing):
    """The batches of a topic, from :func:`follow`. An iterator; one thread may ask for the next.

    Use ``with``, or let it go: it is closed when nobody holds it any more.
    """

    def __init__(
        self, follower: Follower, start: str | Position, limit: int, timeout: float | None
    ) -> None:
        self._follower = follower
        self._limit = limit
        self._timeout = timeout
        self._planned = NOWHERE
        """The end of the batch in hand; nowhere when there is none."""
        self._given = False
        """Whether the loop has the batch in hand."""
        self._stopping = threading.Event()
        self._closing = weakref.finalize(self, follower.close)
        with ExitStack() as opened:
            opened.callback(self._closing)
            follower.enter(alone=True)
            self._position = self._begin(start)
            opened.pop_all()

    def _begin(self, start: str | Position) -> Position:
        if isinstance(start, Position):
            self._follower.register(start)
            return start
        remembered = self._follower.remembered()
        if remembered is not None:
            position, self._planned = remembered
            self._follower.register(position, self._planned)
            return position
        # One that is registered and that nobody remembers takes all that is kept.
        position = self._follower.begin(start if self._follower.is_new else EARLIEST)
        self._follower.register(position)
        return position

    @property
    def position(self) -> Position:
        """Everything up to here is committed."""
        return self._position

    @property
    def newest(self) -> Position:
        """What is there now: no later item is behind this position."""
        position = self._position
        return self._follower.ask(lambda core: core.closed().merged(core.latest(position)))

    def __iter__(self) -> Self:
        return self

    def __next__(self) -> ServedBatch:
        """Commit the batch that was given out before, and give out the next.

        Raises:
            StopIteration: :meth:`stop` was called, or nothing came for the time that was set.
            ReadFailed: Nobody gives the items; the next call tries again.
            ClosedError: It is closed, or is meanwhile: what was in hand is not committed.
        """
        self._check_open()
        while True:
            self._finish()
            if not self._plan():
                raise StopIteration
            rows = self._read()
            self._given = True
            if rows.num_rows:
                return ServedBatch(rows, self._position, self._planned)

    def commit(self) -> None:
        """Commit the batch that was given out, without asking for another."""
        self._check_open()
        self._finish()
        if not self._planned:
            self._follower.commit(self._position)

    def stop(self) -> None:
        """End the loop when it asks for the next batch; any thread and signal handler may call."""
        self._stopping.set()

    def close(self) -> None:
        """Leave the domain. What the loop has in hand is not committed: it comes again."""
        self._closing()

    # -- inside -----------------------------------------------------------------------------------

    def _check_open(self) -> None:
        if not self._closing.alive:
            raise ClosedError("this loop over a topic")

    def _finish(self) -> None:
        if self._given:
            self._position, self._planned, self._given = self._planned, NOWHERE, False

    def _plan(self) -> bool:
        """Fix the end of the next batch and tell it to the domain; False when there is none."""
        if self._planned:
            return True
        end = self._follower.latest(self._position)
        if self._stopping.is_set() or self._position.covers(end):
            self._follower.commit(self._position)
            end = self._wait()
        if self._position.covers(end):
            return False
        self._planned = self._follower.limited(self._position, end, self._limit)
        self._follower.commit(self._position, self._planned, last=False)
        return True

    def _wait(self) -> Position:
        """Wait for something new; return the position itself when there is nothing."""
        deadline = None if self._timeout is None else time.monotonic() + self._timeout
        while not self._stopping.is_set():
            end = self._follower.latest(self._position, WAIT_S)
            if not self._position.covers(end):
                return end
            self._position = end  # perhaps without writers of which nothing is left
            if deadline is not None and time.monotonic() > deadline:
                break
        return self._position

    def _read(self) -> pa.RecordBatch:
        parts = [
            rows
            for share in self._follower.shares(self._position, self._planned)
            for rows in read_numbered(share)
        ]
        self._follower.wait_heard()
        return joined(parts)
