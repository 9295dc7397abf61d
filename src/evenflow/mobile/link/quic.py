"""A connection over QUIC, at either end.

All frames travel on the client's first stream, which the client opens with a `Pong` (nobody answers
it). A `Bye` is QUIC's own end of a connection: its reason, and an error code that says whether
another try can succeed; so it arrives, or is repeated, even when the stream is blocked.

The shell is this: datagrams in, events, datagrams out, timer. What carries the datagrams is with
the client (`quic_client`) and the listener (`quic_listener`).
"""

from __future__ import annotations

import asyncio
import logging
from abc import abstractmethod
from typing import TYPE_CHECKING, Any, Final, TypeVar

from qh3.quic import events
from qh3.quic.connection import QuicConnectionError

from evenflow.mobile.link.frames import Bye
from evenflow.mobile.link.framing import BadFrame
from evenflow.mobile.link.session import MOST_REASON, Session

if TYPE_CHECKING:
    from collections.abc import Callable

    import msgspec

    from evenflow.mobile.link.connection import Counts, Frame, Limits
    from evenflow.mobile.link.paths import Host
    from evenflow.mobile.link.quic_state import QuicState

STREAM: Final = 0
"""The client's first stream."""
RETRY_CODE: Final = 0xEF00
"""Error code of a `Bye` after which another try can succeed."""
FINAL_CODE: Final = 0xEF01
"""Error code of a `Bye` after which it cannot."""

T = TypeVar("T")

_log = logging.getLogger(__name__)


class QuicSession(Session):
    """A connection over QUIC.

    Args:
        state: The state machine.
        decoder: What the other side may send.
        limits: How much is held, and how long is waited.
        counts: The books of the listener that it belongs to.
    """

    transport = "quic"

    def __init__(
        self,
        state: QuicState,
        decoder: msgspec.msgpack.Decoder[Frame],
        limits: Limits,
        counts: Counts,
    ) -> None:
        super().__init__(decoder, limits, counts)
        self.state = state
        self._loop = asyncio.get_running_loop()
        self._timer: asyncio.TimerHandle | None = None
        self._flushing: asyncio.Handle | None = None
        self._heard = self._loop.time()

    @property
    @abstractmethod
    def address(self) -> Host:
        """Where the other side is."""

    @abstractmethod
    def _send(self, data: bytes) -> None:
        """Carry a datagram to the other side, or drop it."""

    # -- called by who has the socket --------------------------------------------------------------

    def datagram(self, data: bytes, sender: Host) -> None:
        """Take a datagram; `flush` must follow."""
        now = self._loop.time()
        if self._safely(self.state.take, data, sender, now):
            self._heard = now
            self._on_authentic(sender, len(data))
        self._take_events()

    def flush(self) -> None:
        """Send what is due, and be woken when more is."""
        self._flushing = None
        for data, _ in self._safely(self.state.datagrams_to_send, self._loop.time()) or ():
            self._send(data)
        self._arm()
        self.room()

    def _safely(self, do: Callable[..., T], *args: Any) -> T | None:
        """Let the state machine work; whatever a peer can provoke ends its connection only."""
        try:
            return do(*args)
        except (KeyboardInterrupt, SystemExit):
            raise
        except BaseException as error:  # noqa: BLE001 - a panic of the native core is none of ours
            _log.warning("connection of %s: %r", self.peer, error)
            if not self.over:
                self._counts.malformed += 1
            self.end(f"packets that cannot be understood: {error}"[:MOST_REASON], retry=False)
            self.drop()
            return None

    @abstractmethod
    def drop(self) -> None:
        """Forget it without a word."""

    # -- events ------------------------------------------------------------------------------------

    def _take_events(self) -> None:
        while (event := self.state.next_event()) is not None:
            self._on_event(event)
        if not self.over and (closed := self.state.closed) is not None:
            self._on_closed(closed)

    def _on_event(self, event: Any) -> None:
        if isinstance(event, events.StreamDataReceived):
            if event.stream_id != STREAM:
                self.refuse(BadFrame(f"data on stream {event.stream_id}, there is only one"))
            else:
                if event.data:
                    self.came(event.data)
                if event.end_stream:
                    self.end("the stream was ended")
                    self._finish(Bye("goodbye"))
        elif isinstance(event, (events.StreamReset, events.StopSendingReceived)):
            self.refuse(BadFrame("the stream was broken off"))
        elif isinstance(event, events.ConnectionTerminated):
            self._on_closed(event)
            self._on_terminated()

    def _on_closed(self, event: events.ConnectionTerminated) -> None:
        """The other side has ended it, or QUIC has."""
        if event.error_code in {RETRY_CODE, FINAL_CODE}:
            retry = event.error_code == RETRY_CODE
            self.end(event.reason_phrase[:1_000] or "goodbye", retry=retry, said=True)
        elif "idle" in event.reason_phrase.lower():
            if not self.over:
                self._counts.idle += 1
            self.end(f"nothing heard for {self._limits.idle_s:g} s")
        else:
            self.end(event.reason_phrase[:1_000] or f"QUIC error {event.error_code:#x}")

    def _on_terminated(self) -> None:
        """Nothing of it is sent or answered any more."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _on_authentic(self, sender: Host, size: int) -> None:
        """A packet came that only the other side can have made."""

    # -- timer -------------------------------------------------------------------------------------

    def _arm(self) -> None:
        """Be woken when the state machine wants it, or earlier: moving a timer costs more."""
        due = self.state.get_timer()
        if self._timer is not None:
            if due is not None and self._timer.when() <= due:
                return
            self._timer.cancel()
        self._timer = None if due is None else self._loop.call_at(due, self._on_timer)

    def _on_timer(self) -> None:
        self._timer = None
        due, now = self.state.get_timer(), self._loop.time()
        if due is None or due > now:
            self._arm()  # it was moved since
            return
        self._safely(self.state.handle_timer, now)
        self._take_events()
        self.flush()

    # -- what a session asks -----------------------------------------------------------------------

    @property
    def peer(self) -> str:
        """Address of the other side; it changes when a client moves."""
        return f"quic://{self.address[0]}:{self.address[1]}"

    @property
    def unsent_bytes(self) -> int:
        """Bytes that are not acknowledged."""
        return self.state.unsent_bytes

    def _write(self, data: bytes) -> None:
        try:
            self.state.send_stream_data(STREAM, data)
        except (QuicConnectionError, AssertionError) as error:
            self.end(f"nothing can be sent: {error}")
        self._flush_soon()

    def _flush_soon(self) -> None:
        """What is written in one turn of the loop leaves together."""
        if self._flushing is None:
            self._flushing = self._loop.call_soon(self.flush)

    def _pause(self) -> None:
        self.state.pause()

    def _resume(self) -> None:
        self._safely(self.state.resume)
        self._take_events()
        self._flush_soon()

    def _finish(self, bye: Bye) -> None:
        code = RETRY_CODE if bye.retry else FINAL_CODE
        self._safely(self.state.resume)
        self._safely(self.state.close, code, None, bye.reason)
        self.flush()

    async def _flushed(self, until: float) -> None:
        while self.state.unsent_bytes and (left := until - self._loop.time()) > 0:
            self._freed = self._loop.create_future()
            await asyncio.wait((self._freed,), timeout=left)
