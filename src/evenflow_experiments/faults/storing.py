"""The client of the store: numbered messages into some topics, and its own books; and the audit.

``python -m evenflow_experiments.faults.storing FOLDER write|audit BROKERS RATE TOPIC=STREAM...``

*write* publishes to each topic at a rate; ``safe`` in its book (see :mod:`books`) is what the store
has acknowledged. Several times a second it asks all brokers how they are, and adds a line with the
time to ``FOLDER/settled`` when all know one another and every topic has all its copies. *audit*
reads every topic from its beginning and writes what is there into ``FOLDER/STREAM.found``.
"""

from __future__ import annotations

import asyncio
import os
import signal
import sys
import time
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Final

from evenflow.errors import EvenflowError
from evenflow.overlay.client.aio import AsyncClient
from evenflow_experiments.faults.books import entry
from evenflow_experiments.faults.publishing import Book

if TYPE_CHECKING:
    from collections.abc import Sequence

    from evenflow.overlay.protocol.messages import BrokerStatus

LEVEL: Final = 2
MOST_WAITING: Final = 64
"""Messages of a topic that may wait for their acknowledgement."""
LOOK_S: Final = 0.5
ANSWER_S: Final = 2.0
AUDIT_S: Final = 60.0
"""How long the first message of a topic may take when it is read back."""
IDLE_S: Final = 4.0
"""A topic that gives nothing more for so long has been read."""


class Writing:
    """Publishes to one topic."""

    def __init__(self, client: AsyncClient, topic: str, book: Book) -> None:
        self._client, self._topic, self._book = client, topic, book
        self._newest = book.stream.tried
        self._waiting = 0

    async def run(self, rate: float, stop: asyncio.Event) -> None:
        """Publish until stopped."""
        stream = self._book.stream
        while not stop.is_set():
            await asyncio.sleep(1 / rate)
            if self._waiting >= MOST_WAITING:
                continue
            self._newest += 1
            self._book.note("tried", self._newest)
            payload = stream.id_of(self._newest).to_bytes(8, "big")
            stored = await self._client.post(self._topic, payload, level=LEVEL)
            self._waiting += 1
            stored.add_done_callback(partial(self._on_stored, self._newest))

    def _on_stored(self, number: int, done: asyncio.Future[int]) -> None:
        self._waiting -= 1
        if not done.cancelled() and done.exception() is None:
            self._book.note("safe", number)


async def watch(brokers: Sequence[str], path: Path) -> None:
    """Note whenever all brokers are there and every topic has all its copies."""
    file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644)
    while True:
        asked = time.monotonic()
        found = await asyncio.gather(*map(_status, brokers), return_exceptions=True)
        if all(
            not isinstance(one, BaseException) and one.members == len(brokers) and not one.unsettled
            for one in found
        ):
            os.write(file, entry(asked, []).encode())
        await asyncio.sleep(LOOK_S)


async def _status(address: str) -> BrokerStatus:
    async with asyncio.timeout(ANSWER_S), AsyncClient([address], timeout_s=ANSWER_S) as client:
        return await client.status()


async def write(folder: Path, brokers: Sequence[str], rate: float, topics: dict[str, int]) -> None:
    """Publish to all topics until a signal; stay until the end."""
    stop, end = asyncio.Event(), asyncio.Event()
    loop = asyncio.get_running_loop()
    loop.add_signal_handler(signal.SIGUSR1, stop.set)
    loop.add_signal_handler(signal.SIGTERM, end.set)
    async with AsyncClient(brokers) as client:
        tasks = [asyncio.create_task(watch(brokers, folder / "settled"))]
        for topic, number in topics.items():
            writing = Writing(client, topic, Book(folder / f"{number}.stream", number))
            tasks.append(asyncio.create_task(writing.run(rate, stop)))
        waiting = asyncio.create_task(end.wait())
        await asyncio.wait({waiting, tasks[0]}, return_when=asyncio.FIRST_COMPLETED)
        for task in tasks:
            task.cancel()


async def audit(folder: Path, brokers: Sequence[str], topics: dict[str, int]) -> None:
    """Write down what the store has."""
    async with AsyncClient(brokers, timeout_s=AUDIT_S) as client:
        found = await asyncio.gather(*(_all(client, topic) for topic in topics))
    for number, ids in zip(topics.values(), found, strict=True):
        text = entry(time.monotonic(), ids)
        (folder / f"{number}.found").write_text(text, encoding="utf-8")


async def _all(client: AsyncClient, topic: str) -> list[int]:
    """Every message of a topic. A subscription goes by no clock, so none is too new to be read."""
    ids: list[int] = []
    messages = client.subscribe(topic, start=1)
    try:
        while True:
            async with asyncio.timeout(IDLE_S if ids else AUDIT_S):
                message = await anext(messages)
            ids.append(int.from_bytes(message.payload, "big"))
    except TimeoutError:
        return ids


def main() -> None:
    """Write, or audit."""
    folder, what, brokers, rate, *streams = sys.argv[1:]
    addresses = brokers.split(",")
    topics = {topic: int(number) for topic, _, number in (one.partition("=") for one in streams)}
    try:
        if what == "write":
            asyncio.run(write(Path(folder), addresses, float(rate), topics))
        else:
            asyncio.run(audit(Path(folder), addresses, topics))
    except EvenflowError as error:
        sys.exit(f"storing: error: {error}")


if __name__ == "__main__":
    main()
