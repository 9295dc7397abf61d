"""Magnitudes: numbers that a message may carry and that cannot be true.

The codec bounds every number so that it fits; that is not enough. A time near the end of time, a
count that leaves no next one: once taken in, nothing later could ever be newer. So a broker looks
at every message that comes in before it acts. What a number means follows from its name, which is
the same in all messages.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Annotated, Any, get_args, get_origin

import msgspec

LARGEST_COUNT = 1 << 53
"""Sequences, revisions, bytes, terms: what counts from 0 never comes so far."""
LATEST_NS = 20 * 60 * 10**9
"""How far ahead of our clock a time may be that others have written down: twenty minutes."""

TIMES = frozenset(
    {
        "time", "last", "start", "end", "since", "floor", "version", "ticket", "committed",
        "previous", "birth", "before",
    }
)  # fmt: skip
COUNTS = frozenset(
    {
        "revision", "sequence", "load", "size", "inherited", "number", "term", "ticket_term",
        "round", "stored", "maximum", "minimum", "spare",
    }
)  # fmt: skip
SKIPPED = frozenset({"messages", "payloads", "body", "payload"})
"""Many at a time; who takes them looks at each."""


PLAIN = (int, float, bool, str, bytes)


@lru_cache(256)
def _fields(kind: type[msgspec.Struct]) -> tuple[str, ...]:
    """Return the fields to look at: times, counts, and what may contain some."""
    return tuple(
        each.name
        for each in msgspec.structs.fields(kind)
        if each.name not in SKIPPED
        and (each.name in TIMES or each.name in COUNTS or not _plain(each.type))
    )


def _plain(kind: Any) -> bool:
    return (get_args(kind)[0] if get_origin(kind) is Annotated else kind) in PLAIN


def sound(body: msgspec.Struct, now: int) -> bool:
    """Say whether the times and counts of a message can be true.

    Args:
        body: The message.
        now: What our clock shows, in nanoseconds.
    """
    return _sound(body, now + LATEST_NS)


def _sound(value: msgspec.Struct, latest: int) -> bool:
    for name in _fields(type(value)):
        found = getattr(value, name)
        if isinstance(found, int):
            if (name in TIMES and found > latest) or (name in COUNTS and found > LARGEST_COUNT):
                return False
        elif isinstance(found, msgspec.Struct):
            if not _sound(found, latest):
                return False
        elif isinstance(found, tuple) and not all(
            _sound(each, latest) for each in found if isinstance(each, msgspec.Struct)
        ):
            return False
    return True
