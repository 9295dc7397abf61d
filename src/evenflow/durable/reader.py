"""`read_from`: a durable topic from a time on, then what comes, each item once.

    for item in evenflow.read_from("fleet", start):   # sender, id, time, payload, headers
        ...

The archive is followed from the beginning to its end and beyond; when its end is near, the serving
nodes are asked too, for what the archive does not have yet. `merging` makes one stream of both, by
the items' numbers. Without nodes (the domain is down) the archive alone is followed. The reader is
not registered in the domain: it holds nothing up, however slow it is.
"""

from __future__ import annotations

import contextlib
import logging
import math
import queue
import threading
import time
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Final

import pyarrow as pa

from evenflow.config import Config
from evenflow.durable.archiver import brokers_of
from evenflow.durable.frames import Assembly, archive_topic
from evenflow.durable.live import Live, read_along
from evenflow.durable.merging import Merging
from evenflow.errors import ConfigError, DecodeError, DomainError, UnknownTopic
from evenflow.model.ids import Position
from evenflow.overlay.client.blocking import Client
from evenflow.slices.consumer.served_batch import items_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from evenflow.model.batch import Item
    from evenflow.overlay.protocol.messages import Message

MOST_WAITING: Final = 16
"""Messages of the archive that wait to be taken; then fetching waits."""
LOOK_S: Final = 0.1
"""How long a question waits for something new."""
AGAIN_S: Final = 5.0
"""When nodes that do not serve are asked for again."""
LEAVE_S: Final = 0.3
"""How long the end of a reading waits for a thread that fetches."""
LATEST_S: Final = 4_575_744_000
"""The end of 2114, about as far as the store counts: who begins later means milliseconds, say."""
NEAR_S: Final = 2.0
"""An archive whose newest message is younger than this has been followed to its end."""

_log = logging.getLogger(__name__)


def read_from(
    topic: str,
    start: datetime | float = 0,
    *,
    config: Config | None = None,
    live: bool = True,
) -> Iterator[Item]:
    """Yield the items of a durable topic that were stored from a time on, then those that come.

    Args:
        topic: The topic.
        start: A time with a zone, or seconds since 1970; 0: all there is.
        config: The configuration.
        live: Whether to go on with what comes; otherwise the end is what is stored now.

    Raises:
        ConfigError: The topic is unknown or not durable, or the start is no time; at once.
    """
    rows = read_rows(topic, start, config=config, live=live)
    return (item for table in rows for item in items_of(table))


def read_rows(
    topic: str,
    start: datetime | float = 0,
    *,
    config: Config | None = None,
    live: bool = True,
) -> Iterator[pa.Table]:
    """Yield the same as Arrow tables: writer, number, slice, sender, id, time, payload, headers.

    The last column is there only if an item has some. What is asked for is checked at once.
    """
    found = Config.of(config)
    section = found.topic(topic)
    if not section.archived:
        raise ConfigError(
            section.key("durable"),
            section.durable,
            "must be true, and served too, to read it from the store",
        )
    begin = max(1, round(_seconds_of(start) * 1e9))
    return _stored_rows(topic, begin, found, brokers_of(found), live=live)


def _stored_rows(
    topic: str, begin: int, found: Config, brokers: list[str], *, live: bool
) -> Iterator[pa.Table]:
    with Client(brokers) as client:
        name = archive_topic(topic)
        if live:
            client.ensure(name, level=found.store.level)
            with _Following(client, name, topic, found) as following:
                yield from following.rows(begin)
        else:
            yield from _read_stored(client, name, begin)


def _read_stored(client: Client, name: str, begin: int) -> Iterator[pa.Table]:
    """Yield what is stored now; reading makes no topic in the store."""
    taking = _Taking()
    with contextlib.suppress(UnknownTopic):  # nothing was ever archived
        for message in client.read(name, begin):
            yield from taking.archived(message)


def _seconds_of(start: datetime | float) -> float:
    if isinstance(start, datetime) and start.tzinfo is not None:
        found = start.timestamp()
    elif isinstance(start, int | float) and not isinstance(start, bool):
        found = start
    else:
        found = math.nan
    if not -LATEST_S < found < LATEST_S:
        raise ConfigError(
            "start", start,
            "must be a datetime with a zone, or seconds since 1970 (0: all there is), before 2115",
        )  # fmt: skip
    return found


class _Taking:
    """What comes, put together and merged."""

    def __init__(self) -> None:
        self.merging = Merging()
        self._assembly = Assembly()

    def archived(self, message: Message) -> Iterator[pa.Table]:
        """Take a message of the archive; yield what is new in it."""
        try:
            bundle = self._assembly.add(message.payload)
        except DecodeError as error:
            _log.warning("a message of the archive cannot be read: %s", error)
            return
        if bundle is not None:
            rows = self.merging.archived(bundle.rows, bundle.end)
            if rows.num_rows:
                yield rows

    def live(self, found: _Look) -> Iterator[pa.Table]:
        """Take what the nodes gave."""
        rows = self.merging.live(found.parts, found.end)
        if rows is not None and rows.num_rows:
            yield rows


@dataclass(frozen=True, slots=True)
class _Look:
    """What the nodes had beyond a position."""

    parts: list[pa.RecordBatch]
    end: Position


class _Following:
    """Two threads that fetch, from the archive and from the nodes, and a queue that both feed."""

    def __init__(self, client: Client, name: str, topic: str, config: Config) -> None:
        self._client = client
        self._name = name
        self._topic = topic
        self._config = config
        self._queue: queue.Queue[Message | _Look | Exception] = queue.Queue(MOST_WAITING)
        self._stop = threading.Event()
        self._merged = threading.Event()
        """Whether the newest look at the nodes was merged, so that another makes sense."""
        self._position = Position()
        self._threads: list[threading.Thread] = []

    def rows(self, begin: int) -> Iterator[pa.Table]:
        """Yield what is new, without end."""
        taking = _Taking()
        self._start(self._follow_archive, begin)
        while True:
            found = self._next()
            if isinstance(found, Exception):
                raise found
            if isinstance(found, _Look):
                yield from taking.live(found)
            elif found is not None:
                yield from taking.archived(found)
            near = found is None or (
                not isinstance(found, _Look) and time.time_ns() - found.time < NEAR_S * 1e9
            )
            if near and len(self._threads) == 1:
                self._start(self._follow_nodes)
            self._position = taking.merging.position
            if isinstance(found, _Look):
                self._merged.set()

    def _next(self) -> Message | _Look | Exception | None:
        try:
            return self._queue.get(timeout=10 * LOOK_S)
        except queue.Empty:
            return None

    def _start(self, run: object, *args: object) -> None:
        thread = threading.Thread(
            target=run,  # type: ignore[arg-type]
            args=args,
            name="archive-reader" if not self._threads else "nodes-reader",
            daemon=True,
        )
        self._threads.append(thread)
        thread.start()

    def _put(self, found: Message | _Look | Exception) -> None:
        while not self._stop.is_set():
            try:
                self._queue.put(found, timeout=LOOK_S)
            except queue.Full:
                continue
            return

    def _follow_archive(self, begin: int) -> None:
        try:
            for message in self._client.subscribe(
                self._name, start=begin, level=self._config.store.level
            ):
                self._put(message)
                if self._stop.is_set():
                    return
        except Exception as error:  # noqa: BLE001 - raised where the items are read
            self._put(error)

    def _follow_nodes(self) -> None:
        while not self._stop.is_set():
            try:
                with Live(self._topic, self._config) as live:
                    while not self._stop.is_set():
                        self._look(live)
            except DomainError as error:
                _log.warning("only the archive is followed for now: %s", error)
                self._stop.wait(AGAIN_S)
            except Exception as error:  # noqa: BLE001 - raised where the items are read
                self._put(error)
                return

    def _look(self, live: Live) -> None:
        """Ask the nodes once, and wait until the answer is merged."""
        position = self._position
        end, parts = read_along(live, position, LOOK_S)
        if not parts and end == position:
            return
        self._merged.clear()
        self._put(_Look(parts, end))
        while not self._merged.wait(LOOK_S) and not self._stop.is_set():
            pass
        if self._position == position:
            self._stop.wait(LOOK_S)  # the archive has to come first

    def __enter__(self) -> _Following:
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        self._client.close()
        # One that asks nodes which do not answer ends by itself, soon: nobody waits for it.
        for thread in self._threads:
            thread.join(LEAVE_S)
