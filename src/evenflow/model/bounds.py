"""How large the numbers in messages may be: what is larger is no message of ours.

Everybody is damaged by a number that leaves no room above it: a term after which none can be named,
a sequence number that no publisher will ever reach. So what comes in is held against these bounds
where it is decoded (:mod:`evenflow.domain.shape`), declared beside the fields as wire kinds.

A term begins with a time of day, and a fixed bound would only move the end: somebody could claim
the last term below it. So a term may be ahead of the clock of who reads it by `TERM_AHEAD_S`, and
not more. Whatever was met within that bound, a moment later there is a newer one. A clock that was
never set counts as `CLOCK_FLOOR`.
"""

from __future__ import annotations

from typing import Final

MOST_SLICES: Final = 1 << 20
"""Slices of a topic."""
MOST_POINTS: Final = 4_096
"""Points of a bridge on the identifier circle."""
MOST_ARCS: Final = 1 << 16
"""Arcs in one message: those of a bridge that have devices, or those that were given away."""
MOST_NUMBER: Final = 1 << 53
"""Sequence numbers, epochs, counts of items and bytes: a million a second for 285 years."""
MOST_BALANCER: Final = 1 << 50
"""Numbers of balancers: the upper bits of terms."""

LONGEST_SEPARATION_S: Final = 86_400.0
"""Between two items of a sender: no order says more, so no report does."""

TERM_CLOCK_SHIFT: Final = 20
"""A term above these bits is the milliseconds of a wall clock."""
MOST_TERM: Final = 1 << 63
"""No term is larger, whatever clocks say, until the year 2248."""
TERM_AHEAD_S: Final = 10 * 365 * 86_400.0
"""By how much a term may be ahead of the clock of who reads it."""
CLOCK_FLOOR: Final = 1_767_225_600.0
"""The beginning of 2026: a clock that is behind was never set."""


def newest_term(wall: float) -> int:
    """The newest term that somebody whose clock shows this time believes.

    Args:
        wall: Seconds since 1970.
    """
    ahead = int((max(wall, CLOCK_FLOOR) + TERM_AHEAD_S) * 1000)
    return min(MOST_TERM, ahead << TERM_CLOCK_SHIFT)
