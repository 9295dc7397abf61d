"""The simulated network: everything on its way, delivered, repeated and lost as a test likes.

Paths between two processes may be cut, in one direction or both: what is posted on a cut path is
lost. What was on its way before arrives. Facts (a death) travel on no path, and pass. In a part of
the runs messages travel as their encoded bytes.

No storm: what a cluster sends in a second of its time stays within a bound (:class:`Traffic`).
Messages are small and repeated on purpose, so some hundreds a second are normal. What grows without
anything new to tell is not: an order that is answered by a refusal and given again at once, or two
processes that outbid one another.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, is_dataclass, replace
from typing import Any, Final

from evenflow.domain.codec import codec_of
from evenflow.model import messages
from evenflow.model.sample import Sample
from evenflow.testing.invariants import Violation

PER_PROCESS: Final = 100
"""Parcels a second and process that a small cluster sends at the most, on average over a while."""
WINDOW_S: Final = 5.0
"""Over this time they are counted: what was held up may go out together."""


@dataclass(frozen=True, slots=True)
class Parcel:
    """Something on its way."""

    to: str
    """Node id, writer id (16 hex digits), name of a consumer, or ``balancer``."""
    what: object
    replayed: bool = False
    certain: bool = False
    """Not a message but a fact (a death): it may be late but not lost."""
    sender: str = ""
    """Who posted it, named like ``to``; empty for the world outside, which no cut reaches."""


class Network:
    """Parcels between simulated processes, in the order they were posted.

    Args:
        arrive: Takes a parcel to its recipient.
    """

    def __init__(self, arrive: Callable[[Parcel], None]) -> None:
        self.parcels: list[Parcel] = []
        self.posted = 0
        """Parcels that anybody sent, on broken paths too."""
        self.encoded = False
        """Whether messages travel as bytes."""
        self.process_of: Callable[[str], str] = lambda address: address
        """The process behind an address, when it has more than one."""
        self.stopped: dict[str, list[Parcel]] = {}
        """Processes that are stopped, with what waits for them."""
        self.cuts: set[tuple[str, str]] = set()
        """The broken paths: from whom, to whom."""
        self._slow: tuple[type, ...] = ()
        self._under_way: list[Parcel] = []
        """What is slow and has been posted."""
        self._arrive = arrive

    def cut(self, one: str, other: str, *, both: bool = True) -> None:
        """Break the path from one process to another, and back unless told otherwise."""
        self.cuts |= {(one, other), (other, one)} if both else {(one, other)}

    def heal(self, one: str = "", other: str = "") -> None:
        """Mend the path between two processes in both directions; without names, every path."""
        self.cuts = {cut for cut in self.cuts if one and {*cut} != {one, other}}
        if not one:
            self.slow_down()

    def slow_down(self, *kinds: type) -> None:
        """Messages of some kinds do not arrive for now; all others do, those kept before too."""
        self._slow = kinds
        waiting, self._under_way = self._under_way, []
        for parcel in waiting:
            (self._under_way if isinstance(parcel.what, kinds) else self.parcels).append(parcel)

    @property
    def held_back(self) -> list[Parcel]:
        """What is slow and has been posted."""
        return self._under_way

    @property
    def is_whole(self) -> bool:
        """Whether every path is whole."""
        return not self.cuts

    def stop(self, process: str) -> None:
        """``kill -STOP``: what arrives waits in its inbox."""
        self.stopped.setdefault(process, [])

    def go_on(self, process: str) -> None:
        """``kill -CONT``: it finds in its inbox what was sent meanwhile."""
        self.parcels += self.stopped.pop(process, ())

    def post(self, parcel: Parcel) -> None:
        """A parcel sets out."""
        self.posted += 1
        if self.cuts and not parcel.certain:
            ends = (self.process_of(parcel.sender), self.process_of(parcel.to))
            if ends in self.cuts:
                return
        line = self._under_way if isinstance(parcel.what, self._slow) else self.parcels
        line.append(replace(parcel, what=travelled(parcel.what)) if self.encoded else parcel)

    def deliver(self, index: int) -> None:
        """A parcel arrives."""
        self._bring(self.parcels.pop(index))

    def repeat(self, index: int) -> None:
        """A parcel arrives, and will arrive again."""
        self._bring(self.parcels[index])

    def _bring(self, parcel: Parcel) -> None:
        inbox = self.stopped.get(self.process_of(parcel.to))
        if inbox is None:
            self._arrive(parcel)
        else:
            inbox.append(parcel)

    def lose(self, index: int) -> None:
        """A parcel is lost, unless it is a fact."""
        if not self.parcels[index].certain:
            del self.parcels[index]


class Traffic:
    """Counts what is sent."""

    def __init__(self, now: float) -> None:
        self.most = 0.0
        """The highest rate that was seen, in parcels a second."""
        self._since, self._posted = now, 0

    def look(self, posted: int, processes: int, now: float) -> None:
        """So many parcels were sent since the start; raise a violation when that is a storm."""
        elapsed = now - self._since
        if elapsed < WINDOW_S:
            return
        rate = (posted - self._posted) / elapsed
        self._since, self._posted = now, posted
        self.most = max(self.most, rate)
        if rate > PER_PROCESS * processes:
            raise Violation(f"{rate:.0f} parcels a second among {processes} processes: a storm")


def travelled(what: Any) -> object:
    """A message as it comes out at the other end of a real network."""
    if isinstance(what, Sample):
        return Sample(bytes(what.encoded))
    if is_dataclass(what) and hasattr(messages, type(what).__name__):
        codec: Any = codec_of(type(what))
        return codec.decode(codec.encode(what))
    return what
