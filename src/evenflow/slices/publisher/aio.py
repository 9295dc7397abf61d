"""The publisher for asyncio programs.

The same calls as :class:`~evenflow.slices.publisher.publisher.Publisher`, as coroutines. While
there is room, ``publish`` is immediate and does not leave the event loop (a write takes
microseconds; one into a slice whose node does not keep up may take 10 ms, once, before the slice
counts as congested). Whatever may take longer runs in a thread: ``publish_many`` and
``publish_columns``, waiting for room, ``flush``, ``close``. Publishes of many items, and those that
wait for room, go in one line, so all are accepted in the order they were called. One that is
cancelled while it waits may still be accepted.
"""

from __future__ import annotations

import asyncio
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import TYPE_CHECKING, Any, TypedDict, TypeVar, Unpack

from evenflow.errors import ClosedError, PublishTimeout
from evenflow.loops.opening import opened_in_thread
from evenflow.slices.publisher.publisher import Publisher

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from os import PathLike
    from types import TracebackType

    from evenflow.clock import Clock
    from evenflow.config import Config
    from evenflow.domain.cyclone import Participant
    from evenflow.model.given_headers import GivenHeaders
    from evenflow.model.payload import Payload
    from evenflow.slices.assignment import Assignment
    from evenflow.slices.publisher.diagnosis import PublisherStats
    from evenflow.slices.publisher.exchange import CommitHook

T = TypeVar("T")


class PublisherOptions(TypedDict, total=False):
    """What a publisher may be told, besides its topic."""

    config: Config | None
    assignment: str | Assignment | Callable[[Mapping[str, Any], int], int | None] | None
    participant: Participant | None
    on_commit: CommitHook | None
    outbox: str | PathLike[str] | None
    clock: Clock | None


class AsyncPublisher:
    """Publishes to one topic; use it as an asynchronous context manager.

    Args:
        topic: Name of the topic.
        options: Those of :class:`~evenflow.slices.publisher.publisher.Publisher`.
    """

    def __init__(self, topic: str = "items", **options: Unpack[PublisherOptions]) -> None:
        self._open = partial(Publisher, topic, **options)
        self._name = f"publisher of topic {topic!r}"
        self._publisher: Publisher | None = None
        self._opening = asyncio.Lock()
        self._line = ThreadPoolExecutor(1, thread_name_prefix=f"evenflow-publish-{topic}")
        self._waiting = 0

    async def open(self) -> AsyncPublisher:
        """Open the publisher; the context manager does it too."""
        async with self._opening:
            if self._publisher is None:
                self._publisher = await opened_in_thread(self._open, _leave_at_once)
        return self

    async def publish(
        self,
        payload: Payload,
        *,
        sender: str = "",
        id: int | None = None,
        time: int | None = None,
        headers: GivenHeaders | None = None,
        timeout: float | None = None,  # noqa: ASYNC109 - the bound of the publisher, not ours
    ) -> bool:
        """Publish one item; see :meth:`Publisher.publish`."""
        opened = self.opened
        made = opened._intake.row(payload, sender, id, time, headers)  # noqa: SLF001 - once, for both
        return await self._at_once_or_in_line(partial(opened._add, made), timeout)  # noqa: SLF001

    async def publish_many(
        self,
        payloads: Sequence[Payload],
        *,
        senders: str | Sequence[str] = "",
        ids: Sequence[int] | None = None,
        times: Sequence[int] | None = None,
        headers: GivenHeaders | Sequence[GivenHeaders | None] | None = None,
        timeout: float | None = None,  # noqa: ASYNC109
    ) -> int:
        """Publish many items; see :meth:`Publisher.publish_many`."""
        publish = partial(
            self.opened.publish_many,
            payloads,
            senders=senders,
            ids=ids,
            times=times,
            headers=headers,
        )
        return await self._in_line(publish, timeout)

    async def publish_columns(
        self,
        payloads: Any,
        *,
        senders: Any = "",
        ids: Any = None,
        times: Any = None,
        headers: Any = None,
        fields: Mapping[str, Any] | None = None,
        timeout: float | None = None,  # noqa: ASYNC109
    ) -> int:
        """Publish many items given as columns; see :meth:`Publisher.publish_columns`."""
        publish = partial(
            self.opened.publish_columns,
            payloads,
            senders=senders,
            ids=ids,
            times=times,
            headers=headers,
            fields=fields,
        )
        return await self._in_line(publish, timeout)

    async def flush(self, timeout: float | None = None) -> None:  # noqa: ASYNC109
        """Wait until the readers have everything; see :meth:`Publisher.flush`."""
        await asyncio.to_thread(self.opened.flush, timeout)

    async def close(self, timeout: float | None = None) -> None:  # noqa: ASYNC109
        """Wait until everything is committed, and leave; see :meth:`Publisher.close`."""
        try:
            await asyncio.to_thread(self.opened.close, timeout)
        finally:
            self._line.shutdown(wait=False)

    @property
    def committed(self) -> int:
        """Items committed by their nodes."""
        return self.opened.committed

    @property
    def stats(self) -> PublisherStats:
        """What this publisher has done and holds."""
        return self.opened.stats

    async def __aenter__(self) -> AsyncPublisher:
        return await self.open()

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        try:
            await asyncio.to_thread(self.opened.__exit__, kind, error, trace)
        finally:
            self._line.shutdown(wait=False)

    @property
    def opened(self) -> Publisher:
        """The blocking publisher that does the work; `ClosedError` when it is not open."""
        if self._publisher is None:
            raise ClosedError(f"{self._name} (not opened yet)")
        return self._publisher

    async def _at_once_or_in_line(self, call: Callable[..., T], timeout: float | None) -> T:  # noqa: ASYNC109
        if not self._waiting:
            try:
                return call(timeout=0.0)
            except PublishTimeout:
                pass
        return await self._in_line(call, timeout)

    async def _in_line(self, call: Callable[..., T], timeout: float | None) -> T:  # noqa: ASYNC109
        self._waiting += 1
        try:
            try:
                done = self._line.submit(call, timeout=timeout)
            except RuntimeError:  # the line is closed, with the publisher
                raise ClosedError(self._name) from None
            return await asyncio.wrap_future(done)
        finally:
            self._waiting -= 1


def _leave_at_once(publisher: Publisher) -> None:
    publisher.close(0.0)
