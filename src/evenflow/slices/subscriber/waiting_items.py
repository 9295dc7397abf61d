"""Items that wait for a subscriber's program: bounded, and when full the oldest go.

Whoever reads along must not hold up the stream, so a program that is slower than its topic loses
items, the oldest first, and is told how many. What is bounded is memory: the samples that the
waiting items lie in. The newest sample is kept whatever its size.
"""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from evenflow.model.batch import Batch


class WaitingItems:
    """Batches in the order in which they came.

    Args:
        limit: Bytes of samples that may wait.
    """

    def __init__(self, limit: int) -> None:
        self.dropped = 0
        """Items that were dropped because too much waited."""
        self._limit = limit
        self._samples: deque[tuple[int, deque[Batch]]] = deque()
        self._size = 0

    def add(self, size: int, batches: list[Batch]) -> None:
        """Batches of one sample of this size have come."""
        self._samples.append((size, deque(batches)))
        self._size += size
        while self._size > self._limit and len(self._samples) > 1:
            old, left = self._samples.popleft()
            self._size -= old
            self.dropped += sum(batch.count for batch in left)

    def take(self) -> Batch | None:
        """The oldest batch, if there is one."""
        if not self._samples:
            return None
        size, batches = self._samples[0]
        batch = batches.popleft()
        if not batches:
            self._samples.popleft()
            self._size -= size
        return batch

    def __bool__(self) -> bool:
        return bool(self._samples)

    @property
    def size(self) -> int:
        """Bytes of the samples that wait."""
        return self._size
