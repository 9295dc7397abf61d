"""Steady writers, subscribers and book-keeping for the experiment with the live store."""

from __future__ import annotations

import asyncio
import time
from itertools import pairwise
from typing import TYPE_CHECKING

from evenflow.errors import ExperimentError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from evenflow.overlay.client.aio import AsyncClient

SIZE = 100
"""Bytes of a message."""
BEHIND = 64
"""Messages of a topic that may wait for their acknowledgement."""
READERS = 8


def payload(number: int) -> bytes:
    """Return a message that says its number and when it was sent."""
    return f"{number} {time.time_ns()} ".encode().ljust(SIZE, b".")


class Writer:
    """Publishes to topics in turn at a steady rate, until it is ended."""

    def __init__(self, client: AsyncClient, topics: Sequence[str], level: int, rate: float) -> None:
        self.acknowledged = dict.fromkeys(topics, 0)
        self.delays_ms: list[float] = []
        self._sent = dict.fromkeys(topics, 0)
        self._client = client
        self._level = level
        self._rate = rate
        self._ending = False
        self._waiting: set[asyncio.Future[int]] = set()
        self._task: asyncio.Task[None] | None = None

    async def begin(self, past: int = 1) -> None:
        """Make all topics by some messages each, then write steadily."""
        for part in range(0, past, BEHIND):
            for topic in self._sent:
                for _ in range(part, min(part + BEHIND, past)):
                    await self._post(topic)
            await self._drain()
        self.delays_ms.clear()
        self._task = asyncio.create_task(self._write())

    async def _post(self, topic: str) -> None:
        self._sent[topic] += 1
        number, started = self._sent[topic], time.monotonic()
        future = await self._client.post(topic, payload(number), level=self._level)
        self._waiting.add(future)

        def stored(done: asyncio.Future[int]) -> None:
            self._waiting.discard(done)
            if not done.cancelled():
                self.acknowledged[topic] = number
                self.delays_ms.append((time.monotonic() - started) * 1e3)

        future.add_done_callback(stored)

    async def _write(self) -> None:
        topics, started, posted = list(self._sent), time.monotonic(), 0
        while not self._ending:
            while posted < (time.monotonic() - started) * self._rate:
                topic = topics[posted % len(topics)]
                posted += 1
                if self._sent[topic] - self.acknowledged[topic] < BEHIND:
                    await self._post(topic)
            await asyncio.sleep(0.005)

    async def _drain(self, patience_s: float = 120.0) -> None:
        if self._waiting:
            _, late = await asyncio.wait(set(self._waiting), timeout=patience_s)
            if late:
                raise ExperimentError("store", f"{len(late)} messages are not acknowledged")

    async def end(self) -> None:
        """Stop, and wait until all is acknowledged."""
        self._ending = True
        if self._task is not None:
            await self._task
        await self._drain()


class Follower:
    """Subscribes to a topic and notes what comes."""

    def __init__(self, client: AsyncClient, topic: str) -> None:
        self.seen: list[int] = []
        self.delays_ms: list[float] = []
        self._client = client
        self._topic = topic
        self._wanted = 0
        self._reached = asyncio.Event()
        self._task = asyncio.create_task(self._follow())

    async def _follow(self) -> None:
        async for message in self._client.subscribe(self._topic, start=1):
            number, sent, _ = message.payload.split(b" ", 2)
            self.seen.append(int(number))
            self.delays_ms.append((time.time_ns() - int(sent)) / 1e6)
            if len(self.seen) == self._wanted:
                self._reached.set()

    async def reach(self, count: int, patience_s: float = 30.0) -> None:
        """Wait until this many messages came."""
        self._wanted = count
        if len(self.seen) < count:
            await asyncio.wait({asyncio.ensure_future(self._reached.wait())}, timeout=patience_s)
        self._task.cancel()
        await asyncio.gather(self._task, return_exceptions=True)


async def verify(client: AsyncClient, acknowledged: Mapping[str, int]) -> dict[str, int]:
    """Read every topic from its beginning and compare with what was acknowledged."""
    counts = {"found": 0, "lost": 0, "repeated": 0, "disordered": 0}
    left = list(acknowledged.items())

    async def read() -> None:
        while left:
            topic, count = left.pop()
            numbers = [
                int(message.payload.split(b" ", 1)[0])
                async for message in client.read(topic, 0, time.time_ns())
            ]
            counts["found"] += len(numbers)
            counts["lost"] += len(set(range(1, count + 1)) - set(numbers))
            counts["repeated"] += len(numbers) - len(set(numbers))
            counts["disordered"] += sum(after < before for before, after in pairwise(numbers))

    await asyncio.gather(*(read() for _ in range(READERS)))
    return counts
