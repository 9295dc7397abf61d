"""The store's client for asyncio: what fails in the background is told to who waits."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

import pytest

from evenflow.errors import ClosedError, EvenflowError, PeerError, StoreRefused, UsageError
from evenflow.overlay.client.aio import AsyncClient
from evenflow.overlay.protocol.messages import Failed, Message
from evenflow.overlay.space.coordinate import Coordinate

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Coroutine
    from typing import Any


def test_a_connection_that_fails_in_an_unknown_way_is_told_and_nobody_waits(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async def broken(_: AsyncClient) -> None:
        await asyncio.sleep(0)
        raise ZeroDivisionError

    async def first(client: AsyncClient) -> None:
        async for _ in client.subscribe("meters"):
            pass

    async def play() -> None:
        monkeypatch.setattr(AsyncClient, "_connect", broken)
        async with asyncio.timeout(20), AsyncClient(["127.0.0.1:1"]) as client:
            asked: list[Coroutine[Any, Any, Any]] = [client.publish("meters", b"1"), first(client)]
            answers = await asyncio.gather(*asked, return_exceptions=True)
            answers += await asyncio.gather(client.now("meters"), return_exceptions=True)
        for one in answers:
            assert isinstance(one, EvenflowError)
            assert "cannot go on: ZeroDivisionError()" in str(one)

    asyncio.run(play())


def test_a_move_that_the_brokers_refuse_for_now_is_not_the_callers_fault(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async def refused(*_: object) -> Failed:
        return Failed("the brokers concerned did not answer in time: try again")

    monkeypatch.setattr(AsyncClient, "_call", refused)
    client = AsyncClient(["127.0.0.1:1"], timeout_s=-1.0)
    with pytest.raises(StoreRefused, match=r"move 'meters': .*try again") as raised:
        asyncio.run(client.move("meters", Coordinate(0.5, 0.5)))
    assert isinstance(raised.value, PeerError)


async def unconnected(_: AsyncClient) -> None:
    await asyncio.Event().wait()


async def all_of(messages: AsyncIterator[Message]) -> list[Message]:
    return [message async for message in messages]


@pytest.mark.parametrize(
    "ask",
    [
        lambda client: all_of(client.read("meters", 1, 9)),
        lambda client: all_of(client.read("meters")),
        lambda client: all_of(client.subscribe("meters")),
        lambda client: client.now("meters"),
        lambda client: client.ensure("meters"),
        lambda client: client.publish("meters", b"1"),
        lambda client: client.publish_all("meters", [b"1", b"2"]),
        lambda client: client.move("meters", Coordinate(0.5, 0.5)),
    ],
)
def test_what_is_cut_short_by_closing_the_client_does_not_look_complete(
    monkeypatch: pytest.MonkeyPatch, ask: Callable[[AsyncClient], Coroutine[Any, Any, Any]]
) -> None:
    async def play() -> None:
        async with asyncio.timeout(20), AsyncClient(["127.0.0.1:1"]) as client:
            asked = asyncio.create_task(ask(client))
            await asyncio.sleep(0)  # it has begun
            assert client._reading or client._awaited()
            await client.close()
            with pytest.raises(ClosedError):
                await asked

    monkeypatch.setattr(AsyncClient, "_connect", unconnected)
    asyncio.run(play())


@pytest.mark.parametrize(
    ("ask", "told"),
    [
        (lambda client: all_of(client.read("meters", 1, 1 << 64)), "end is 18446744073709551616"),
        (lambda client: all_of(client.read("meters", 1 << 62 | 1)), "start is"),
        (lambda client: all_of(client.read("meters", 1.5)), "start is 1.5: give whole nanosec"),
        (lambda client: all_of(client.subscribe("meters", start=1 << 64)), "start is"),
        (lambda client: all_of(client.subscribe("meters", level=7)), "level 7: choose 1, 2 or 3"),
        (lambda client: client.trim("meters", 1 << 64), "before is"),
        (lambda client: client.now("meters", level=-1), "level -1: choose 1, 2 or 3"),
        (lambda client: client.ensure("meters", level=1 << 64), "choose 1, 2 or 3"),
        (lambda client: client.publish("meters", b"1", level=7), "level 7: choose 1, 2 or 3"),
    ],
)
def test_numbers_that_brokers_would_drop_in_silence_are_refused_at_once(
    monkeypatch: pytest.MonkeyPatch,
    ask: Callable[[AsyncClient], Coroutine[Any, Any, Any]],
    told: str,
) -> None:
    async def play() -> None:
        async with asyncio.timeout(20), AsyncClient(["127.0.0.1:1"]) as client:
            with pytest.raises(UsageError, match=told):
                await ask(client)
            assert not client._publishing
            assert not client._due

    monkeypatch.setattr(AsyncClient, "_connect", unconnected)
    asyncio.run(play())


def test_a_subscriber_that_no_broker_answers_waits_and_says_so_once_for_all(
    caplog: pytest.LogCaptureFixture,
) -> None:
    async def play() -> None:
        async with asyncio.timeout(20), AsyncClient(["127.0.0.1:1"], timeout_s=0.05) as client:
            tasks = [asyncio.create_task(all_of(client.subscribe(f"t{n}"))) for n in range(3)]
            await asyncio.sleep(0.4)
            assert not any(task.done() for task in tasks)
            await client.close()
            await asyncio.gather(*tasks, return_exceptions=True)

    asyncio.run(play())
    (told,) = caplog.messages
    assert "nothing is heard of 't" in told
    assert "no broker answers at 127.0.0.1:1" in told


@pytest.mark.parametrize("whole", [True, False])
def test_what_came_before_the_client_was_closed_is_given_and_only_the_whole_of_it_ends_well(
    monkeypatch: pytest.MonkeyPatch, *, whole: bool
) -> None:
    came = [Message(time, 1, time, b"") for time in (3, 5)]
    given: list[Message] = []

    async def read(client: AsyncClient) -> None:
        async for message in client.read("meters", 1, 9):
            given.append(message)  # noqa: PERF401 - what was given before the error counts

    async def play() -> None:
        async with asyncio.timeout(20), AsyncClient(["127.0.0.1:1"]) as client:
            asked = asyncio.create_task(read(client))
            await asyncio.sleep(0)  # it has begun
            [reading] = client._reading
            reading.found.extend(came)
            reading.cursor = 8 if whole else 5
            await client.close()
            await asked

    monkeypatch.setattr(AsyncClient, "_connect", unconnected)
    if whole:
        asyncio.run(play())
    else:
        with pytest.raises(ClosedError):
            asyncio.run(play())
    assert given == came
