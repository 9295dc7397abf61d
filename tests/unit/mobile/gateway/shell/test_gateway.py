"""The gateway's process: what fails in the background ends it."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING
from unittest.mock import MagicMock

import pytest

from evenflow.mobile.gateway.settings import GatewaySettings
from evenflow.mobile.gateway.shell import gateway
from evenflow.mobile.gateway.shell.gateway import Gateway

if TYPE_CHECKING:
    from pathlib import Path


def test_a_time_of_day_that_stops_ends_the_gateway(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(gateway, "DoorDisk", MagicMock())
    monkeypatch.setattr(gateway, "GatewayPort", MagicMock())
    monkeypatch.setattr(gateway, "GatewayCore", MagicMock())
    admission = MagicMock(problem="")
    admission.revoked.side_effect = [{}, OSError("the file of revocations")]

    async def play() -> None:
        running = Gateway(
            "north",
            tmp_path,
            ["traffic"],
            config=MagicMock(),
            settings=GatewaySettings(),
            admission=admission,
            participant=MagicMock(),
        )
        monkeypatch.setattr(running, "_arm", lambda: None)
        await running.start([], MagicMock(), MagicMock(), ["quic://north:7000"])
        async with asyncio.timeout(20):
            with pytest.raises(OSError, match="revocations"):
                await running.wait()
        await running.close()

    asyncio.run(play())
    assert "the gateway's time of day failed" in caplog.text
