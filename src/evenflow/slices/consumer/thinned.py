"""How many items publishers left out, as a consumer hears it with their epochs.

``EpochClose.thinned`` counts from the start of a writer to the end of an epoch, also across restarts
of a publisher with an outbox; its goodbye has all that it ever left out. So what was left out up to
a *position* is known as exactly as the position itself, and a count over a stream can be corrected
by it. A count never falls: a close that comes late, or of a former writer that repeats its end,
changes nothing. What was never heard (a writer that ended before a consumer was started, what a
writer left out between its last epoch and a cut) is not counted.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from evenflow.model.ids import Position
    from evenflow.model.messages import EpochClose


class _Writer:
    """One writer: how many it has left out up to the end of some epochs."""

    __slots__ = ("_steps", "settled")

    def __init__(self) -> None:
        self.settled = 0
        self._steps: list[tuple[int, int]] = [(0, 0)]

    @property
    def newest(self) -> int:
        return self._steps[-1][1]

    def on_close(self, epoch: int, thinned: int) -> None:
        if thinned > self.newest and epoch >= self._steps[-1][0]:
            if epoch == self._steps[-1][0]:
                del self._steps[-1]
            self._steps.append((epoch, thinned))

    def settle(self, epoch: int) -> None:
        while len(self._steps) > 1 and self._steps[1][0] <= epoch:
            del self._steps[0]
        if self._steps[0][0] <= epoch:
            self.settled = self._steps[0][1]


class ThinnedCounts:
    """What all writers of a topic have left out."""

    def __init__(self) -> None:
        self._writers: dict[int, _Writer] = {}
        self._ended = 0

    @property
    def heard(self) -> int:
        """Items left out, as far as they were heard of."""
        return self._ended + sum(one.newest for one in self._writers.values())

    @property
    def settled(self) -> int:
        """Items left out up to the position that was committed last."""
        return self._ended + sum(one.settled for one in self._writers.values())

    def on_close(self, close: EpochClose) -> None:
        """A writer closed an epoch."""
        if close.thinned or close.writer in self._writers:
            writer = self._writers.setdefault(close.writer, _Writer())
            writer.on_close(close.epoch, close.thinned)

    def settle(self, position: Position) -> None:
        """Everything up to a position is committed."""
        for writer, epoch in position.items():
            if writer in self._writers:
                self._writers[writer].settle(epoch)

    def forget(self, writer: int) -> None:
        """A writer has ended, and everybody has all of it."""
        one = self._writers.pop(writer, None)
        if one is not None:
            self._ended += one.newest
