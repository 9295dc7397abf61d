"""Terms: the numbers under which nodes own slices. The newer one always wins.

Every change of an owner, every session and every version of the slice map has a term of its own,
and terms only grow, also from one balancer to the next. From the top, the bits of a term are:

* the milliseconds of the wall clock when a balancer claimed to lead, at least one more than in any
  term it has met;
* a tag of the balancer, so that two that claim in the same millisecond and do not hear one another
  give out different terms;
* a count of what it gave out since; should that overflow, it counts into the upper bits, which is
  still far behind the clock.

The upper two are the *number* of a balancer. So a term says which balancer gave it out, and whoever
has heard of a newer balancer need not obey an older one: its orders may be on their way long after
its death.
"""

from __future__ import annotations

from typing import Final

from evenflow.model.bounds import TERM_CLOCK_SHIFT

_TAG_BITS: Final = 6
_BITS: Final = TERM_CLOCK_SHIFT
_COUNT_BITS: Final = _BITS - _TAG_BITS


def balancer_of(term: int) -> int:
    """The number of the balancer that gave out a term."""
    return term >> _COUNT_BITS


def newest_of(balancer: int) -> int:
    """The newest term that a balancer of this number can give out."""
    return (balancer + 1 << _COUNT_BITS) - 1


class Terms:
    """What one balancer gives out.

    Args:
        wall: A time of the wall clock, in seconds since 1970.
        tag: Tells it from others that claim at the same time.
    """

    def __init__(self, wall: float, tag: int = 0) -> None:
        self._tag = tag % (1 << _TAG_BITS)
        self._ms = int(wall * 1000)
        self._given = 0

    @property
    def first(self) -> int:
        """Older than all terms of this balancer, newer than those of the balancers before it."""
        return (self._ms << _TAG_BITS | self._tag) << _COUNT_BITS

    @property
    def newest(self) -> int:
        """The newest term that it gave out."""
        return self.first + self._given

    def new(self) -> int:
        """A term that nobody ever had, newer than all that were met."""
        self._given += 1
        return self.newest

    def learn(self, term: int) -> None:
        """Stay ahead of a term that somebody else gave out."""
        if term > self.newest:
            self._ms = (term >> _BITS) + 1

    def renew(self, wall: float) -> None:
        """Claim to lead once more: be newer than all that was given out and met so far."""
        self._ms = max(int(wall * 1000), (self.newest >> _BITS) + 1)
        self._given = 0
