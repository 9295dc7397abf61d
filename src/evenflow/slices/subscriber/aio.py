"""The subscriber for asyncio programs.

The same as :class:`~evenflow.slices.subscriber.subscriber.Subscriber`, whose thread it leaves to do
the work: the event loop is woken when items have come, and nothing of it waits in a thread.
"""

from __future__ import annotations

import asyncio
from functools import partial
from typing import TYPE_CHECKING, Any, Self

from evenflow.errors import ClosedError
from evenflow.slices.subscriber.subscriber import Subscriber

if TYPE_CHECKING:
    from evenflow.model.batch import Batch
    from evenflow.slices.subscriber.subscriber import SubscriberStats


class AsyncSubscriber:
    """Receives the items of one topic; use it as an asynchronous context manager.

    Args:
        topic: Name of the topic.
        options: Those of :class:`~evenflow.slices.subscriber.subscriber.Subscriber`.
    """

    def __init__(self, topic: str = "items", **options: Any) -> None:
        self._topic = topic
        self._open = partial(Subscriber, topic, **options)
        self._subscriber: Subscriber | None = None
        self._arrived = asyncio.Event()

    async def open(self) -> AsyncSubscriber:
        """Begin to receive; the context manager does it too."""
        if self._subscriber is None:
            loop = asyncio.get_running_loop()
            self._subscriber = await asyncio.to_thread(self._open)
            self._subscriber.listen(partial(_wake, loop, self._arrived))
        return self

    async def receive(self, timeout: float | None = None) -> Batch | None:  # noqa: ASYNC109
        """The next items; see :meth:`Subscriber.receive`. One task at a time may call it."""
        loop = asyncio.get_running_loop()
        deadline = None if timeout is None else loop.time() + timeout
        while True:
            self._arrived.clear()
            batch = self._opened.receive(0.0)
            if batch is not None:
                return batch
            left = None if deadline is None else deadline - loop.time()
            try:
                await asyncio.wait_for(self._arrived.wait(), left)
            except TimeoutError:
                return None

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> Batch:
        """The next items; the loop ends when the subscriber is closed."""
        try:
            batch = await self.receive()
        except ClosedError:
            raise StopAsyncIteration from None
        assert batch is not None
        return batch

    async def close(self) -> None:
        """Receive nothing more; what has come can still be fetched."""
        await asyncio.to_thread(self._opened.close)

    @property
    def publishers(self) -> int:
        """DDS writers of items that are connected."""
        return self._opened.publishers

    @property
    def stats(self) -> SubscriberStats:
        """What has come so far, and what has not."""
        return self._opened.stats

    async def __aenter__(self) -> AsyncSubscriber:
        return await self.open()

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    @property
    def _opened(self) -> Subscriber:
        if self._subscriber is None:
            raise ClosedError(f"subscriber of topic {self._topic!r} (not opened yet)")
        return self._subscriber


def _wake(loop: asyncio.AbstractEventLoop, arrived: asyncio.Event) -> None:
    if not loop.is_closed():
        loop.call_soon_threadsafe(arrived.set)
