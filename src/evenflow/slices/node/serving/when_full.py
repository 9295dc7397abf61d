"""What a serving node takes in though it is full.

A full cache empties only when consumers commit, and they commit only what is whole. So a node that
refused everything could stay full for ever; one that took in whatever lacks something would grow
with every epoch that consumers leave unread. Of each writer a full node takes in

- the next step, when everything that is whole here was committed or given out: a consumer has
  nothing left to read, and Spark commits a batch only when it has planned the next one;
- what a reader asked for and was refused because it is not whole: it was whole at another owner,
  and a batch that is planned has to be read.

What a reader was given counts only if it began at what everybody has committed. Otherwise one that
runs ahead of a consumer that is away would draw the whole stream through the memory of the nodes.

A step is an epoch; or several, because only a close can prove that an epoch is whole, and a node
has not heard or not remembered every one (:mod:`~evenflow.slices.node.serving.closes`).
"""

from __future__ import annotations

from collections import OrderedDict
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Callable

MOST_RANGES: Final = 16
"""Ranges of one writer that are remembered; older ones are forgotten first."""


class WhenFull:
    """Up to which epoch of each writer items come in always."""

    def __init__(self) -> None:
        self._given: dict[int, OrderedDict[int, int]] = {}
        """By writer: where ranges began that readers were given, and where each ended."""
        self._promised: dict[int, int] = {}
        """By writer: the newest epoch that a reader was refused because it was not whole."""

    def on_given(self, writer: int, start: int, end: int) -> None:
        """A reader was given everything in ``(start, end]``."""
        given = self._given.setdefault(writer, OrderedDict())
        given[start] = max(end, given.pop(start, 0))
        if len(given) > MOST_RANGES:
            given.popitem(last=False)

    def on_refused(self, writer: int, end: int) -> None:
        """A reader was told to come later, because an epoch is not whole here."""
        self._promised[writer] = max(end, self._promised.get(writer, 0))

    def limit(self, writer: int, whole: int, floor: int, provable: Callable[[int], int]) -> int:
        """The newest epoch of a writer whose items come in though the cache is full.

        Args:
            writer: The writer.
            whole: Up to this epoch everything is here.
            floor: Up to this epoch everything is committed.
            provable: Gives, for an epoch, the first one from there on that can be seen to be whole.
        """
        read = floor
        for start, end in list(self._given.get(writer, {}).items()):
            if end <= floor:
                del self._given[writer][start]
            elif start <= floor:
                read = max(read, end)
        wanted = whole + 1 if whole <= read else 0
        if self._promised.get(writer, 0) > whole:
            wanted = max(wanted, self._promised[writer])
        else:
            self._promised.pop(writer, None)
        return provable(wanted) if wanted else whole

    def forget_writer(self, writer: int) -> None:
        """Nothing of a writer is left here."""
        self._given.pop(writer, None)
        self._promised.pop(writer, None)
