"""A task in the background that fails is heard of."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from evenflow.errors import StorageError
from evenflow.loops.watched import WatchedTasks

if TYPE_CHECKING:
    import pytest


async def fails() -> None:
    raise ValueError("broken")


def test_a_failure_is_told_and_logged(caplog: pytest.LogCaptureFixture) -> None:
    told: list[BaseException] = []

    async def play() -> None:
        tasks = WatchedTasks(told.append)
        await asyncio.wait([tasks.begin(fails(), "the clock")])
        await asyncio.sleep(0)
        await tasks.close()

    asyncio.run(play())
    assert [str(one) for one in told] == ["broken"]
    assert "the clock failed" in caplog.text


def test_a_failure_in_words_is_told_without_a_traceback(caplog: pytest.LogCaptureFixture) -> None:
    told: list[BaseException] = []

    async def disk() -> None:
        raise StorageError("store", "the disk is full")

    async def play() -> None:
        tasks = WatchedTasks(told.append)
        await asyncio.wait([tasks.begin(disk(), "the broker's work")])
        await asyncio.sleep(0)

    asyncio.run(play())
    assert isinstance(told[0], StorageError)
    assert caplog.text == ""


def test_to_end_and_to_be_cancelled_is_no_failure() -> None:
    told: list[BaseException] = []

    async def play() -> None:
        tasks = WatchedTasks(told.append)
        await tasks.begin(asyncio.sleep(0), "short")
        tasks.begin(asyncio.Event().wait(), "long")  # type: ignore[arg-type]
        await asyncio.sleep(0)
        await tasks.close()

    asyncio.run(play())
    assert told == []
