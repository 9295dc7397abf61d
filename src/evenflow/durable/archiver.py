"""The archiver: a registered consumer of a topic that writes it to the overlay store.

Round after round: take the items from where it is up to the newest whole epochs, write them as one
bundle, wait until as many brokers as the level asks have it on disk, then commit, upon which nodes
and publishers may forget. Where it is stands in the archive itself: the end of the last whole
bundle. An archiver that was killed begins there again; what it had written without a whole bundle,
or without knowing that it was stored, comes once more under the same numbers, and readers see it
once.
"""

from __future__ import annotations

import contextlib
import logging
import secrets
import time
from typing import TYPE_CHECKING, Final

from evenflow.closing import Closing
from evenflow.durable.frames import Assembly, archive_topic, encode_bundle
from evenflow.durable.live import Live
from evenflow.errors import ConfigError, DecodeError, ReadFailed, StoreTimeout
from evenflow.model.ids import Position
from evenflow.overlay.client.blocking import Client
from evenflow.slices.consumer.registry import ARCHIVE

if TYPE_CHECKING:
    from collections.abc import Callable

    from evenflow.config import Config

MOST_ITEMS: Final = 50_000
"""About how many items a bundle has at most; an epoch is never split."""
WAIT_S: Final = 0.2
GATHER_S: Final = 1.0
"""How long items gather for the next bundle; those who read along do not wait for it."""
FIRST_WINDOW_NS: Final = 2_000_000_000
"""How far back the end of the archive is looked for at first; then eight times as far."""

_log = logging.getLogger(__name__)


def brokers_of(config: Config) -> list[str]:
    """Return the brokers that the configuration names; `ConfigError` when there are none."""
    if not config.store.brokers:
        raise ConfigError(
            "store.brokers", (), 'must name brokers for durable topics: ["127.0.0.1:7400"]'
        )
    return list(config.store.brokers)


class Archiver(Closing):
    """Writes one durable topic to the store until it is closed. Use ``with``.

    Args:
        topic: The topic.
        config: The configuration; its topic must be durable.
    """

    def __init__(self, topic: str, config: Config) -> None:
        found = config.topic(topic)
        if not found.durable:
            raise ConfigError(found.key("durable"), found.durable, "must be true to archive it")
        self._topic = archive_topic(topic)
        self._level = config.store.level
        self._client = Client(brokers_of(config))
        self.items = 0
        """Items stored since start."""
        with contextlib.ExitStack() as stack:
            stack.callback(self._client.close)
            self._live = stack.enter_context(Live(topic, config, ARCHIVE))
            self._position = last_position(self._client, self._topic, self._level)
            self._live.register(self._position)
            self._open = stack.pop_all()

    def work(self) -> int:
        """Store what is there, at most one bundle; return how many items that was."""
        end = self._live.latest(self._position, WAIT_S)
        if end == self._position:
            return 0
        end = self._live.limited(self._position, end, MOST_ITEMS)
        rows = list(self._live.read(self._position, end))
        if rows:
            bundle = encode_bundle(rows, end, secrets.token_hex(8))
            self._client.publish_all(self._topic, bundle, level=self._level)
        self._live.commit(end)
        self._position = end
        count = sum(int(batch.num_rows) for batch in rows)
        self.items += count
        return count

    def run(self, stop: Callable[[], bool]) -> None:
        """Store until told to stop."""
        while not stop():
            try:
                count = self.work()
            except (StoreTimeout, ReadFailed) as error:
                # Brokers or nodes are away: what is not committed waits at the nodes.
                _log.warning("nothing is stored for now: %s", error)
            else:
                if count:
                    _log.info("%d items stored", count)
                if count < MOST_ITEMS // 2:
                    time.sleep(GATHER_S)

    def close(self) -> None:
        """Stop; what was not committed stays at the nodes."""
        self._open.close()


def last_position(client: Client, topic: str, level: int) -> Position:
    """Return the end of the last whole bundle of an archive; empty when there is none."""
    # The store's own now: with this machine's, what brokers stored whose clocks are ahead would be
    # overlooked, and asked for again from nodes that have long forgotten it.
    end, window = client.now(topic, level=level), FIRST_WINDOW_NS
    while True:
        assembly, found = Assembly(), None
        start = max(1, end - window)
        for message in client.read(topic, start, end):
            try:
                found = assembly.add(message.payload) or found
            except DecodeError as error:
                _log.warning("the archive %s has a message that is none of its: %s", topic, error)
        if found is not None or start == 1:
            return found.end if found is not None else Position()
        window *= 8
