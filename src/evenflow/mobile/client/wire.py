"""One link of a client, from the dial to its end, as tasks of an event loop.

It hands what happens to the core as events. Frames that cannot go out yet wait here; there are
never many: the core sends no more items than the gateway's window, and of the node's attributes and
position only the newest waits.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections import deque
from typing import TYPE_CHECKING, Final, cast

from evenflow.errors import EvenflowError, LinkLost
from evenflow.mobile.client.events import Arrived, Linked, Unlinked
from evenflow.mobile.link.frames import Attributes, Position

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from evenflow.mobile.client.events import Dial, Event
    from evenflow.mobile.link.connection import Connection
    from evenflow.mobile.link.frames import FromGateway, FromNode

    Dialler = Callable[[str, float], Awaitable[Connection]]

log = logging.getLogger(__name__)

LAST_WORDS_S: Final = 1.0
"""How long what was sent before a link is dropped has to go out."""


class Wire:
    """A link that is being made, is up, or is ending."""

    def __init__(self, dial: Dial, dialler: Dialler, tell: Callable[[Event], None]) -> None:
        self._link = dial.link
        self._tell = tell
        self._queue: deque[FromNode] = deque()
        self._connection: Connection | None = None
        self._writing: asyncio.Task[None] | None = None
        self._running = asyncio.create_task(self._run(dial, dialler))

    @property
    def connection(self) -> Connection | None:
        """The connection, when it is up."""
        return self._connection

    async def _run(self, dial: Dial, dialler: Dialler) -> None:
        try:
            self._connection = await dialler(dial.address, dial.timeout_s)
            self._tell(Linked(self._link))
            while True:
                frame = await self._connection.receive()
                self._tell(Arrived(self._link, cast("FromGateway", frame)))
        except LinkLost as lost:
            self._tell(Unlinked(self._link, lost.reason, lost.retry, lost.said))
        except EvenflowError as error:  # an address that a gateway named and nobody can use
            self._tell(Unlinked(self._link, str(error)))
        except Exception as error:  # the client goes on without this link, whatever it was
            log.exception("link to %s", dial.address)
            self._tell(Unlinked(self._link, repr(error)))

    def send(self, frame: FromNode) -> None:
        """Send a frame, after those that wait."""
        assert self._connection is not None
        if self._writing is None and self._connection.try_send(frame):
            return
        if isinstance(frame, Attributes | Position):
            for old in [one for one in self._queue if type(one) is type(frame)]:
                self._queue.remove(old)
        self._queue.append(frame)
        if self._writing is None:
            self._writing = asyncio.create_task(self._write())

    async def _write(self) -> None:
        assert self._connection is not None
        try:
            while self._queue:
                frames = tuple(self._queue)
                self._queue.clear()
                await self._connection.send(*frames)
        except LinkLost:
            pass  # the reader hears of it too, with the reason
        except Exception as error:  # what was to go out would be missed by nobody
            log.exception("writing to a link")
            self._running.cancel()
            self._tell(Unlinked(self._link, repr(error)))
            await self._connection.close("the node failed")
        finally:
            self._writing = None

    async def end(self, reason: str) -> None:
        """Let what was sent go out, say goodbye, and end."""
        self._running.cancel()
        await asyncio.gather(self._running, return_exceptions=True)
        if self._connection is None:
            return
        with contextlib.suppress(TimeoutError, LinkLost):
            if self._writing is not None:
                await asyncio.wait_for(self._writing, LAST_WORDS_S)
        await self._connection.close(reason)
