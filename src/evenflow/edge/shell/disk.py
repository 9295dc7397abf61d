"""What a door has on disk: marks, and an outbox for each topic, opened together.

The folder belongs to one process at a time (the outboxes are locked) and to one name: other doors
settle with it by its name, so it goes on under the same name with the same folder.
"""

from __future__ import annotations

import logging
from contextlib import ExitStack, suppress
from typing import TYPE_CHECKING, Final

from evenflow.edge.shell.marks import Marks
from evenflow.edge.shell.unit_writer import UnitWriter
from evenflow.errors import DeliveryTimeout
from evenflow.slices.publisher.publisher import Publisher

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from evenflow.clock import Clock
    from evenflow.config import Config
    from evenflow.domain.cyclone import Participant
    from evenflow.edge.actions import Accept

_log = logging.getLogger(__name__)
OUTBOX: Final = "outbox."
"""What the folder of a topic's outbox begins with."""


def unserved(folder: Path, topics: Sequence[str]) -> list[str]:
    """Topics that have an outbox here and are not served: what it may hold is not sent."""
    there = (one.name.removeprefix(OUTBOX) for one in folder.glob(f"{OUTBOX}*") if one.is_dir())
    return sorted(set(there) - set(topics))


class DoorDisk:
    """The marks and publishers of a door.

    Args:
        folder: Where they are.
        topics: Topics that clients may publish to.
        config: The configuration.
        participant: The process's place in the domain.

    Raises:
        OutboxRefused: Another process uses the folder.
        StorageError: It cannot be used, or marks and outboxes do not belong together.
    """

    def __init__(
        self, folder: Path, topics: Sequence[str], config: Config, participant: Participant
    ) -> None:
        self._config = config
        self._participant = participant
        self._writers: dict[str, UnitWriter] = {}
        self._cleanup = ExitStack()
        for topic in unserved(folder, topics):
            _log.warning(
                "there is an outbox of topic %r, which is not served: what was accepted for it and"
                " not sent is not sent before it is served again",
                topic,
            )
        with self._cleanup:
            self.marks = self._cleanup.enter_context(Marks(folder / "marks.sqlite3"))
            self._publishers = {topic: self._publisher(folder, topic) for topic in topics}
            self._cleanup = self._cleanup.pop_all()

    def _publisher(self, folder: Path, topic: str) -> Publisher:
        publisher = Publisher(
            topic,
            config=self._config,
            participant=self._participant,
            outbox=folder / f"{OUTBOX}{topic}",
        )
        self._cleanup.callback(_leave, publisher)
        taken_back = self.marks.recover(topic, publisher.newest_unit)
        if taken_back:
            _log.info("%d marks of topic %s were ahead of the outbox", taken_back, topic)
        return publisher

    @property
    def newest_units(self) -> dict[str, int]:
        """For each topic: the newest unit in its outbox."""
        return {topic: one.newest_unit for topic, one in self._publishers.items()}

    @property
    def uncommitted(self) -> int:
        """Items in the outboxes that nobody has committed."""
        return sum(one.stats.uncommitted for one in self._publishers.values())

    def start(
        self,
        clock: Clock,
        on_synced: Callable[[str, int], object],
        on_failed: Callable[[BaseException], object],
    ) -> None:
        """Begin to write units; see :class:`UnitWriter`."""
        self._writers = {
            topic: UnitWriter(publisher, self.marks, clock, on_synced, on_failed)
            for topic, publisher in self._publishers.items()
        }

    def write(self, unit: Accept) -> None:
        """Write a unit."""
        self._writers[unit.topic].write(unit)

    def close(self, commit_s: float) -> None:
        """End; what is not committed in this time is in the outboxes, for the next process."""
        for writer in self._writers.values():
            writer.close()
        for publisher in self._publishers.values():
            _leave(publisher, commit_s)
        self._cleanup.close()


def _leave(publisher: Publisher, within_s: float = 0.0) -> None:
    with suppress(DeliveryTimeout):
        publisher.close(within_s)
