"""A balancer and its disk: what it claims, reads and saves, and when.

Nothing is told to anybody before it is saved. While the disk is full, or another balancer has
claimed it (:mod:`evenflow.slices.ending.fence`), new consumers and the ends of writers wait.

The balancer does nothing else meanwhile, and one that is held up for seconds must take itself for
one that stood still. So a disk that is slow, with many topics, gets a part of each turn
(`DISK_S`): what is left is claimed or saved later, and those first that have waited longest.
"""

from __future__ import annotations

import logging
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from evenflow.errors import StorageError
from evenflow.slices.ending.disk import StateFolder
from evenflow.slices.ending.fence import Fence

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from evenflow.slices.balancer.membership.leadership import Leadership
    from evenflow.slices.ending.bookkeeping import Bookkeeping
    from evenflow.slices.ending.records import State

SAVE_AGAIN_S: Final = 1.0
"""After a disk that could not be written."""
LOOK_S: Final = 1.0
"""How often who leads looks whether another one has claimed the disk."""
DISK_S: Final = 0.5
"""How long the disk may hold up a turn of the balancer."""

_LOG = logging.getLogger(__name__)


@dataclass(slots=True)
class Claiming:
    """The claims of one turn of leading."""

    turn: int
    goes_on: bool = False
    """The one before was not through: what is held since then need not be claimed again."""
    spent: float = 0.0
    refused: bool = False

    @property
    def is_over(self) -> bool:
        """Whether nothing more is claimed in this turn."""
        return self.refused or self.spent >= DISK_S


class Saving:
    """Keeps the books of a balancer's topics on disk.

    Args:
        path: The folder.
        leadership: Whether the process leads; who has lost the disk to another claims anew.
    """

    def __init__(self, path: Path, leadership: Leadership) -> None:
        self._path, self._leadership = path, leadership
        self._folder = StateFolder(path)
        self._fence = Fence()
        self._next_look = self._next_save = 0.0
        self._waits = False
        """Whether something cannot be saved; told once."""
        self._claiming = Claiming(turn=-1)
        self._saved_at: dict[str, float] = {}
        """When each topic was saved."""
        self._look_ahead()

    def _look_ahead(self) -> None:
        """Say at once that the disk cannot be written: a standby would find out when it leads."""
        fault = self._folder.fault()
        if fault is not None and not isinstance(fault, BlockingIOError):  # another one is writing
            self._wait(f"storage {self._path}: {fault}; see balancer.state_dir")

    def load(self, topic: str) -> State:
        """What is on disk of a topic; who leads claims it first.

        All topics are begun in one go. Where one claim is refused the others are not tried, because
        each may take as long as a lock is waited for; nor when they have taken too long together.
        What is not claimed is claimed later, anew.

        Raises:
            StorageError: It cannot be read, or is damaged.
        """
        if self._leadership.leads:
            self._claim(topic)
        return self._folder.load(topic)

    def _claim(self, topic: str) -> None:
        claiming, turn = self._claiming, self._leadership.turn
        if claiming.turn != turn:
            claiming = self._claiming = Claiming(turn, goes_on=claiming.is_over)
        if claiming.is_over or (claiming.goes_on and self._folder.holds(topic)):
            return
        begun = time.monotonic()
        try:
            self._folder.claim(topic, self._leadership)
        except StorageError as error:
            claiming.refused = True
            self._wait(str(error))
        claiming.spent += time.monotonic() - begun

    def poll(self, books: Mapping[str, Bookkeeping], now: float) -> None:
        """Save what is due, when the process leads and the disk is its own."""
        if not self._leadership.leads:
            return
        if now >= self._next_look:
            self._next_look = now + LOOK_S
            self._look(books, now)
        if self._fence.lost or now < self._next_save:
            return
        begun = time.monotonic()
        for topic in sorted(books, key=lambda each: self._saved_at.get(each, 0.0)):
            if books[topic].due(now) and not self._save(topic, books[topic], now):
                return
            if time.monotonic() - begun >= DISK_S:
                return

    def _look(self, topics: Mapping[str, object], now: float) -> None:
        held = all(self._folder.holds(topic) for topic in topics)
        again = self._fence.look(now, held=held)
        if not held:
            self._wait(f"another balancer has claimed {self._path}, or it is full or slow")
        if again and self._folder.is_writable():
            # Its topics begin anew, and so read what the other one has saved.
            self._leadership.claim_anew("its disk was claimed by another, full or slow", now)

    def _save(self, topic: str, books: Bookkeeping, now: float) -> bool:
        files = books.files(now)
        try:
            self._folder.save(topic, files)
        except StorageError as error:
            self._wait(str(error))
            self._next_save = now + SAVE_AGAIN_S
            return False
        books.on_saved(files, now)
        self._saved_at[topic] = now
        if self._waits:
            self._waits = False
            _LOG.warning("new consumers and the ends of writers are written down again")
        return True

    def _wait(self, why: str) -> None:
        if not self._waits:
            _LOG.error("new consumers and the ends of writers wait: %s", why)
        self._waits = True
