"""The client library: publish to topics of the overlay store, subscribe to them, read the past.

`Client` blocks and may be used from any thread; `AsyncClient` is the same for asyncio. A client has
one connection to one broker, its way into the overlay; when that broker dies or falls silent it
takes another of those it has been told of, and sends again what was not answered.

    with Client(["127.0.0.1:7400"]) as client:
        client.publish("meters", b"230.1 V")               # returns when it is on two disks
        for message in client.read("meters", start):       # nanoseconds since the epoch, up to now
            ...
        for message in client.subscribe("meters"):         # what comes from now on, without end
            ...
"""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING, Any, TypeVar

from evenflow.closing import Closing
from evenflow.errors import UsageError
from evenflow.loops.thread import LoopThread
from evenflow.overlay.client.aio import DEFAULT_LEVEL, AsyncClient

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Coroutine, Iterable, Iterator, Sequence

    from evenflow.overlay.protocol.messages import BrokerStatus, Message
    from evenflow.overlay.space.coordinate import Coordinate
    from evenflow.overlay.space.delegation import DelegateList

T = TypeVar("T")


class Client(Closing):
    """A client that blocks; an `AsyncClient` in a thread of its own. Use ``with``.

    Args:
        brokers: Addresses of some brokers.
        timeout_s: How long an operation may take before it ends in a `StoreTimeout`.
    """

    def __init__(self, brokers: Sequence[str], *, timeout_s: float = 30.0) -> None:
        self._client = AsyncClient(brokers, timeout_s=timeout_s)
        self._thread = LoopThread("evenflow-store-client", "store client")
        self._do(self._client.__aenter__())

    def _do(self, work: Coroutine[Any, Any, T]) -> T:
        return self._thread.do(work)

    def publish(self, topic: str, payload: bytes, *, level: int = DEFAULT_LEVEL) -> int:
        """Store a message; return its number once as many brokers as the level asks have it."""
        return self._do(self._client.publish(topic, payload, level=level))

    def publish_all(
        self, topic: str, payloads: Iterable[bytes], *, level: int = DEFAULT_LEVEL
    ) -> int:
        """Store many messages, in order; return the number of the last once all are stored."""
        return self._do(self._client.publish_all(topic, payloads, level=level))

    def subscribe(
        self, topic: str, *, start: int | None = None, level: int = DEFAULT_LEVEL
    ) -> Iterator[Message]:
        """Yield every message from a time on (now, unless told), each once, without end.

        Raises:
            ClosedError: The client was closed meanwhile.
        """
        return self._each(self._client.subscribe(topic, start=start, level=level))

    def read(self, topic: str, start: int = 0, end: int | None = None) -> Iterator[Message]:
        """Yield the messages stored from a time up to another, in order.

        Without an end: all that was acknowledged before the call, whatever clocks say.

        Raises:
            ClosedError: The client was closed before the end was reached.
            UnknownTopic: There is no such topic.
        """
        return self._each(self._client.read(topic, start, end))

    def now(self, topic: str, *, level: int = DEFAULT_LEVEL) -> int:
        """Return a time: all that was acknowledged before the call is earlier, the rest is not."""
        return self._do(self._client.now(topic, level=level))

    def ensure(self, topic: str, *, level: int = DEFAULT_LEVEL) -> None:
        """Make a topic unless it is there."""
        self._do(self._client.ensure(topic, level=level))

    def _each(self, messages: AsyncGenerator[Message, None]) -> Iterator[Message]:
        async def following() -> Message | None:
            return await anext(messages, None)

        try:
            while (message := self._do(following())) is not None:
                yield message
        finally:
            with suppress(UsageError):  # it is closed, or that of a parent
                self._do(messages.aclose())

    def move(self, topic: str, to: Coordinate) -> DelegateList:
        """Make another coordinate responsible for what is published from now on."""
        return self._do(self._client.move(topic, to))

    def retire(self, topic: str) -> DelegateList:
        """Let the topic's home take what is published from now on."""
        return self._do(self._client.retire(topic))

    def trim(self, topic: str, before: int) -> None:
        """Say that nobody needs what was stored before a time; see `AsyncClient.trim`."""
        self._do(self._client.trim(topic, before))

    def status(self) -> BrokerStatus:
        """Return the status of the broker that this client is connected to."""
        return self._do(self._client.status())

    def close(self) -> None:
        """End the connection, at once: who waits for an answer in another thread is told so."""
        self._thread.end(self._client.close())
