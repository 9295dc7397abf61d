"""``evenflow bridge``: what it refuses before it begins, and how it ends."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from evenflow.cli import main
from evenflow.cli.bridge.bridge import _drain


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--listen", "239.1.1.1:0"], "--listen = '239.1.1.1'"),
        (["--listen", "127.0.0.1:0", "--advertise", "0.0.0.0:7600"], "--advertise = '0.0.0.0'"),
        (["--listen", "127.0.0.1:0", "--advertise", "10.0.0.1:0"], "--advertise = '10.0.0.1'"),
        (["--listen", "127.0.0.1:0", "--advertise", ""], "'--advertise': must not be empty"),
        (["--listen", "127.0.0.1:0", "--keys", "nowhere/keys"], "--keys = 'nowhere/keys'"),
        (["--listen", "127.0.0.1:0", "--keys", "/dev/zero"], "--keys = '/dev/zero'"),
    ],
)
def test_what_cannot_be_served_is_refused_at_once(
    options: list[str], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["bridge", "--name", "x", *options, "--for", "1s"]) == 2
    assert said in capsys.readouterr().err


def test_a_second_signal_ends_the_wait_for_devices() -> None:
    class Busy:
        devices = 3

        async def drain(self, within: float) -> bool:
            await asyncio.sleep(within)
            return False

    async def end(running: Any) -> bool:
        hurry = asyncio.Event()
        asyncio.get_running_loop().call_soon(hurry.set)
        return await _drain(running, 3600.0, hurry)

    assert not asyncio.run(end(Busy()))
