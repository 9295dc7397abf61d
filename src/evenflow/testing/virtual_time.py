"""Virtual time and the processes that live in it: what happens next, and who stands still.

Everything is an event at a time. A process that is stopped (SIGSTOP) finds what happened to it
meanwhile when it goes on; one that was killed does not. Both are asked by their name and their
*life*, which grows with each start: what was on its way to a former life is lost.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable
from dataclasses import dataclass, field
from random import Random

WALL = 1_800_000_000.0


@dataclass(slots=True)
class Process:
    """Somebody who can be stopped, killed and started again."""

    name: str
    life: int = 0
    alive: bool = False
    stopped: bool = False
    waiting: list[tuple[int, Callable[[], None]]] = field(default_factory=list)
    """What happened while it stood still, and to which life."""


class VirtualTime:
    """The time, and what is going to happen."""

    def __init__(self, seed: int) -> None:
        self.random = Random(seed)
        self.now = 0.0
        self.calm = False
        """Whether nothing goes wrong any more."""
        self._coming: list[tuple[float, int, Process | None, int, Callable[[], None]]] = []
        self._count = 0
        self.happened = 0

    @property
    def wall(self) -> float:
        """The time of day."""
        return WALL + self.now

    def at(self, when: float, do: Callable[[], None], to: Process | None = None) -> None:
        """Something will happen, perhaps to a process in its present life."""
        self._count += 1
        life = 0 if to is None else to.life
        heapq.heappush(self._coming, (max(when, self.now), self._count, to, life, do))

    def later(self, delay: float, do: Callable[[], None], to: Process | None = None) -> None:
        """The same, so much later than now."""
        self.at(self.now + delay, do, to)

    def run(self, until: float) -> None:
        """Let everything happen up to a time."""
        while self._coming and self._coming[0][0] <= until:
            self.now, _, to, life, do = heapq.heappop(self._coming)
            self.happened += 1
            if to is None:
                do()
            elif to.stopped:
                to.waiting.append((life, do))
            elif to.alive and to.life == life:
                do()
        self.now = until

    def go_on(self, process: Process) -> None:
        """A stopped process goes on with what waited for it."""
        process.stopped = False
        waiting, process.waiting = process.waiting, []
        for life, do in waiting:
            if process.stopped:
                process.waiting.append((life, do))
            elif process.alive and process.life == life:
                do()

    def latency(self) -> float:
        """How long something takes on its way."""
        return 0.001 if self.calm else self.random.expovariate(50.0)
