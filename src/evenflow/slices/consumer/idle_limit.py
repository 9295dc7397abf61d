"""A stream that is left when nothing comes.

A Flight call has a limit for its whole length only, and a node that stands still neither answers
nor breaks the stream off. So a thread reads the stream, one chunk ahead, and waiting for the next
chunk has a limit.
"""

from __future__ import annotations

import queue
import threading
from typing import TYPE_CHECKING, Any, NamedTuple

from pyarrow import flight

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator


class _Ended(NamedTuple):
    """The stream is over."""

    reason: Exception | None


class _Pump(threading.Thread):
    """Reads a stream until it ends or nobody wants it any more."""

    def __init__(self, start: Callable[[], Any]) -> None:
        super().__init__(name="evenflow-stream", daemon=True)
        self.ahead: queue.Queue[Any] = queue.Queue(1)
        self._start = start
        self._left = threading.Event()
        self.start()

    def run(self) -> None:
        reason = None
        try:
            stream = self._start()
            for chunk in stream:
                if not self._put(chunk):
                    stream.cancel()
                    return
        except Exception as error:  # noqa: BLE001 - raised in the reader's thread
            reason = error
        self._put(_Ended(reason))

    def leave(self) -> None:
        self._left.set()

    def _put(self, what: Any) -> bool:
        while not self._left.is_set():
            try:
                self.ahead.put(what, timeout=1.0)
            except queue.Full:
                continue
            return True
        return False


def streamed(start: Callable[[], Any], silent_s: float) -> Iterator[Any]:
    """Yield the chunks of a stream; ``FlightTimedOutError`` when none comes in time.

    Args:
        start: Begins the stream; called, and read, in another thread.
        silent_s: How long to wait for a chunk.
    """
    pump = _Pump(start)
    try:
        while True:
            found = pump.ahead.get(timeout=silent_s)
            if isinstance(found, _Ended):
                if found.reason is not None:
                    raise found.reason
                return
            yield found
    except queue.Empty:
        raise flight.FlightTimedOutError(f"nothing came for {silent_s:g} s") from None
    finally:
        pump.leave()
