"""How long what publishers that have left had published is kept, beyond what is committed.

Of a served topic a writer whose stream was cut is cleared when every registered consumer has
committed up to the cut. A topic that keeps a history (``topics.NAME.keep``) keeps the nodes' part
of such streams for longer: for the time that the topic says, counted by the clock of the balancer
that leads, and anew when another one does: later, never earlier. It is let go before

- when slices are taken over and not handed over: only the node that died had its part, and what is
  not whole cannot be read;
- when a node says that it has no room (``RoomWanted``): the stream that ended first;
- when more than :data:`MOST_STREAMS` are kept for nothing else: those that ended first.

A stream is let go as a whole. One that a registered consumer has still to read is not concerned.
"""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Final

from evenflow.errors.words import counted
from evenflow.model.ids import WriterId
from evenflow.model.messages import CutStage

if TYPE_CHECKING:
    from collections.abc import Mapping

    from evenflow.config.spans import Keep
    from evenflow.model.messages import WriterCut
    from evenflow.slices.ending.records import Ended

_LOG = logging.getLogger(__name__)

MOST_STREAMS: Final = 100
"""Streams of writers that have ended which are kept though everybody has committed them."""


class KeptStreams:
    """Which ended writers of one topic are kept though all have committed them.

    Args:
        keep: How much is kept; None for nothing.
    """

    def __init__(self, keep: Keep | None) -> None:
        self._keep = keep
        self._since: dict[int, float] = {}
        """When everybody had committed a writer's stream, as far as is known here."""
        self._let_go: set[int] = set()

    def log_cut(self, cut: WriterCut) -> None:
        """Tell of a cut; publishers of a topic that keeps a history end by one when they leave."""
        name = WriterId.text(cut.writer)
        if self._keep is not None and not cut.beyond:
            _LOG.info("writer %s of topic %s has left; what it published is kept", name, cut.topic)
            return
        _LOG.warning(
            "writer %s is cut: nobody hears it. What lies beyond the cut (%s) comes again when it"
            " returns, else it is lost", name, counted(cut.beyond, "item"),
        )  # fmt: skip

    def holds(self, one: Ended, now: float) -> bool:
        """Whether a writer's stream is kept, that everybody has committed."""
        if self._keep is None or one.writer in self._let_go:
            return False
        since = self._since.setdefault(one.writer, now)
        span = self._keep.seconds
        return span is None or now - since < span

    def on_room_wanted(self, ended: Mapping[int, Ended]) -> None:
        """A node is nearly full: the stream that ended first goes."""
        kept = self._kept(ended)
        self._let_go.update(kept[:1])

    def on_part_lost(self, ended: Mapping[int, Ended]) -> None:
        """A node gets slices whose part of these streams nobody gives it."""
        self._let_go.update(w for w, one in ended.items() if not _is_over(one))

    def bound(self, ended: Mapping[int, Ended]) -> None:
        """Let go of what is too much, and forget what is over."""
        kept = self._kept(ended)
        self._let_go.update(kept[: max(0, len(kept) - MOST_STREAMS)])
        for writer in [w for w in self._since if w not in ended or _is_over(ended[w])]:
            del self._since[writer]
        self._let_go = {w for w in self._let_go if w in ended and not _is_over(ended[w])}

    def _kept(self, ended: Mapping[int, Ended]) -> list[int]:
        """The writers that are kept for nothing else, those that ended first before others."""
        found = [ended[w] for w in self._since if w in ended and not _is_over(ended[w])]
        return [one.writer for one in sorted(found, key=lambda one: one.term)]


def _is_over(one: Ended) -> bool:
    return one.stage >= CutStage.CLEARED
