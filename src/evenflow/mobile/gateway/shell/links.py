"""The links of a gateway's clients, in its loop: what is sent to each, and when it is read.

A frame is sent at once while the client takes what is sent. When it does not, frames queue, and a
task sends them as long as there are any. What the core sends is bounded by what it has read from
that client and by the bound of messages, and what it sends again waits once
(:mod:`~evenflow.mobile.gateway.outgoing`); so a client that takes nothing is not read either once
``MOST_QUEUED`` frames wait for it. That its connection is over is noticed all the same.
"""

from __future__ import annotations

import asyncio
import logging
from contextlib import suppress
from typing import TYPE_CHECKING, Final

from evenflow.edge.actions import Pause, Resume
from evenflow.mobile.gateway.events import CloseLink, Send
from evenflow.mobile.gateway.outgoing import Outgoing
from evenflow.mobile.link.connection import LinkLost

if TYPE_CHECKING:
    from evenflow.mobile.link.connection import Connection
    from evenflow.mobile.link.frames import FromGateway

_log = logging.getLogger(__name__)

MOST_QUEUED: Final = 256
"""A client for which as many frames wait is not read."""


class Link:
    """One client's connection."""

    def __init__(self, number: int, connection: Connection) -> None:
        self.number = number
        self.connection = connection
        self._queue = Outgoing()
        self._sending: asyncio.Task[None] | None = None
        self._closing: asyncio.Task[None] | None = None
        self._readable = asyncio.Event()
        self._readable.set()
        self._paused = False

    async def may_be_read(self) -> None:
        """Wait until there is room for what the client sends.

        Raises:
            LinkLost: The connection is over, and there is none: what has come is not read.
        """
        if self._readable.is_set():
            return
        over = asyncio.create_task(self.connection.ended())
        room = asyncio.create_task(self._readable.wait())
        try:
            await asyncio.wait({over, room}, return_when=asyncio.FIRST_COMPLETED)
        finally:
            over.cancel()
            room.cancel()
        if not self._readable.is_set():
            raise over.result()

    def pause(self, *, paused: bool) -> None:
        """Read no more from it for now, or again."""
        self._paused = paused
        self._look()

    def _look(self) -> None:
        if self._paused or len(self._queue) >= MOST_QUEUED:
            self._readable.clear()
        else:
            self._readable.set()

    def send(self, frame: FromGateway) -> None:
        """Send a frame, after those that wait."""
        if self._closing is not None:
            return
        if self._sending is None and self.connection.try_send(frame):
            return
        self._queue.add(frame)
        self._look()
        if self._sending is None:
            self._sending = asyncio.create_task(self._send_all())

    async def _send_all(self) -> None:
        try:
            while self._queue:
                await self.connection.send(*self._queue.take())
                self._look()
        except LinkLost:  # who receives from it is told the same
            self._queue.take()
            self._look()
        except Exception:  # noqa: BLE001 - else the client would wait for frames that never come
            _log.exception("link of %s", self.connection.peer)
            self.close("the gateway failed", retry=True)
        self._sending = None

    def close(self, reason: str, *, retry: bool) -> None:
        """Say goodbye and end it; what waits for it is not sent."""
        if self._closing is None:
            self._queue.take()
            self._readable.set()
            self._closing = asyncio.create_task(self.connection.close(reason, retry=retry))

    async def end(self) -> None:
        """The connection is over: end its tasks."""
        self._queue.take()
        if self._sending is not None:
            self._sending.cancel()
            with suppress(asyncio.CancelledError, LinkLost):
                await self._sending
        if self._closing is not None:
            await self._closing


def act(link: Link, action: Send | Pause | Resume | CloseLink) -> None:
    """Do with a link what the core says."""
    match action:
        case Send(_, frame):
            link.send(frame)
        case Pause():
            link.pause(paused=True)
        case Resume():
            link.pause(paused=False)
        case CloseLink(_, reason, retry):
            link.close(reason, retry=retry)
