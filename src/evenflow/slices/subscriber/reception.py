"""What comes by itself, for a program that fetches it when it likes.

A thread takes in whatever arrives, at once, so that nobody in the domain waits for the program; the
program fetches it one by one, or in a loop. What waits is bounded by who keeps it. A thread that
fails does not end in silence: who fetches is told, after all that came before.
"""

from __future__ import annotations

import logging
import threading
import time
from abc import abstractmethod
from typing import TYPE_CHECKING, Final, Generic, Self, TypeVar

from evenflow.clock import seconds
from evenflow.closing import Closing
from evenflow.errors import ClosedError
from evenflow.forking import in_parent, watch, watch_no_more

if TYPE_CHECKING:
    from collections.abc import Callable

    from evenflow.domain.cyclone import Participant, Reader
    from evenflow.errors import UsageError

_log = logging.getLogger(__name__)
T = TypeVar("T")

WAIT_S: Final = 0.2
"""How long the thread waits before it looks whether to end."""


class Reception(Closing, Generic[T]):
    """Receives until it is closed.

    Args:
        name: What it is, for messages to people.
        participant: Where it receives.
        own: Whether the participant is its own, and is closed with it.
    """

    def __init__(self, name: str, participant: Participant, *, own: bool) -> None:
        self.name = name
        self._participant = participant
        self._own = own
        self._waiter = participant.waiter()
        self._readers: list[Reader] = []
        self._arrived = threading.Condition()
        """Guards everything that the thread and the program share."""
        self._listener: Callable[[], None] | None = None
        self._closed = False
        """Whether :meth:`close` was called."""
        self._ended = False
        """Whether the thread takes nothing in any more."""
        self._failure: Exception | None = None
        """Why the thread ended, when it did not end by request."""
        self._inherited: UsageError | None = None
        """Said in a child that was forked: it is the parent that receives."""
        self._thread = threading.Thread(target=self._run, name=name, daemon=True)

    @abstractmethod
    def _take_in(self) -> bool:
        """Take in what has arrived; return whether something of it is for the program."""

    @abstractmethod
    def _fetch(self) -> T | None:
        """The oldest that waits, if anything does."""

    def _read(self, reader: Reader) -> Reader:
        """Wait for a reader, too, and close it at the end."""
        self._readers.append(reader)
        self._waiter.attach(reader)
        return reader

    def _start(self) -> None:
        """Everything is set up."""
        self._thread.start()
        watch(self, Reception._leave_to_parent)

    def receive(self, timeout: float | None = None) -> T | None:
        """The next; None when nothing came in time.

        Args:
            timeout: Seconds to wait; None: until something comes.

        Raises:
            ClosedError: It is closed, and everything that came has been given.
            Exception: What keeps it from receiving more; everything that came has been given.
        """
        if self._inherited is not None:
            raise self._inherited.with_traceback(None)
        deadline = None if timeout is None else time.monotonic() + seconds(timeout)
        with self._arrived:
            while (found := self._fetch()) is None:
                self._check()
                left = None if deadline is None else deadline - time.monotonic()
                if left is not None and left <= 0:
                    return None
                self._arrived.wait(left)
            return found

    def _check(self) -> None:
        """Raise when nothing more can come."""
        if self._failure is not None and not self._closed:
            raise self._failure.with_traceback(None)
        if self._closed or self._ended:
            raise ClosedError(self.name)

    def __iter__(self) -> Self:
        return self

    def __next__(self) -> T:
        """The next; the loop ends when it is closed, by any thread, and raises what went wrong."""
        try:
            found = self.receive()
        except ClosedError:
            raise StopIteration from None
        assert found is not None
        return found

    def listen(self, listener: Callable[[], None]) -> None:
        """Have a function called, in the thread, when something came or it was closed."""
        self._listener = listener

    def close(self) -> None:
        """Receive nothing more; what has come can still be fetched. Any thread may call it."""
        with self._arrived:
            if self._closed or self._inherited is not None:
                return
            self._closed = True
        watch_no_more(self)
        self._waiter.wake()
        if self._thread.is_alive():
            self._thread.join()
        self._waiter.close()
        for reader in self._readers:
            reader.close()
        if self._own:
            self._participant.close()

    def _leave_to_parent(self) -> None:
        """This is a child: give nothing here that the parent gives, and close nothing."""
        self._arrived = threading.Condition()  # who had it is not here
        self._inherited = in_parent(f"the {self.name}", "open one")

    def _run(self) -> None:
        try:
            while not self._closed:
                self._waiter.wait(WAIT_S)
                with self._arrived:
                    came = self._take_in()
                    if came:
                        self._arrived.notify_all()
                if came and self._listener is not None:
                    self._listener()
        except ClosedError:
            pass  # its participant is
        except Exception as failure:  # noqa: BLE001 - told to who fetches
            _log.exception("%s receives nothing more", self.name)
            self._failure = failure
        finally:
            with self._arrived:
                self._ended = True
                self._arrived.notify_all()
            if self._listener is not None:
                self._listener()
