"""Subscribers and replies for asyncio programs.

The same as the blocking ones, whose threads do the work: the event loop is woken when something has
come, and nothing of it waits in a thread.
"""

from __future__ import annotations

import asyncio
from functools import partial
from typing import TYPE_CHECKING, Generic, Self, TypedDict, TypeVar, Unpack, cast

from evenflow.clock import seconds
from evenflow.closing import Closing
from evenflow.errors import ClosedError
from evenflow.loops.opening import opened_in_thread
from evenflow.model.batch import Batch
from evenflow.slices.publisher.aio import AsyncPublisher
from evenflow.slices.subscriber.replies import Replies, Reply
from evenflow.slices.subscriber.subscriber import Subscriber

if TYPE_CHECKING:
    from collections.abc import Callable, Collection

    from evenflow.config import Config
    from evenflow.domain.cyclone import Participant
    from evenflow.slices.publisher.publisher import Publisher
    from evenflow.slices.subscriber.reception import Reception
    from evenflow.slices.subscriber.replies import RepliesStats
    from evenflow.slices.subscriber.subscriber import SubscriberStats


T = TypeVar("T")


class AsyncReception(Generic[T]):
    """Receives, in asyncio; use it as an asynchronous context manager.

    Args:
        name: What it is, for messages to people.
        begin: Opens what receives.
    """

    def __init__(self, name: str, begin: Callable[[], Reception[T]]) -> None:
        self._name = name
        self._begin = begin
        self._reception: Reception[T] | None = None
        self._opening = asyncio.Lock()
        self._arrived = asyncio.Event()

    async def open(self) -> Self:
        """Begin to receive; the context manager does it too."""
        async with self._opening:
            if self._reception is None:
                loop = asyncio.get_running_loop()
                self._reception = await opened_in_thread(self._begin, Closing.close)
                self._reception.listen(partial(_wake, loop, self._arrived))
        return self

    async def receive(self, timeout: float | None = None) -> T | None:  # noqa: ASYNC109
        """The next; None when nothing came in time. One task at a time may call it.

        Raises:
            ClosedError: It is closed, and everything that came has been given.
        """
        loop = asyncio.get_running_loop()
        deadline = None if timeout is None else loop.time() + seconds(timeout)
        while True:
            self._arrived.clear()
            found = self._opened.receive(0.0)
            if found is not None:
                return found
            left = None if deadline is None else deadline - loop.time()
            try:
                await asyncio.wait_for(self._arrived.wait(), left)
            except TimeoutError:
                return None

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> T:
        """The next; the loop ends when it is closed."""
        try:
            found = await self.receive()
        except ClosedError:
            raise StopAsyncIteration from None
        assert found is not None
        return found

    async def close(self) -> None:
        """Receive nothing more; what has come can still be fetched."""
        await asyncio.to_thread(self._opened.close)

    async def __aenter__(self) -> Self:
        return await self.open()

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    @property
    def _opened(self) -> Reception[T]:
        if self._reception is None:
            raise ClosedError(f"{self._name} (not opened yet)")
        return self._reception


class SubscriberOptions(TypedDict, total=False):
    """What a subscriber may be told, besides its topic."""

    senders: Collection[str]
    slices: Collection[int]
    reliable: bool
    queue_bytes: int
    config: Config | None
    participant: Participant | None


class AsyncSubscriber(AsyncReception[Batch]):
    """Receives the items of one topic; as ``Subscriber``.

    Args:
        topic: Name of the topic.
        options: Those of :class:`~evenflow.slices.subscriber.subscriber.Subscriber`.
    """

    def __init__(self, topic: str = "items", **options: Unpack[SubscriberOptions]) -> None:
        super().__init__(f"subscriber of topic {topic!r}", partial(Subscriber, topic, **options))

    @property
    def publishers(self) -> int:
        """DDS writers of items that are connected."""
        return cast("Subscriber", self._opened).publishers

    @property
    def stats(self) -> SubscriberStats:
        """What has come so far, and what has not."""
        return cast("Subscriber", self._opened).stats


class AsyncReplies(AsyncReception[Reply]):
    """Replies to what a publisher published; as ``Replies``.

    Args:
        publisher: The publisher; one for asyncio must be open.
    """

    def __init__(self, publisher: Publisher | AsyncPublisher) -> None:
        blocking = publisher.opened if isinstance(publisher, AsyncPublisher) else publisher
        super().__init__(f"replies of topic {blocking.topic!r}", partial(Replies, blocking))

    @property
    def stats(self) -> RepliesStats:
        """What has come so far, and what has not."""
        return cast("Replies", self._opened).stats


def _wake(loop: asyncio.AbstractEventLoop, arrived: asyncio.Event) -> None:
    if not loop.is_closed():
        loop.call_soon_threadsafe(arrived.set)
