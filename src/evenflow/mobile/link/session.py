"""What connections have in common: frames out of bytes, waiting, and the end.

A subclass moves bytes: it calls `came`, `room` and `end`, and performs `_write`, `_pause`,
`_resume` and `_finish`. Nothing here knows what carries them.
"""

from __future__ import annotations

import asyncio
from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Final

from evenflow.errors import LinkLost
from evenflow.mobile.link.frames import Bye, Ping, Pong
from evenflow.mobile.link.framing import BadFrame, FrameReader, encode

if TYPE_CHECKING:
    import msgspec

    from evenflow.mobile.link.connection import Counts, Frame, Limits

FAREWELL_S: Final = 1.0
"""How long the end of a connection waits until what was sent before has arrived."""
MOST_REASON: Final = 300
"""Characters of a reason that are sent: it must fit one packet."""


class Session(ABC):
    """A connection, without what carries it.

    Args:
        decoder: What the other side may send.
        limits: How much is held, and how long is waited.
        counts: The books of the listener that it belongs to.
    """

    transport: str

    def __init__(
        self, decoder: msgspec.msgpack.Decoder[Frame], limits: Limits, counts: Counts
    ) -> None:
        self._limits = limits
        self._counts = counts
        self._reader = FrameReader(decoder, limits)
        self._paused = False
        self._arrived: asyncio.Future[None] | None = None
        self._freed: asyncio.Future[None] | None = None
        self._ended: asyncio.Future[None] | None = None
        self._lost: LinkLost | None = None
        self._keep_alive_s = limits.keep_alive_s

    # -- what a carrier does -----------------------------------------------------------------------

    @property
    @abstractmethod
    def peer(self) -> str:
        """Address of the other side, for logs; it can change."""

    @property
    @abstractmethod
    def unsent_bytes(self) -> int:
        """Bytes that were written and are still ours to keep."""

    @abstractmethod
    def _write(self, data: bytes) -> None:
        """Take bytes to send."""

    @abstractmethod
    def _pause(self) -> None:
        """Let no more come than what may be on its way."""

    @abstractmethod
    def _resume(self) -> None:
        """Let more come."""

    @abstractmethod
    def _finish(self, bye: Bye) -> None:
        """Say why, and end; nothing more is written."""

    # -- what a carrier calls ----------------------------------------------------------------------

    def came(self, data: bytes) -> None:
        """Bytes have come."""
        if self._lost is not None:
            return
        self._reader.feed(data)
        if not self._paused and self._reader.full:
            self._paused = True
            self._pause()
        _wake(self._arrived)

    def room(self) -> None:
        """Some of what was written is gone."""
        if self._freed is not None and self.unsent_bytes <= self._limits.unsent_bytes:
            _wake(self._freed)

    def end(self, reason: str, *, retry: bool = True, said: bool = False) -> None:
        """The connection is over."""
        if self._lost is None:
            self._lost = LinkLost(reason, retry=retry, said=said)
            _wake(self._arrived)
            _wake(self._freed)
            _wake(self._ended)

    @property
    def over(self) -> bool:
        """Whether it is over."""
        return self._lost is not None

    def check(self) -> None:
        """Raise `LinkLost` if it is over."""
        if self._lost is not None:
            raise self._lost

    # -- for who uses it ---------------------------------------------------------------------------

    def try_send(self, frame: Frame) -> bool:
        """Send a frame if there is room now; return whether it was taken."""
        if self._lost is not None or self.unsent_bytes > self._limits.unsent_bytes:
            return False
        self._write(encode(frame))
        return True

    async def send(self, *frames: Frame) -> None:
        """Send frames, in order; wait while the other side takes nothing."""
        for frame in frames:
            self.check()
            self._write(encode(frame))
            while self.unsent_bytes > self._limits.unsent_bytes and self._lost is None:
                self._freed = asyncio.get_running_loop().create_future()
                await self._freed
        self.check()

    async def receive(self) -> Frame:
        """Return the next frame; raise `LinkLost` when there will be none."""
        while True:
            frame = self._next()
            if isinstance(frame, Ping):
                if self.unsent_bytes <= self._limits.unsent_bytes and self._lost is None:
                    self._write(encode(Pong()))
            elif isinstance(frame, Bye):
                self._lost = LinkLost(frame.reason, retry=frame.retry, said=True)
                self._finish(Bye("goodbye"))
            elif frame is not None and not isinstance(frame, Pong):
                return frame
            elif frame is None:
                self.check()
                self._arrived = asyncio.get_running_loop().create_future()
                await self._arrived

    async def ended(self) -> LinkLost:
        """Return by what it is over, once it is."""
        while self._lost is None:
            self._ended = asyncio.get_running_loop().create_future()
            await self._ended
        return self._lost

    def _next(self) -> Frame | None:
        try:
            frame = self._reader.next()
        except BadFrame as error:
            self.refuse(error)
            return None
        if self._paused and not self._reader.full and self._lost is None:
            self._paused = False
            self._resume()
        return frame

    def refuse(self, error: BadFrame) -> None:
        """End the connection because of what came; nothing of it is read any more."""
        self._reader = FrameReader(self._reader.decoder, self._limits)
        if self._lost is not None:
            return
        if error.oversized:
            self._counts.oversized += 1
        else:
            self._counts.malformed += 1
        self.end(error.reason, retry=False)
        self._finish(Bye(error.reason[:MOST_REASON], retry=False))

    async def close(self, reason: str, *, retry: bool = True) -> None:
        """Say `Bye` and end; what was sent before gets a moment to arrive."""
        if self._lost is not None:
            return
        until = asyncio.get_running_loop().time() + FAREWELL_S
        self.end(f"closed: {reason}", retry=retry)
        await self._flushed(until)
        self._finish(Bye(reason[:MOST_REASON], retry=retry))

    @abstractmethod
    async def _flushed(self, until: float) -> None:
        """Return when everything written has arrived, or at the latest at a time of the loop."""

    async def move(self, local_host: str = "") -> bool:  # noqa: ARG002 - not every link can
        """Go on from another port or address; this link cannot."""
        return False

    def keep_alive(self, every_s: float) -> None:
        """Show a sign of life after so many silent seconds from now on."""
        self._keep_alive_s = every_s


def _wake(waiting: asyncio.Future[None] | None) -> None:
    if waiting is not None and not waiting.done():
        waiting.set_result(None)
