"""Thinning at the source: of each sender at most one item in a *separation*, before it is numbered.

A node takes a number that is missing for a loss and asks for it again. So items of a sliced topic
cannot be left out on their way; they can before they have a number, here (QoS adaptation, section
3: what ``time_based_filter`` does at a reader of a plain topic). The rules:

- The first item of a sender is let through. Another one is if it arrives at least the separation
  after the last that was. Items that arrive together, as columns, arrive at one moment.
- Arrival is by the publisher's own clock, whatever time an item bears. A clock that jumps back
  stands still for that moment: nobody waits for it to catch up.
- Nothing counts as let through before it is accepted: who finds no room and tries again is not
  thinned against itself. So asking (:meth:`Thinning.thins`, :meth:`Thinning.passing`) and noting
  (:meth:`Thinning.note_one`, :meth:`Thinning.note`) are two steps, under one lock.

Remembered are the senders that were let through within the separation, at most
:data:`MOST_SENDERS`. Beyond that those are forgotten that were let through longest ago; they may
pass too early, and are never thinned wrongly.

Whole columns are looked at in C: by the distinct names among them, never item by item.
"""

from __future__ import annotations

import math
from itertools import compress, repeat
from typing import TYPE_CHECKING, Any, Final

import numpy as np

if TYPE_CHECKING:
    from evenflow.model.batch import Int64s

MOST_SENDERS: Final = 100_000
"""Senders that are remembered."""


class Thinning:
    """What is let through of the senders of one publisher. ``now`` is any clock, in seconds.

    Args:
        most_senders: How many are remembered.
    """

    def __init__(self, most_senders: int = MOST_SENDERS) -> None:
        self.separation_s = 0.0
        """0: everything is let through, and nothing of this is asked."""
        self._most = most_senders
        self._last: dict[str, float] = {}
        """When each sender's last item was let through."""
        self._elapsed = 0.0
        self._clock: float | None = None

    @property
    def senders(self) -> int:
        """How many are remembered."""
        return len(self._last)

    def separate(self, separation_s: float) -> None:
        """Let through of each sender one item in so many seconds; 0: all."""
        self.separation_s = separation_s
        if not separation_s:
            self._last = {}

    def at(self, now: float) -> float:
        """How much time has passed since the first look, by a clock that may jump back."""
        if self._clock is not None and now > self._clock:
            self._elapsed += now - self._clock
        self._clock = now
        return self._elapsed

    # -- asking ------------------------------------------------------------------------------------

    def thins(self, sender: str, now: float) -> bool:
        """Whether an item that arrives now is left out."""
        elapsed, last = self.at(now), self._last.get(sender)
        return last is not None and elapsed - last < self.separation_s

    def passing(self, senders: Any, now: float) -> Int64s:
        """The rows that are let through of those that arrive now, in their order.

        Args:
            senders: An Arrow dictionary of names.
            now: The time.
        """
        if not self.separation_s:
            return np.arange(len(senders))
        elapsed, names = self.at(now), senders.dictionary
        # A name may stand twice in a dictionary that a program has made.
        distinct = names.dictionary_encode()
        codes = distinct.indices.to_numpy()[senders.indices.to_numpy()]
        present, firsts = np.unique(codes, return_index=True)
        asked = distinct.dictionary.take(present).to_numpy(zero_copy_only=False)
        last = np.fromiter(map(self._last.get, asked, repeat(-math.inf)), float, len(asked))
        return np.sort(firsts[elapsed - last >= self.separation_s])

    # -- noting ------------------------------------------------------------------------------------

    def note_one(self, sender: str) -> None:
        """An item is accepted, at the time that was asked about last."""
        if self.separation_s:
            self._last[sender] = self._elapsed
            self._forget()

    def note(self, senders: Any) -> None:
        """Items are accepted, each of another sender, at the time that was asked about last."""
        if self.separation_s:
            names = senders.dictionary_decode().to_numpy(zero_copy_only=False)
            self._last.update(zip(names, repeat(self._elapsed), strict=False))
            self._forget()

    def _forget(self) -> None:
        """Forget who would pass anyway, and then whoever was let through longest ago."""
        if len(self._last) <= self._most:
            return
        last = np.fromiter(self._last.values(), float, len(self._last))
        keep = self._elapsed - last < self.separation_s
        most = self._most // 2
        if keep.sum() > most:
            # Of equal times the later ones stand behind, and are kept.
            keep[:] = False
            keep[np.argsort(last, kind="stable")[-most:]] = True
        self._last = dict(compress(self._last.items(), keep.tolist()))
