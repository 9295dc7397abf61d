"""The broker's process: what fails in the background ends it."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

import pytest

from evenflow.overlay.broker.broker import Broker
from evenflow.overlay.space.coordinate import Coordinate

if TYPE_CHECKING:
    from pathlib import Path


def test_a_clock_that_fails_ends_the_broker(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def play() -> None:
        broker = Broker("b0", Coordinate(0.5, 0.5), listen="127.0.0.1:0", data=tmp_path)
        monkeypatch.setattr(broker._departures, "look", lambda _: 1 / 0)
        async with broker, asyncio.timeout(20):
            with pytest.raises(ZeroDivisionError):
                await broker.wait()

    asyncio.run(play())
    assert "the broker's clock failed" in caplog.text
