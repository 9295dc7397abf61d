"""How a process that has ended says by what."""

from __future__ import annotations

import asyncio
import os
import signal

import pytest

from evenflow.cli.running import STOPPING, exit_code_of, stop_events, unless_hurried
from evenflow.errors import StorageError


def test_a_fault_in_words_is_an_error_of_its_own_and_any_other_is_named(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert exit_code_of("gateway", None) == 0
    with pytest.raises(StorageError, match="make room"):  # one line, exit code 2
        exit_code_of("gateway", StorageError("marks", "full: make room"))
    assert not capsys.readouterr().err
    assert exit_code_of("gateway", KeyError("lost")) == 1
    assert "the gateway stopped: KeyError('lost')" in capsys.readouterr().err


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_second_signal_says_not_to_wait_and_a_third_does_what_it_always_does(
    number: signal.Signals,
) -> None:
    before = {one: signal.getsignal(one) for one in STOPPING}

    async def play() -> None:
        stop, hurry = stop_events()
        os.kill(os.getpid(), number)
        await asyncio.wait_for(stop.wait(), 5)
        assert not hurry.is_set()
        os.kill(os.getpid(), number)
        await asyncio.wait_for(unless_hurried(asyncio.sleep(3600), hurry), 5)
        assert hurry.is_set()
        now = [signal.getsignal(one) for one in (signal.SIGINT, signal.SIGTERM)]
        assert now == [signal.default_int_handler, signal.SIG_DFL]

    try:
        asyncio.run(play())
    finally:
        for one, handler in before.items():
            signal.signal(one, handler)
