"""What callers ask of the store, checked before it is sent.

A broker drops what cannot be, and says nothing: who asks for it would wait in vain, and be told
that no broker answers.
"""

from __future__ import annotations

from operator import index

from evenflow.errors import UsageError
from evenflow.overlay.values import HIGHEST_LEVEL, LARGEST_NUMBER


def a_level(level: int) -> int:
    """Return a resilience level; 0: a topic that is not there is not made."""
    if level not in range(HIGHEST_LEVEL + 1):
        raise UsageError(f"resilience level {level!r}: choose 1, 2 or 3 (0: make no topic)")
    return level


def a_time(what: str, time: int) -> int:
    """Return a time of the store; what is before 1970 counts as 0."""
    try:
        number = index(time)
    except TypeError:
        number = LARGEST_NUMBER + 1
    if number > LARGEST_NUMBER:
        raise UsageError(f"{what} is {time!r}: give whole nanoseconds since 1970, below 2**62")
    return max(0, number)
