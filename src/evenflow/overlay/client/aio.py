"""The client of the overlay store for asyncio: publish, subscribe, read, move.

One connection serves all of it (`link`).
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import time
from collections import deque
from typing import TYPE_CHECKING, Any

from evenflow.errors import (
    ClosedError,
    EvenflowError,
    OverlayError,
    StoreRefused,
    StoreTimeout,
    UnknownTopic,
    UsageError,
)
from evenflow.loops.watched import WatchedTasks
from evenflow.overlay.client.arguments import a_level, a_time
from evenflow.overlay.client.core import NOW, Publishing, Reading, Requester
from evenflow.overlay.client.following import Following
from evenflow.overlay.client.link import BEAT_S, ClientLink
from evenflow.overlay.protocol.messages import (
    LONGEST_PAYLOAD,
    AskStatus,
    BrokerStatus,
    Failed,
    Message,
    MoveDone,
    MoveTopic,
    ShelfId,
    Trim,
)
from evenflow.overlay.space.coordinate import Coordinate, a_place, geographic_hash

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, AsyncIterator, Iterable, Sequence

    from evenflow.overlay.space.delegation import DelegateList

DEFAULT_LEVEL = 2
MOST_UNSTORED = 16 << 20
"""Payload of a topic that may wait for its acknowledgement; then publishing waits."""
TELL_S = 60.0
"""How often it is told that subscribers wait for brokers."""

_log = logging.getLogger(__name__)


class AsyncClient(ClientLink):
    """A client for asyncio. Use ``async with``.

    Args:
        brokers: Addresses of some brokers.
        timeout_s: How long an operation may take before it ends in a `StoreTimeout`.
    """

    def __init__(self, brokers: Sequence[str], *, timeout_s: float = 30.0) -> None:
        super().__init__(brokers, timeout_s=timeout_s)
        self._publishing: dict[str, Publishing] = {}
        self._stored: dict[str, deque[tuple[int, asyncio.Future[int]]]] = {}
        self._reading: dict[Reading, asyncio.Event] = {}
        self._next_told = 0.0
        self._tasks = WatchedTasks(self._fail)

    async def __aenter__(self) -> AsyncClient:
        self._tasks.begin(self._run(), "the store client's connection")
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    async def close(self) -> None:
        """End subscriptions and the connection; what is not acknowledged may be stored or not."""
        self._closed = True
        await self._tasks.close()
        if self._connection is not None:
            for following in self._following.values():
                self._tell(following.leave())
            self._connection.close()
        for future in self._awaited():
            future.set_exception(ClosedError("store client"))
            future.exception()  # nobody has to wait for what was posted
        for event in self._reading.values():
            event.set()

    def _awaited(self) -> list[asyncio.Future[Any]]:
        stored = [future for pairs in self._stored.values() for _, future in pairs]
        return [one for one in (*stored, *self._calls.values()) if not one.done()]

    def _fail(self, failure: BaseException) -> None:
        """Nothing is asked any more: whoever waits is told so, and who comes later."""
        self._failure = EvenflowError(f"the store client cannot go on: {failure!r}")
        self._failure.__cause__ = failure
        for future in self._awaited():
            future.set_exception(self._failure)
        for event in self._reading.values():
            event.set()

    # -- what a user calls ----------------------------------------------------------------------

    async def publish(self, topic: str, payload: bytes, *, level: int = DEFAULT_LEVEL) -> int:
        """Store a message; return its number once as many brokers as the level asks have it.

        Messages of one client to one topic are stored in the order of the calls. The level counts
        when the topic is new.

        Raises:
            ClosedError: The client was closed meanwhile: it may be stored or not.
        """
        stored = await self.post(topic, payload, level=level)
        async with self._limit(f"publish to {topic!r}", self._publishing[topic]):
            return await stored

    async def publish_all(
        self, topic: str, payloads: Iterable[bytes], *, level: int = DEFAULT_LEVEL
    ) -> int:
        """Store many messages, in order; return the number of the last once all are stored."""
        stored = [await self.post(topic, payload, level=level) for payload in payloads]
        if not stored:
            return 0
        async with self._limit(f"publish to {topic!r}", self._publishing[topic]):
            return (await asyncio.gather(*stored))[-1]

    async def post(
        self, topic: str, payload: bytes, *, level: int = DEFAULT_LEVEL
    ) -> asyncio.Future[int]:
        """Hand a message over and return at once; the future is done when it is stored."""
        self._check_open()
        if not isinstance(payload, bytes | bytearray | memoryview):
            raise UsageError(f"a message of type {type(payload).__name__}: give bytes")
        payload = bytes(payload)
        if len(payload) > LONGEST_PAYLOAD:
            raise OverlayError(f"a message has at most {LONGEST_PAYLOAD} bytes")
        publishing = self._publishing.get(topic)
        if publishing is None:
            geographic_hash(topic)
            publishing = Publishing(topic, self._rng.getrandbits(61) + 1, a_level(level))
            self._publishing[topic], self._stored[topic] = publishing, deque()
        while publishing.unacknowledged_bytes > MOST_UNSTORED:
            async with self._limit(f"publish to {topic!r}", publishing):
                await asyncio.shield(self._stored[topic][0][1])
        future: asyncio.Future[int] = asyncio.get_running_loop().create_future()
        self._stored[topic].append((publishing.add(payload), future))
        self._request(publishing)
        return future

    def publish_as(self, topic: str, publisher: int, *, level: int = DEFAULT_LEVEL) -> None:
        """Publish to a topic under a publisher's number of one's own; call it before publishing.

        The store counts the messages of each publisher and stores none twice: who publishes the
        same messages under the same number again, from the first, repeats nothing.
        """
        self._check_open()
        geographic_hash(topic)
        if topic in self._publishing or not 1 <= publisher < 1 << 62:
            raise OverlayError(
                f"publisher {publisher} of {topic!r}: it publishes already, or has no number"
            )
        self._publishing[topic] = Publishing(topic, publisher, a_level(level))
        self._stored[topic] = deque()

    async def subscribe(
        self, topic: str, *, start: int | None = None, level: int = DEFAULT_LEVEL
    ) -> AsyncGenerator[Message, None]:
        """Yield every message from a time on (now, unless told), each once, without end.

        The topic's broker keeps the subscription and pushes what comes, wherever the topic goes.
        When no broker answers it waits until one does, and says so in the log.

        Raises:
            ClosedError: The client was closed meanwhile.
        """
        number = self._rng.getrandbits(61) + 1
        begin = NOW if start is None else max(1, a_time("start", start))
        following = Following(topic, a_level(level), begin, number)
        self._following[number] = following
        try:
            async for message in self._read(following):
                yield message
        finally:
            del self._following[number]
            self._tell(following.leave())

    async def read(
        self, topic: str, start: int = 0, end: int | None = None
    ) -> AsyncGenerator[Message, None]:
        """Yield the messages stored from a time up to another, in order.

        Without an end: all that was acknowledged before the call, whatever clocks say.

        Raises:
            ClosedError: The client was closed before the end was reached.
            UnknownTopic: There is no such topic.
        """
        begin, until = a_time("start", start), NOW if end is None else a_time("end", end)
        if end is not None and until <= begin:
            return
        reading = Reading(topic, 0, max(1, begin), until)
        async for message in self._read(reading):
            yield message

    async def now(self, topic: str, *, level: int = DEFAULT_LEVEL) -> int:
        """Return a time: all that was acknowledged before the call is earlier, the rest is not.

        At level 0 a topic that is not there is not made, but an `UnknownTopic`.
        """
        reading = Reading(topic, a_level(level), NOW, NOW)
        async for _ in self._read(reading):
            pass
        return reading.until

    async def ensure(self, topic: str, *, level: int = DEFAULT_LEVEL) -> None:
        """Make a topic unless it is there."""
        async for _ in self._read(Reading(topic, a_level(level), 1, 2)):
            pass

    async def move(self, topic: str, to: Coordinate) -> DelegateList:
        """Make another coordinate responsible for what is published from now on.

        Raises:
            StoreRefused: The brokers do not do it now; try again later.
        """
        home, to = ShelfId(topic, geographic_hash(topic)), a_place(to)
        end = time.monotonic() + self.timeout_s
        while True:
            answer = await self._call(home.coordinate, "", MoveTopic(home, to), end)
            if isinstance(answer, MoveDone):
                return answer.delegates
            if isinstance(answer, Failed) and time.monotonic() > end:
                raise StoreRefused(f"move {topic!r}", answer.reason)
            await asyncio.sleep(BEAT_S)

    async def trim(self, topic: str, before: int) -> None:
        """Say that nobody needs what was stored before a time: brokers delete it, as if expired.

        What is younger than a minute stays. It is said once and not answered; say it again later,
        with another time, and what was missed is made up for.
        """
        self._check_open()
        home = ShelfId(topic, geographic_hash(topic))
        self._send(home.coordinate, "", Trim(home, a_time("before", before)), next(self._numbers))

    async def retire(self, topic: str) -> DelegateList:
        """Let the topic's home take what is published from now on."""
        return await self.move(topic, geographic_hash(topic))

    async def status(self) -> BrokerStatus:
        """Return the status of the broker that this client is connected to."""
        end = time.monotonic() + self.timeout_s
        while self._access is None:
            if time.monotonic() > end:
                raise StoreTimeout("status", self.timeout_s, self._whom_asked())
            await asyncio.sleep(BEAT_S)
        access = self._access
        answer = await self._call(access.coordinate, access.name, AskStatus(), end)
        assert isinstance(answer, BrokerStatus)
        return answer

    # -- inside ---------------------------------------------------------------------------------

    @contextlib.asynccontextmanager
    async def _limit(self, operation: str, requester: Requester) -> AsyncIterator[None]:
        try:
            async with asyncio.timeout(self.timeout_s):
                yield
        except TimeoutError:
            hint = self._access is not None and requester.waiting
            raise StoreTimeout(operation, self.timeout_s, hint or self._whom_asked()) from None

    async def _read(self, reading: Reading) -> AsyncIterator[Message]:
        self._check_open()
        geographic_hash(reading.topic)
        event = self._reading[reading] = asyncio.Event()
        self._request(reading)
        try:
            while True:
                while reading.found:
                    yield reading.found.popleft()
                    if len(reading.found) == 0:
                        self._request(reading)
                        if isinstance(reading, Following):
                            self._tell(reading.acknowledge())
                if reading.done:
                    return
                if reading.failure:
                    raise UnknownTopic(reading.topic)
                self._check_open()
                event.clear()
                if reading.until:
                    async with self._limit(f"read of {reading.topic!r}", reading):
                        await event.wait()
                else:
                    await self._wait_for_more(event, reading)
        finally:
            del self._reading[reading]
            self._forget(reading)

    async def _wait_for_more(self, event: asyncio.Event, reading: Reading) -> None:
        """Wait without end; say so when it is the brokers that are waited for."""
        while not event.is_set():
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(self.timeout_s):
                    await event.wait()
                    return
            why = self._whom_asked() if self._access is None else reading.waiting
            if why and time.monotonic() >= self._next_told:
                self._next_told = time.monotonic() + TELL_S
                _log.warning("nothing is heard of %r: %s", reading.topic, why)

    def _on_answered(self, requester: Requester) -> None:
        if isinstance(requester, Publishing):
            self._note_stored(requester)
            if requester.acknowledged < requester.accepted and not requester.failure:
                self._request(requester)
        elif isinstance(requester, Reading) and requester in self._reading:
            self._reading[requester].set()
            if not requester.failure:
                self._request(requester)

    def _note_stored(self, publishing: Publishing) -> None:
        waiting = self._stored[publishing.topic]
        while waiting and waiting[0][0] <= publishing.acknowledged:
            sequence, future = waiting.popleft()
            if not future.done():
                future.set_result(sequence)
        if publishing.failure:
            self._forget(publishing)
            del self._publishing[publishing.topic], self._stored[publishing.topic]
            operation = f"publish to {publishing.topic!r}"
            for _, future in waiting:
                if not future.done():
                    future.set_exception(StoreRefused(operation, publishing.failure))
