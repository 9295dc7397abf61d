"""What comes by itself, for a program that fetches it when it likes.

A thread takes in whatever arrives, at once, so that nobody in the domain waits for the program; the
program fetches it one by one, or in a loop. What waits is bounded by who keeps it.
"""

from __future__ import annotations

import threading
import time
from abc import abstractmethod
from typing import TYPE_CHECKING, Final, Generic, Self, TypeVar

from evenflow.closing import Closing
from evenflow.errors import ClosedError

if TYPE_CHECKING:
    from collections.abc import Callable

    from evenflow.domain.cyclone import Participant, Reader

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

    def receive(self, timeout: float | None = None) -> T | None:
        """The next; None when nothing came in time.

        Args:
            timeout: Seconds to wait; None: until something comes.

        Raises:
            ClosedError: It is closed, and everything that came has been given.
        """
        deadline = None if timeout is None else time.monotonic() + timeout
        with self._arrived:
            while (found := self._fetch()) is None:
                if self._closed:
                    raise ClosedError(self.name)
                left = None if deadline is None else deadline - time.monotonic()
                if left is not None and left <= 0:
                    return None
                self._arrived.wait(left)
            return found

    def __iter__(self) -> Self:
        return self

    def __next__(self) -> T:
        """The next; the loop ends when it is closed, by any thread."""
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
            if self._closed:
                return
            self._closed = True
        self._waiter.wake()
        self._thread.join()
        self._waiter.close()
        for reader in self._readers:
            reader.close()
        if self._own:
            self._participant.close()

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
        finally:
            with self._arrived:
                self._closed = True
                self._arrived.notify_all()
            if self._listener is not None:
                self._listener()
