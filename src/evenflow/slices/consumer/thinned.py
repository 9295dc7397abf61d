"""How many items publishers left out, as a consumer hears it with their epochs.

``EpochClose.thinned`` counts from the start of a writer to the end of an epoch, also across
restarts of a publisher with an outbox; its goodbye has all that it ever left out. So what was left
out up to a *position* is known as exactly as the position itself, and a count over a stream can be
corrected by it. A count never falls: a close that comes late, or of a former writer that repeats
its end, changes nothing. What was never heard (a writer that ended before a consumer was started,
what a writer left out between its last epoch and a cut) is not counted.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Mapping

    from evenflow.model.ids import Position
    from evenflow.model.messages import EpochClose

ENDED: Final = 0
"""In place of a writer: all that have ended."""
MOST_OVER: Final = 1_000
"""Writers that have ended and are remembered."""


class _Writer:
    """One writer: how many it has left out up to the end of some epochs."""

    __slots__ = ("settled", "steps")

    def __init__(self) -> None:
        self.settled = 0
        self.steps: list[tuple[int, int]] = [(0, 0)]

    @property
    def newest(self) -> int:
        return self.steps[-1][1]

    def begin(self, epoch: int, thinned: int) -> None:
        self.settled, self.steps = thinned, [(epoch, thinned)]

    def on_close(self, epoch: int, thinned: int) -> None:
        if thinned > self.newest and epoch >= self.steps[-1][0]:
            if epoch == self.steps[-1][0]:
                del self.steps[-1]
            self.steps.append((epoch, thinned))

    def up_to(self, epoch: int) -> int:
        """Left out up to an epoch, as far as it was heard; never less than what is settled."""
        known = (thinned for at, thinned in reversed(self.steps) if at <= epoch)
        return max(self.settled, next(known, 0))

    def settle(self, epoch: int) -> None:
        while len(self.steps) > 1 and self.steps[1][0] <= epoch:
            del self.steps[0]
        if self.steps[0][0] <= epoch:
            self.settled = self.steps[0][1]


class ThinnedCounts:
    """What all writers of a topic have left out."""

    def __init__(self) -> None:
        self._writers: dict[int, _Writer] = {}
        self._over: dict[int, _Writer] = {}
        """Those that have ended last: they may be heard once more."""
        self._ended = 0
        """Items left out by all that ended before."""

    @property
    def heard(self) -> int:
        """Items left out, as far as they were heard of."""
        return self._of_ended() + sum(one.newest for one in self._writers.values())

    @property
    def settled(self) -> int:
        """Items left out up to the position that was committed last."""
        return self._of_ended() + sum(one.settled for one in self._writers.values())

    def on_close(self, close: EpochClose) -> None:
        """A writer closed an epoch."""
        known = self._writers.get(close.writer) or self._over.get(close.writer)
        if known is None and close.thinned:
            known = self._writers[close.writer] = _Writer()
        if known is not None:
            known.on_close(close.epoch, close.thinned)

    def settle(self, position: Position) -> None:
        """Everything up to a position is committed."""
        for writer, epoch in position.items():
            if writer in self._writers:
                self._writers[writer].settle(epoch)

    def up_to(self, position: Position) -> dict[int, int]:
        """Items left out up to a position, by writer."""
        found = {w: one.up_to(position[w]) for w, one in self._writers.items()}
        return {ENDED: self._of_ended(), **found}

    def recall(self, left_out: Mapping[int, int], position: Position) -> None:
        """Go on from what was left out up to a position, as an earlier life has noted it.

        What writers have told since counts beside it.
        """
        for writer, thinned in left_out.items():
            if writer not in position:
                self._ended += thinned
                continue
            known = self._writers.get(writer)
            one = self._writers[writer] = _Writer()
            one.begin(position[writer], thinned)
            for epoch, told in known.steps if known is not None else ():
                one.on_close(epoch, told)

    def forget(self, writer: int) -> None:
        """A writer has ended, and everybody has all of it."""
        if writer in self._writers:
            self._over[writer] = self._writers.pop(writer)
        if len(self._over) > MOST_OVER:
            self._ended += self._over.pop(next(iter(self._over))).newest

    def _of_ended(self) -> int:
        return self._ended + sum(one.newest for one in self._over.values())
