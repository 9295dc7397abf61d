"""What both doors of a gateway do with connections: serve each in a task, count, end them all."""

from __future__ import annotations

import asyncio
import contextlib
import logging
from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Final

from evenflow.errors import LinkLost
from evenflow.mobile.link.connection import Counts

if TYPE_CHECKING:
    from evenflow.mobile.link.connection import Accept, Limits
    from evenflow.mobile.link.session import Session

CLOSING_S: Final = 2.0
"""How long those who serve connections have to end."""

_log = logging.getLogger(__name__)


class Door(ABC):
    """A listener without what it listens on.

    Args:
        accept: What is done with a connection.
        limits: How many, how large, how long.
    """

    def __init__(self, accept: Accept, limits: Limits) -> None:
        self._accept = accept
        self.limits = limits
        self.counts = Counts()
        self._served: dict[Session, asyncio.Task[None]] = {}
        self._closing = False

    @property
    @abstractmethod
    def _held(self) -> int:
        """Connections that are being made."""

    @property
    def crowded(self) -> bool:
        """Whether there are as many connections as may be."""
        return len(self._served) + self._held >= self.limits.connections

    def serve(self, session: Session) -> None:
        """Give a connection to who serves it."""
        self.counts.accepted += 1
        self.counts.open += 1
        task = asyncio.get_running_loop().create_task(self._serve(session))
        self._served[session] = task

    async def _serve(self, session: Session) -> None:
        reason = "served"
        try:
            with contextlib.suppress(LinkLost):
                await self._accept(session)
        except Exception:  # noqa: BLE001 - one connection's failure is not that of the others
            self.counts.failed += 1
            reason = "the gateway failed"
            _log.exception("connection of %s", session.peer)
        finally:
            self._served.pop(session, None)
            self.counts.open -= 1
            await session.close(reason)

    async def close(self, reason: str = "the gateway ends") -> None:
        """Take no more, say `Bye` to all, and end."""
        if self._closing:
            return
        self._closing = True
        tasks = list(self._served.values())
        await asyncio.gather(*(session.close(reason) for session in list(self._served)))
        if tasks:
            _, late = await asyncio.wait(tasks, timeout=CLOSING_S)
            for task in late:
                task.cancel()
        await self._close()

    @abstractmethod
    async def _close(self) -> None:
        """Give up the socket, and what is half open."""
