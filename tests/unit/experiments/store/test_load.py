"""The store experiment counts what is lost, repeated and out of order."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

import pytest

from evenflow.overlay.protocol.messages import Message
from evenflow_experiments.store.load import payload, verify

if TYPE_CHECKING:
    from collections.abc import AsyncIterator


class Topic:
    """Stands in for a client: one topic with given numbers."""

    def __init__(self, numbers: list[int]) -> None:
        self.numbers = numbers

    async def read(self, _topic: str, _start: int, _end: int) -> AsyncIterator[Message]:
        for time, number in enumerate(self.numbers, 1):
            yield Message(time, 1, number, payload(number))


@pytest.mark.parametrize(
    ("numbers", "acknowledged", "expected"),
    [
        ([1, 2, 3], 3, (0, 0, 0)),
        ([1, 2, 3], 2, (0, 0, 0)),  # stored, and its acknowledgement was lost
        ([1, 3], 3, (1, 0, 0)),
        ([], 2, (2, 0, 0)),
        ([1, 2, 2, 3], 3, (0, 1, 0)),
        ([2, 1, 3], 3, (0, 0, 1)),
    ],
)
def test_faults_are_counted(
    numbers: list[int], acknowledged: int, expected: tuple[int, int, int]
) -> None:
    counts = asyncio.run(verify(Topic(numbers), {"meters": acknowledged}))  # type: ignore[arg-type]
    assert (counts["lost"], counts["repeated"], counts["disordered"]) == expected
    assert counts["found"] == len(numbers)
