"""The messenger for asyncio programs.

The same calls as :class:`~evenflow.mobile.messenger.messenger.Messenger`, as coroutines. At most
`MOST_UNANSWERED` messages are unanswered at a time; further sends wait. A send that is cancelled
may still be carried out.
"""

from __future__ import annotations

import asyncio
from functools import partial
from typing import TYPE_CHECKING, Any, Final

from evenflow.errors import ClosedError
from evenflow.loops.opening import opened_in_thread
from evenflow.mobile.messenger.messenger import Messenger

if TYPE_CHECKING:
    from collections.abc import Iterable

    from evenflow.mobile.messenger.core import Sent
    from evenflow.model.payload import Payload

MOST_UNANSWERED: Final = 256


class AsyncMessenger:
    """Sends messages to mobile nodes; use it as an asynchronous context manager.

    Args:
        sender: Name of the sender.
        options: Those of :class:`~evenflow.mobile.messenger.messenger.Messenger`.
    """

    def __init__(self, sender: str = "", **options: Any) -> None:
        self._open = partial(Messenger, sender, **options)
        self._messenger: Messenger | None = None
        self._room = asyncio.Semaphore(MOST_UNANSWERED)

    async def send(
        self,
        payload: Payload,
        *,
        to: str | Iterable[str] = (),
        group: str = "",
        all: bool = False,  # noqa: A002
        expires_s: float | None = None,
        timeout_s: float = 10.0,
    ) -> Sent:
        """Send a message; see :meth:`Messenger.send`."""
        if self._messenger is None:
            raise ClosedError("messenger (not opened yet)")
        async with self._room:
            submitted = self._messenger.submit(
                payload, to=to, group=group, all=all, expires_s=expires_s, timeout_s=timeout_s
            )
            return await asyncio.wrap_future(submitted)

    async def close(self) -> None:
        """Leave."""
        if self._messenger is not None:
            await asyncio.to_thread(self._messenger.close)

    async def __aenter__(self) -> AsyncMessenger:
        self._messenger = await opened_in_thread(self._open, Messenger.close)
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()
