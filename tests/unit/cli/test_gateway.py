"""``evenflow gateway``: how it ends."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from evenflow.cli.mobile.gateway import _drain


class Busy:
    """A gateway whose nodes do not go."""

    nodes = 3

    async def drain(self, within: float) -> bool:
        await asyncio.sleep(within)
        return False


def test_a_second_signal_ends_the_wait_for_nodes(capsys: pytest.CaptureFixture[str]) -> None:
    async def end(running: Any) -> None:
        hurry = asyncio.Event()
        asyncio.get_running_loop().call_soon(hurry.set)
        await _drain(running, 3600.0, hurry)

    asyncio.run(end(Busy()))
    assert "3 nodes are still here" in capsys.readouterr().err
