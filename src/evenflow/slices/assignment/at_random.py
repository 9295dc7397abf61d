"""No field at all: items are spread evenly whatever they are.

The sequence is SplitMix64: the n-th item gets ``mix(seed + n * GOLDEN)``, so a column of items
takes the next numbers of the very sequence that single items take, and a given seed repeats it.
"""

from __future__ import annotations

import secrets
from threading import Lock
from typing import Final

import numpy as np

from evenflow.errors import ConfigError
from evenflow.model.batch import Int32s
from evenflow.slices.assignment.base import FieldColumns, Fields, row_count
from evenflow.slices.assignment.stable_hash import mix, mix_all

_GOLDEN: Final = 0x9E37_79B9_7F4A_7C15
_MASK: Final = 0xFFFF_FFFF_FFFF_FFFF


class RandomAssignment:
    """``random``.

    Args:
        seed: Repeats a sequence; by default each instance has its own.
    """

    __slots__ = ("_lock", "_state")

    def __init__(self, seed: int | None = None) -> None:
        self._lock = Lock()
        self._state = (secrets.randbits(64) if seed is None else seed) & _MASK

    def assign(self, fields: Fields, slice_count: int) -> int:  # noqa: ARG002
        """Return the slice of one item."""
        return mix(self._advance(1) + _GOLDEN) % slice_count

    def assign_columns(self, columns: FieldColumns, slice_count: int) -> Int32s:
        """Return the slices of many items."""
        count = row_count(columns)
        steps = np.arange(1, count + 1, dtype=np.uint64) * np.uint64(_GOLDEN)
        numbers = mix_all(steps + np.uint64(self._advance(count)))
        return (numbers % np.uint64(slice_count)).astype(np.int32)

    def _advance(self, count: int) -> int:
        """Move on by ``count`` items; return the state before."""
        with self._lock:
            before = self._state
            self._state = (before + count * _GOLDEN) & _MASK
        return before


def parse_random(argument: str) -> RandomAssignment:
    """Make the assignment that ``random`` stands for."""
    if argument:
        raise ConfigError("assignment", f"random:{argument}", "must be 'random' and nothing else")
    return RandomAssignment()
