"""Links in memory, and a gateway at their end that takes what comes."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field
from typing import Any

from evenflow.errors import LinkLost
from evenflow.mobile.link.frames import (
    FromGateway,
    FromNode,
    Hello,
    Items,
    Message,
    Received,
    Safe,
    Welcome,
)

TOPICS = ("traffic", "weather")


class Line:
    """The client's end of a link."""

    transport = "quic"
    peer = "memory"

    def __init__(self, gateway: Gateway) -> None:
        self._gateway = gateway
        self.down: asyncio.Queue[FromGateway | LinkLost] = asyncio.Queue()
        self.closed = ""

    def try_send(self, frame: FromNode) -> bool:
        return False

    async def send(self, *frames: FromNode) -> None:
        for frame in frames:
            await self._gateway.take(self, frame)

    async def receive(self) -> FromGateway:
        frame = await self.down.get()
        if isinstance(frame, LinkLost):
            raise frame
        return frame

    async def close(self, reason: str, *, retry: bool = True) -> None:
        self.closed = reason

    async def move(self, local_host: str = "") -> bool:
        return True

    def keep_alive(self, every_s: float) -> None:
        pass


@dataclass
class Gateway:
    """Accepts items at once, unless it is told to hold them."""

    name: str = "north"
    accepting: bool = True
    refuses: str = ""
    reachable: bool = True
    items: list[tuple[str, int, bytes]] = field(default_factory=list)
    received: list[Received] = field(default_factory=list)
    others: list[Any] = field(default_factory=list)
    lines: list[Line] = field(default_factory=list)
    hellos: list[Hello] = field(default_factory=list)
    window: int = 1 << 20
    topics: tuple[str, ...] = TOPICS

    async def dial(self, address: str, timeout_s: float) -> Line:
        if not self.reachable:
            raise LinkLost(f"{address} is not there")
        line = Line(self)
        self.lines.append(line)
        return line

    async def take(self, line: Line, frame: FromNode) -> None:
        match frame:
            case Hello():
                self.hellos.append(frame)
                self.greet(line)
            case Items():
                for number, payload in enumerate(frame.payloads, frame.first):
                    self.items.append((frame.topic, number, payload))
                if self.accepting:
                    self.say(Safe(frame.topic, frame.first + len(frame.payloads) - 1))
            case Received():
                self.received.append(frame)
            case _:
                self.others.append(frame)

    def greet(self, line: Line) -> None:
        if self.refuses:
            line.down.put_nowait(LinkLost(self.refuses, retry=False, said=True))
        else:
            accepted = {topic: number for topic, number, _ in self.items} if self.accepting else {}
            line.down.put_nowait(Welcome(self.name, accepted, (), self.topics, self.window, 5.0))

    def say(self, frame: FromGateway | LinkLost) -> None:
        self.lines[-1].down.put_nowait(frame)

    def accept_all(self) -> None:
        """Make safe what was held."""
        self.accepting = True
        for topic, number in {topic: number for topic, number, _ in self.items}.items():
            self.say(Safe(topic, number))

    def message(self, number: int, previous: int = 0) -> None:
        self.say(Message("box", number, previous, "me", 0, "", b"%d" % number))
