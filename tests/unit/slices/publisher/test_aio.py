"""The publisher of asyncio programs: immediate while there is room, in order when there is none."""

from __future__ import annotations

import asyncio
from threading import Event
from typing import Any

import pytest

from evenflow.errors import ClosedError, PublishTimeout
from evenflow.slices.publisher.aio import AsyncPublisher

from .test_shell import Domain, opened


class Congested:
    """A publisher that has no room until it is told so."""

    def __init__(self) -> None:
        self.room = Event()
        self.accepted: list[tuple[Any, float | None]] = []
        self.left = False
        self._intake = self

    def row(self, payload: Any, *_: Any) -> Any:
        return payload

    def _add(self, payload: Any, timeout: float | None) -> None:
        if timeout == 0.0 and not self.room.is_set():
            raise PublishTimeout("items", 0.0, 1, 1, uncommitted=1, cause="test")
        assert self.room.wait(10.0)
        self.accepted.append((payload, timeout))

    def __exit__(self, *_: object) -> None:
        self.left = True


def opened_on(publisher: Congested) -> AsyncPublisher:
    found = AsyncPublisher("items")
    found._open = lambda: publisher  # type: ignore[assignment]
    return found


def test_is_immediate_while_there_is_room() -> None:
    congested = Congested()
    congested.room.set()

    async def publish() -> None:
        async with opened_on(congested) as publisher:
            await publisher.publish(b"a")
            await publisher.publish(b"b", timeout=3.0)

    asyncio.run(publish())
    assert congested.accepted == [(b"a", 0.0), (b"b", 0.0)]
    assert congested.left


def test_what_waits_for_room_is_accepted_in_the_order_of_the_calls() -> None:
    congested = Congested()

    async def publish() -> None:
        async with opened_on(congested) as publisher:
            first = asyncio.create_task(publisher.publish(b"a", timeout=3.0))
            second = asyncio.create_task(publisher.publish(b"b", timeout=4.0))
            await asyncio.sleep(0)
            congested.room.set()
            # There is room now, but others wait: it must not overtake them.
            await asyncio.gather(first, second, publisher.publish(b"c", timeout=5.0))

    asyncio.run(publish())
    assert congested.accepted == [(b"a", 3.0), (b"b", 4.0), (b"c", 5.0)]


def test_must_be_opened_first() -> None:
    with pytest.raises(ClosedError, match="not opened yet"):
        _ = AsyncPublisher("items").stats


def test_one_that_waits_for_room_is_made_once_and_no_default_id_is_left_out() -> None:
    domain = Domain(readers=1)

    async def publish(publisher: AsyncPublisher) -> None:
        await publisher.publish(bytes(1_000_000))
        waiting = asyncio.create_task(publisher.publish(bytes(100_000)))
        await asyncio.sleep(0)
        await asyncio.to_thread(publisher.opened.flush)
        domain.commit(publisher.opened)
        assert await waiting
        await asyncio.to_thread(publisher.opened.flush)

    with opened(domain, retention_bytes=1 << 20, batch_bytes=1 << 20) as blocking:
        domain.own(blocking)
        publisher = AsyncPublisher("items")
        publisher._publisher = blocking
        asyncio.run(publish(publisher))
        assert domain.ids() == [1, 2]


def test_says_that_it_is_closed_whatever_is_called() -> None:
    domain = Domain(readers=1)

    async def use(publisher: AsyncPublisher) -> None:
        await publisher.close()
        for call in (
            publisher.publish(b"x"),
            publisher.publish_many([b"x"]),
            publisher.publish_columns([b"x"]),
            publisher.flush(),
        ):
            with pytest.raises(ClosedError, match="publisher of topic 'items' is closed"):
                await call

    with opened(domain) as blocking:
        publisher = AsyncPublisher("items")
        publisher._publisher = blocking
        asyncio.run(use(publisher))


def test_two_tasks_that_open_it_open_one() -> None:
    found: list[Congested] = []

    def begin() -> Congested:
        found.append(Congested())
        return found[-1]

    async def use() -> None:
        publisher = AsyncPublisher("items")
        publisher._open = begin  # type: ignore[assignment]
        await asyncio.gather(publisher.open(), publisher.open())

    asyncio.run(use())
    assert len(found) == 1


def test_one_that_was_opened_in_vain_is_closed() -> None:
    begun, may_open, left = Event(), Event(), Event()

    class Opened(Congested):
        def close(self, timeout: float) -> None:
            assert timeout == 0.0
            left.set()

    def begin() -> Opened:
        begun.set()
        assert may_open.wait(10.0)
        return Opened()

    async def use() -> None:
        publisher = AsyncPublisher("items")
        publisher._open = begin  # type: ignore[assignment]
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(publisher.open(), 0.01)

    asyncio.run(use())
    assert begun.is_set()
    may_open.set()
    assert left.wait(10.0)
