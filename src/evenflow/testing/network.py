"""The simulated network: everything on its way, delivered, repeated and lost as a test likes.

A *cut* is a path that is broken, in one direction: what is posted on it while it lasts is lost.
What was on its way before arrives. Facts (a death) travel on no path, and pass.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass


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
        self.cuts: set[tuple[str, str]] = set()
        """The broken paths: from whom, to whom."""
        self.posted = 0
        """Parcels that anybody sent, on broken paths too."""
        self._arrive = arrive

    def post(self, parcel: Parcel) -> None:
        """A parcel sets out."""
        self.posted += 1
        if parcel.certain or (parcel.sender, parcel.to) not in self.cuts:
            self.parcels.append(parcel)

    def cut(self, one: str, other: str, *, both: bool = True) -> None:
        """Break the path from one process to another, and back unless told otherwise."""
        self.cuts.add((one, other))
        if both:
            self.cuts.add((other, one))

    def heal(self, one: str = "", other: str = "") -> None:
        """Mend the path between two processes in both directions; without names, every path."""
        self.cuts = {cut for cut in self.cuts if one and {*cut} != {one, other}}

    def deliver(self, index: int) -> None:
        """A parcel arrives."""
        self._arrive(self.parcels.pop(index))

    def repeat(self, index: int) -> None:
        """A parcel arrives, and will arrive again."""
        self._arrive(self.parcels[index])

    def lose(self, index: int) -> None:
        """A parcel is lost, unless it is a fact."""
        if not self.parcels[index].certain:
            del self.parcels[index]
