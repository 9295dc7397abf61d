"""How many items epochs have, as far as publishers have told it.

``EpochClose`` says how many items a writer has published up to the end of an epoch, and up to the
end of the one that all consumers have committed. A consumer hears most closes, not all of them. So
its lag is known nearly, and a limit that need not be exact is kept without asking anybody: the
items of a writer are taken to be spread evenly over the epochs between those whose count is known.
Who needs exact numbers asks the nodes (:mod:`~.counts`).
"""

from __future__ import annotations

from math import inf
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

    from evenflow.model.ids import Position
    from evenflow.model.messages import EpochClose


class EpochItems:
    """Items of the epochs of all writers of a topic."""

    def __init__(self) -> None:
        self.closes: dict[int, EpochClose] = {}
        """The newest close of each writer."""
        self._counts: dict[int, dict[int, int]] = {}
        """For each writer: items up to the end of some epochs."""
        self._heard: dict[int, dict[int, float]] = {}
        """For each writer: when some epochs were first heard of."""

    def on_close(self, close: EpochClose, now: float) -> None:
        """A writer closed an epoch."""
        self.closes[close.writer] = close
        self._heard.setdefault(close.writer, {}).setdefault(close.epoch, now)
        counts = self._counts.setdefault(close.writer, {})
        counts |= {close.committed: close.committed_items, close.epoch: close.items}

    def settle(self, position: Position) -> None:
        """Everything up to a position is committed."""
        for writer, epoch in position.items():
            for known in (self._counts.get(writer, {}), self._heard.get(writer, {})):
                for old in [e for e in known if e < epoch]:
                    del known[old]

    def writers(self) -> list[int]:
        """Writers that were heard."""
        return list(self._counts)

    def forget(self, writer: int) -> None:
        """A writer has ended."""
        self._counts.pop(writer, None)
        self._heard.pop(writer, None)
        self.closes.pop(writer, None)

    def waiting_since(self, position: Position, writers: Iterable[int]) -> float:
        """When the oldest epoch behind a position was first heard of; infinity when there is none.

        What was committed before this consumer came does not wait.
        """
        return min(
            (
                heard
                for writer in writers
                for epoch, heard in self._heard.get(writer, {}).items()
                if epoch > max(position[writer], self.closes[writer].committed)
            ),
            default=inf,
        )

    def limited(self, start: Position, end: Position, items: int) -> Position:
        """A position between two, about this many items behind the first and at least one epoch.

        An epoch is never split.
        """
        begin = {w: self._begin(w, start[w], epoch) for w, epoch in end.items()}
        wanted = {w: self.between(w, begin[w], epoch) for w, epoch in end.items()}
        total = sum(wanted.values())
        if total <= items:
            return end
        share = items / total
        limited = start.merged(
            {w: begin[w] + int((epoch - begin[w]) * share) for w, epoch in end.items()}
        )
        if limited == start:
            largest = max(wanted, key=lambda w: wanted[w])
            return start.merged({largest: begin[largest] + 1})
        return limited

    def _begin(self, writer: int, start: int, end: int) -> int:
        """Where the items of a writer begin that lie between two epochs.

        A publisher that was cut and came back has no epoch up to where its stream was cut: nodes
        would take a position in there for one of which items were forgotten. Before a writer that
        is new here has named its first epoch, all of it is taken.
        """
        if start:
            return start
        close = self.closes.get(writer)
        return min(close.committed, end) if close is not None and close.epoch else end

    def enough(self, start: Position, end: Position, items: int) -> Position:
        """A position up to a second one, for each writer surely so many items behind the first.

        What lies behind it need not be looked at by who may take no more than that.
        """
        return end.capped({w: self._enough(w, start[w], end[w], items) for w in end})

    def _enough(self, writer: int, start: int, end: int, items: int) -> int:
        counts = self._counts.get(writer, {})
        # At least so many are behind, whatever is not known: what is before counts as before.
        before = min((n for e, n in counts.items() if e >= start), default=0)
        known = (e for e, n in counts.items() if start < e < end and n - before > items)
        return min(known, default=end)

    def at_most(self, start: Position, end: Position) -> float:
        """No more items than this lie between two positions; infinity when that is not known."""
        return sum(self._at_most(w, start[w], epoch) for w, epoch in end.items())

    def _at_most(self, writer: int, start: int, end: int) -> float:
        if start >= end:
            return 0
        counts = self._counts.get(writer, {})
        before = max((n for e, n in counts.items() if e <= start), default=0)
        return min((n for e, n in counts.items() if e >= end), default=inf) - before

    def between(self, writer: int, start: int, end: int) -> int:
        """About how many items a writer has between two epochs."""
        return max(0, self._up_to(writer, end) - self._up_to(writer, start))

    def _up_to(self, writer: int, epoch: int) -> int:
        counts = self._counts.get(writer, {})
        if epoch in counts:
            return counts[epoch]
        below = max(((e, n) for e, n in counts.items() if e < epoch), default=(0, 0))
        above = min(((e, n) for e, n in counts.items() if e > epoch), default=None)
        if above is None:
            return below[1]
        return below[1] + (above[1] - below[1]) * (epoch - below[0]) // (above[0] - below[0])
