"""Terms: the numbers under which nodes own slices. The newer one always wins.

Every change of an owner, every session and every version of the slice map has a term of its own,
and terms only grow, also from one balancer to the next. The upper bits count balancers: the
milliseconds of the wall clock at a balancer's start, at least one more than in any term it has met.
The lower bits count what this balancer gave out; should they overflow, they count into the upper
ones, which is still far behind the clock.

So a term says which balancer gave it out, and whoever has heard of a newer balancer need not obey
an older one: its orders may be on their way long after its death.
"""

from __future__ import annotations

from typing import Final

_BITS: Final = 20


def balancer_of(term: int) -> int:
    """The number of the balancer that gave out a term."""
    return term >> _BITS


class Terms:
    """What one balancer gives out."""

    def __init__(self, wall: float) -> None:
        """Begin at a time of the wall clock, in seconds since 1970."""
        self._number = int(wall * 1000)
        self._given = 0

    @property
    def first(self) -> int:
        """Older than all terms of this balancer, newer than those of the balancers before it."""
        return self._number << _BITS

    def new(self) -> int:
        """A term that nobody ever had, newer than all that were met."""
        self._given += 1
        return self.first + self._given

    def learn(self, term: int) -> None:
        """Stay ahead of a term that somebody else gave out."""
        if term > self.first + self._given:
            self._number = balancer_of(term) + 1
