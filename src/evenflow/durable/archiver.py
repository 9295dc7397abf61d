"""The archiver: a registered consumer of a topic that writes it to the overlay store.

Round after round: take the items from where it is up to the newest whole epochs, write them as one
bundle, wait until as many brokers as the level asks have it on disk, then commit, upon which nodes
and publishers may forget. Where it is stands in the archive itself, whose index says what it has
(`index`). An archiver that was killed begins there again, and one that did not hear whether its
bundle was stored looks there first; what does not count is added again.
"""

from __future__ import annotations

import contextlib
import logging
import time
from typing import TYPE_CHECKING, Final

from evenflow.closing import Closing
from evenflow.durable.archive import Archive
from evenflow.durable.live import Live
from evenflow.errors import ConfigError, ReadFailed, StoreTimeout
from evenflow.errors.words import counted
from evenflow.overlay.client.blocking import Client
from evenflow.slices.consumer.registry.declared import ARCHIVE

if TYPE_CHECKING:
    from collections.abc import Callable

    from evenflow.config import Config
    from evenflow.model.ids import Position

MOST_ITEMS: Final = 50_000
"""About how many items a bundle has at most; an epoch is never split."""
WAIT_S: Final = 0.2
GATHER_S: Final = 1.0
"""How long items gather for the next bundle; those who read along do not wait for it."""

_log = logging.getLogger(__name__)


def brokers_of(config: Config) -> list[str]:
    """Return the brokers that the configuration names; `ConfigError` when there are none."""
    if not config.store.brokers:
        raise ConfigError(
            "store.brokers", (), 'must name brokers for durable topics: ["127.0.0.1:7400"]'
        )
    return list(config.store.brokers)


def check_archived(topic: str, config: Config) -> None:
    """Raise `ConfigError` unless a topic is kept in the store, and the store is named."""
    found = config.topic(topic)
    if not found.archived:
        raise ConfigError(
            found.key("durable"), found.durable, "must be true, and served too, to archive it"
        )
    brokers_of(config)


class Archiver(Closing):
    """Writes one durable topic to the store until it is closed. Use ``with``.

    Args:
        topic: The topic.
        config: The configuration; its topic must be durable.
    """

    def __init__(self, topic: str, config: Config) -> None:
        check_archived(topic, config)
        self._client = Client(brokers_of(config))
        self._archive = Archive(self._client, topic, config.store.level)
        self._unsure = False
        """Whether the newest bundle may be in the archive, or not."""
        self._forgotten: Position | None = None
        """Where it was when the nodes had forgotten what follows."""
        self.items = 0
        """Items stored since start."""
        with contextlib.ExitStack() as stack:
            stack.callback(self._client.close)
            self._live = stack.enter_context(Live(topic, config, ARCHIVE))
            self._archived = self._position = self._archive.open()
            self._live.register(self._position)
            self._open = stack.pop_all()

    def work(self) -> int:
        """Store what is there, at most one bundle; return how many items that was."""
        if self._unsure:
            self._note(self._archive.refresh())
        end = self._live.latest(self._position, WAIT_S)
        if end == self._position:
            return 0
        end = self._live.limited(self._position, end, MOST_ITEMS)
        rows = list(self._live.read(self._position, end))
        count = sum(int(batch.num_rows) for batch in rows)
        if count:
            self._unsure = True
            self._note(self._archive.add(rows, end))
        else:
            self._position = end
            self._live.commit(end)
        self.items += count
        return count

    def _note(self, archived: Position) -> None:
        """The archive has this. It is nothing new when only epochs without items came since."""
        if archived != self._archived:
            self._archived = self._position = archived
            self._live.commit(archived)
        self._unsure = False

    def run(self, stop: Callable[[], bool]) -> None:
        """Store until told to stop.

        Raises:
            ReadFailed: The nodes have forgotten what the archive does not have: it has a gap.
        """
        while not stop():
            try:
                count = self.work()
            except (StoreTimeout, ReadFailed) as error:
                if isinstance(error, ReadFailed) and error.forgotten:
                    self._look_again(error)
                    continue
                # Brokers or nodes are away: what is not committed waits at the nodes.
                _log.warning("nothing is stored for now: %s", error)
                time.sleep(GATHER_S)
            else:
                if count:
                    _log.info("%s stored", counted(count, "item"))
                if count < MOST_ITEMS // 2:
                    time.sleep(GATHER_S)

    def _look_again(self, error: ReadFailed) -> None:
        """The nodes have forgotten what is wanted: another may have archived it meanwhile.

        Raises:
            ReadFailed: They have, and the archive has come no further.
        """
        if self._forgotten == self._position:
            raise _lost(error) from error
        self._forgotten, self._unsure = self._position, True

    def let_go(self) -> None:
        """Wait for no broker any more, nor let `run`, in its thread: that raises `ClosedError`."""
        self._client.close()

    def close(self) -> None:
        """Stop; what was not committed stays at the nodes."""
        self._open.close()


def _lost(error: ReadFailed) -> ReadFailed:
    return ReadFailed(
        error.topic,
        error.slices,
        "the nodes were told to forget items that the archive does not have; its consumer has"
        " expired or was released (see 'evenflow consumers'), and they cannot be archived",
        forgotten=True,
    )
