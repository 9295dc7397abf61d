"""What is opened in a thread is somebody's, or closed."""

from __future__ import annotations

import asyncio
from threading import Event

import pytest

from evenflow.errors import ClosedError
from evenflow.loops.opening import opened_in_thread


class Slow:
    """Takes its time to open."""

    def __init__(self) -> None:
        self.begun, self.may_open, self.closed = Event(), Event(), Event()

    def open(self) -> Slow:
        self.begun.set()
        assert self.may_open.wait(10.0)
        return self

    def close(self) -> None:
        self.closed.set()
        raise ClosedError("it")  # it was closed by somebody else, say


def test_gives_what_is_opened() -> None:
    slow = Slow()
    slow.may_open.set()
    assert asyncio.run(opened_in_thread(slow.open, Slow.close)) is slow
    assert not slow.closed.is_set()


def test_what_nobody_waits_for_any_more_is_closed_when_it_is_open() -> None:
    slow = Slow()

    async def wait() -> None:
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(opened_in_thread(slow.open, Slow.close), 0.01)

    asyncio.run(wait())
    assert slow.begun.is_set()
    slow.may_open.set()
    assert slow.closed.wait(10.0)


def test_an_error_is_raised_where_it_is_waited_for_and_nowhere_else() -> None:
    def fail() -> None:
        raise ZeroDivisionError

    async def wait(*, cancel: bool) -> None:
        task = asyncio.create_task(opened_in_thread(fail, pytest.fail))
        await asyncio.sleep(0)
        if cancel:
            task.cancel()
        await task

    with pytest.raises(ZeroDivisionError):
        asyncio.run(wait(cancel=False))
    with pytest.raises(asyncio.CancelledError):
        asyncio.run(wait(cancel=True))
