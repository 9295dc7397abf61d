"""A simulated link between a client and a gateway."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

    from evenflow.testing.virtual_time import Process, VirtualTime


class SimLink:
    """In order both ways, until it is cut.

    What was on its way when it is cut may still arrive, a first part of it. Each end notices by and
    by, the client perhaps long after the gateway, or the other way round.
    """

    def __init__(self, time: VirtualTime, number: int, client: Process, gateway: Process) -> None:
        self.time = time
        self.number = number
        self.ends = {True: gateway, False: client}
        self.cut = False
        self._last = {True: 0.0, False: 0.0}
        self._lost_after = {True: float("inf"), False: float("inf")}
        self._slow = 0.0 if time.calm else time.random.choice([0.0] * 6 + [0.3, 1.5])
        """What goes up is late by so much: it may arrive when the node is long elsewhere."""

    def carry(self, *, up: bool, do: Callable[[], None]) -> None:
        """Something travels to the gateway (up) or to the client."""
        if self.cut:
            return
        late = self._slow if up and not self.time.calm else 0.0
        when = max(self._last[up] + 1e-9, self.time.now + self.time.latency() + late)
        self._last[up] = when

        def arrive() -> None:
            if when <= self._lost_after[up]:
                do()

        self.time.at(when, arrive, self.ends[up])

    def break_off(self, notice: Callable[[bool], None]) -> None:
        """Cut it; ``notice`` is called for each end when it sees that."""
        if self.cut:
            return
        self.cut = True
        for up in (True, False):
            late = self.time.now + self.time.random.choice([0.0, self.time.latency(), 1.0, 3.0])
            self._lost_after[up] = late
            delay = 0.01 if self.time.calm else self.time.random.choice([0.01, 0.3, 3.0])
            after = max(late, self.time.now) + delay
            self.time.at(after, lambda up=up: notice(up), self.ends[up])  # type: ignore[misc]
