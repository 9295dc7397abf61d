"""The simulated network: everything on its way, delivered, repeated and lost as a test likes.

Paths between two processes may be cut, in one direction or both: what is posted on a cut path is
lost. What was on its way before arrives. Facts (a death) travel on no path, and pass. In a part of
the runs messages travel as their encoded bytes.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, is_dataclass, replace
from typing import Any

from evenflow.domain.codec import codec_of
from evenflow.model import messages
from evenflow.model.sample import Sample


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
        self.parcels += self._under_way
        self._under_way = []

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


def travelled(what: Any) -> object:
    """A message as it comes out at the other end of a real network."""
    if isinstance(what, Sample):
        return Sample(bytes(what.encoded))
    if is_dataclass(what) and hasattr(messages, type(what).__name__):
        codec: Any = codec_of(type(what))
        return codec.decode(codec.encode(what))
    return what
