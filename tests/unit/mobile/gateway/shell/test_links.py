"""A client's link in the gateway's loop: what waits for it, and when it is read."""

from __future__ import annotations

import asyncio
from contextlib import suppress

import pytest

from evenflow.errors import LinkLost
from evenflow.mobile.gateway.shell.links import MOST_QUEUED, Link
from evenflow.mobile.link.frames import Alternatives, Handover, Message, Safe


class Wire:
    """A connection whose other side takes something when it is told to."""

    transport, peer = "tls", "somewhere"

    def __init__(self) -> None:
        self.takes = asyncio.Event()
        self.sent: list[Safe] = []
        self.said = ""
        self.lost = False
        self.over = asyncio.Event()

    def try_send(self, frame: Safe) -> bool:
        if self.lost or not self.takes.is_set():
            return False
        self.sent.append(frame)
        return True

    async def send(self, *frames: Safe) -> None:
        await self.takes.wait()
        if self.lost:
            raise LinkLost("gone")
        self.sent += frames

    def lose(self) -> None:
        self.lost = True
        self.takes.set()
        self.over.set()

    async def ended(self) -> LinkLost:
        await self.over.wait()
        return LinkLost("gone")

    async def close(self, reason: str, *, retry: bool = True) -> None:
        self.said = f"{reason} {retry}"


async def turns(count: int = 5) -> None:
    for _ in range(count):
        await asyncio.sleep(0)


def test_frames_go_out_together_and_in_order():
    async def play() -> None:
        wire = Wire()
        link = Link(1, wire)
        wire.takes.set()
        for number in range(10):
            link.send(Safe("items", number))
        await turns()
        assert [one.number for one in wire.sent] == list(range(10))

    asyncio.run(play())


def test_a_frame_waits_for_those_before_it_when_the_client_takes_again():
    async def play() -> None:
        wire = Wire()
        link = Link(1, wire)
        for number in range(10):
            link.send(Safe("items", number))
            await turns(1)
        wire.takes.set()
        link.send(Safe("items", 10))  # there is room, but not for this one
        await turns()
        link.send(Safe("items", 11))
        assert [one.number for one in wire.sent] == list(range(12))

    asyncio.run(play())


def test_a_client_that_takes_nothing_is_not_read():
    async def play() -> None:
        wire = Wire()
        link = Link(1, wire)
        for number in range(MOST_QUEUED + 2):
            link.send(Safe("items", number))
            await turns(2)
        reading = asyncio.create_task(link.may_be_read())
        await turns()
        assert not reading.done()
        wire.takes.set()
        await reading
        assert len(wire.sent) == MOST_QUEUED + 2
        await link.end()

    asyncio.run(play())


def test_what_is_sent_again_to_a_client_that_takes_nothing_waits_once():
    def message(number: int, previous: int) -> Message:
        return Message("m1", number, previous, "op", 1, "", b"go")

    async def play() -> None:
        wire = Wire()
        link = Link(1, wire)
        link.send(Safe("items", 1))
        await turns()
        for previous in range(100):
            link.send(message(101, previous))
            link.send(message(102, 101))
            link.send(Alternatives((f"tls://g{previous}:1",)))
            link.send(Handover(f"g1 drain/{previous}", ("tls://g2:1",), 5.0))
        wire.takes.set()
        await turns()
        last = Alternatives(("tls://g99:1",)), Handover("g1 drain/99", ("tls://g2:1",), 5.0)
        assert wire.sent == [Safe("items", 1), message(101, 99), message(102, 101), *last]
        await link.end()

    asyncio.run(play())


def test_a_paused_client_is_read_when_it_is_resumed():
    async def play() -> None:
        link = Link(1, Wire())
        await link.may_be_read()
        link.pause(paused=True)
        reading = asyncio.create_task(link.may_be_read())
        await turns()
        assert not reading.done()
        link.pause(paused=False)
        await reading

    asyncio.run(play())


def test_who_is_ended_hears_why_and_nothing_else():
    async def play() -> None:
        wire = Wire()
        link = Link(1, wire)
        link.pause(paused=True)
        link.close("the token was revoked", retry=False)
        link.send(Safe("items", 1))
        await link.may_be_read()  # to be told that it is over
        wire.takes.set()
        await link.end()
        assert wire.said == "the token was revoked False"
        assert wire.sent == []

    asyncio.run(play())


def test_a_link_that_is_lost_while_it_is_sent_to_ends_quietly():
    async def play() -> None:
        wire = Wire()
        link = Link(1, wire)
        for number in range(MOST_QUEUED + 2):
            link.send(Safe("items", number))
            await turns(2)
        reading = asyncio.create_task(link.may_be_read())
        await turns()
        wire.lose()
        async with asyncio.timeout(5):
            with suppress(LinkLost):
                await reading
        assert wire.sent == []
        await link.may_be_read()  # nothing waits for it, so who receives from it hears the end
        await link.end()

    asyncio.run(play())


def test_a_client_that_leaves_while_it_is_not_read_is_lost_at_once():
    async def play() -> None:
        wire = Wire()
        link = Link(1, wire)
        link.pause(paused=True)
        reading = asyncio.create_task(link.may_be_read())
        await turns()
        assert not reading.done()
        wire.lose()
        async with asyncio.timeout(5):
            with pytest.raises(LinkLost):
                await reading
        await link.end()

    asyncio.run(play())


def test_a_link_that_cannot_be_written_is_closed(caplog):
    async def play() -> None:
        wire = Wire()
        link = Link(1, wire)
        link.send(object())
        wire.sent = None  # what was to be sent fails in a way that nobody thought of
        wire.takes.set()
        await turns()
        assert wire.said == "the gateway failed True"
        await link.end()

    asyncio.run(play())
    assert "link of somewhere" in caplog.text
