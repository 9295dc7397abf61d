"""A loop in a thread: work of other threads, and its end."""

from __future__ import annotations

import asyncio
import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

from evenflow.errors import ClosedError
from evenflow.loops.thread import LoopThread


async def answer() -> int:
    return 42


def test_work_is_done_and_failures_are_raised() -> None:
    async def fails() -> None:
        raise ValueError("broken")

    loop = LoopThread("loop", "client")
    assert loop.do(answer()) == 42
    with pytest.raises(ValueError, match="broken"):
        loop.do(fails())
    loop.end()


def test_nothing_is_begun_after_the_end() -> None:
    loop = LoopThread("loop", "client of node 'car-7'")
    loop.end()
    loop.end()
    assert loop.ended
    with pytest.raises(ClosedError, match="car-7"):
        loop.do(answer())


def test_who_waits_is_told_of_the_end() -> None:
    loop = LoopThread("loop", "client")
    begun = threading.Event()

    async def wait() -> None:
        begun.set()
        await asyncio.Event().wait()

    with ThreadPoolExecutor(1) as threads:
        waiting = threads.submit(loop.do, wait())
        assert begun.wait(20)
        loop.end()
        with pytest.raises(ClosedError):
            waiting.result(20)


def test_work_that_comes_while_it_ends_is_refused() -> None:
    loop = LoopThread("loop", "client")
    refused: list[bool] = []

    async def last() -> None:
        def come() -> None:
            with pytest.raises(ClosedError):
                loop.do(answer())
            refused.append(True)

        await asyncio.to_thread(come)

    loop.end(last())
    assert refused == [True]
