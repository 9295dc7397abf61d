"""The newest balancer that a publisher or a consumer has heard, and whether who leads must hear it.

Everybody goes by the newest balancer alone, and balancers are numbered by their clocks
(:mod:`evenflow.slices.terms`). So after one whose clock was ahead, the next has to claim above it,
or nobody who heard the first goes by the second. It learns of the first from its disk, or from the
nodes' reports. Where that disk and those nodes are lost, a publisher or a consumer may be the only
one that knows. It hears an older balancer speak, and nothing of the newer one any more: then it
says so (``NewerTerm``), and the balancer claims anew, above that term.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import numpy as np

from evenflow.model.messages import NewerTerm
from evenflow.slices.actions import Send
from evenflow.slices.terms import balancer_of, newest_of

if TYPE_CHECKING:
    import numpy.typing as npt

SILENT_S: Final = 5.0
"""After so long the newer balancer is taken to lead no more: it beats several times a second, and a
standby leads a second after its death."""
REPEAT_S: Final = 1.0


class HeardBalancers:
    """The newest balancer that one process has heard.

    Args:
        topic: The topic.
        source: The process, as the balancer's log shall name it.
    """

    __slots__ = ("_heard_at", "_newest", "_source", "_told_at", "_topic")

    def __init__(self, topic: str, source: str) -> None:
        self._topic, self._source = topic, source
        self._newest = newest_of(0)
        self._heard_at = self._told_at = 0.0

    def hear(self, version: int, now: float) -> bool:
        """A balancer spoke, under a term of its own; whether no newer one was heard."""
        newest = newest_of(balancer_of(version))
        if newest < self._newest:
            return False
        self._newest, self._heard_at = newest, now
        return True

    def object(self, now: float) -> list[Send]:
        """What to tell an older balancer that has just spoken; nothing while the newest speaks."""
        if now - self._heard_at < SILENT_S or now - self._told_at < REPEAT_S:
            return []
        self._told_at = now
        return [Send(NewerTerm(self._topic, self._source, self._newest))]

    def gave(self, terms: Any) -> npt.NDArray[np.bool_]:
        """Whether one that was heard, or one before it, can have given out each of some terms."""
        found: npt.NDArray[np.bool_] = np.asarray(terms, np.uint64) <= np.uint64(self._newest)
        return found
