"""How far a publisher is: a line a second, and when nothing changes once by what it is held up."""

from __future__ import annotations

from threading import Event, Thread
from typing import TYPE_CHECKING, Final

from evenflow.cli.output.log import say
from evenflow.errors.words import are, counted

if TYPE_CHECKING:
    from collections.abc import Callable

    from evenflow.slices.publisher.diagnosis import PublisherStats
    from evenflow.slices.publisher.publisher import Publisher

STILL_S: Final = 3
"""After how many seconds without a change it is said what is waited for."""


class Progress:
    """Shows once a second on stderr how far it is, in a thread of its own."""

    def __init__(self, publisher: Publisher, *, shown: bool) -> None:
        self._publisher = publisher
        self._ended = Event()
        self._lines = ProgressLines()
        self._shown = shown
        self._thread = Thread(target=self._show, name="evenflow-progress", daemon=True)

    def __enter__(self) -> Progress:
        if self._shown:
            self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._ended.set()
        if self._shown:
            self._thread.join()

    def _show(self) -> None:
        while not self._ended.wait(1.0):
            line = self._lines.next(self._publisher.stats, self._publisher.why_uncommitted)
            if line:
                say(line)


class ProgressLines:
    """What is said each second: how far it is, and once, when that stands still, by what."""

    def __init__(self) -> None:
        self._before = (0, -1)
        self._still = 0
        """For how many seconds nothing has changed."""

    def next(self, stats: PublisherStats, why: Callable[[], str]) -> str:
        """The line of this second; empty when there is nothing new.

        Args:
            stats: What the publisher has done.
            why: Says what it waits for.
        """
        now = (stats.published, stats.committed)
        rate, moved = stats.published - self._before[0], now != self._before
        self._before = now
        self._still = 0 if moved else self._still + 1
        if moved:
            return (
                f"{stats.published} published ({rate}/s), {stats.committed} committed,"
                f" {stats.uncommitted} to go ({stats.retained_bytes / 1e6:.1f} MB)"
            )
        if self._still == STILL_S and stats.uncommitted:
            left = stats.uncommitted
            return f"{counted(left, 'item')} to go {are(left)} waited for: {why()}"
        return ""
