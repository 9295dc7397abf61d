"""The store's client for asyncio: what fails in the background is told to who waits."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

import pytest

from evenflow.errors import EvenflowError, PeerError, StoreRefused
from evenflow.overlay.client.aio import AsyncClient
from evenflow.overlay.protocol.messages import Failed
from evenflow.overlay.space.coordinate import Coordinate

if TYPE_CHECKING:
    from collections.abc import Coroutine
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
