"""A client's side of a topic, without sockets: what to request next, and what a reply means.

`Publishing` and `Reading` each keep one request open. A request without a reply in time is sent
again, later each time, and after a few times the client joins the topic anew, through the topic's
home (section III-B). An answer that comes after that counts as well: of brokers that take long none
would ever be in time otherwise. Every request may be sent twice without harm: messages are numbered
by their publisher, and a reader asks for what came after its cursor.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import deque
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from evenflow.overlay.protocol.messages import (
    Failed,
    Fetch,
    Fetched,
    Join,
    Joined,
    Message,
    Publish,
    Published,
    Redirect,
    ShelfId,
    Waiting,
)
from evenflow.overlay.space.coordinate import geographic_hash

if TYPE_CHECKING:
    from evenflow.overlay.space.coordinate import Coordinate
    from evenflow.overlay.space.delegation import DelegateList

RETRY_S = 0.5
"""A request is sent again after this."""
REJOIN_AFTER = 3
"""Times a request is sent before the topic is joined anew; from then on each pause is twice the one
before."""
MOST_DOUBLINGS = 4
BATCH_MESSAGES = 512
BATCH_BYTES = 1 << 20
NOW = -1
"""Instead of a time: when the topic answers; all that was acknowledged before is earlier."""


@dataclass(frozen=True, slots=True)
class Request:
    """Something to send."""

    target: Coordinate
    body: Any
    number: int
    """The reply carries the same."""


class Requester(ABC):
    """One open request at a time about one topic."""

    def __init__(self, topic: str, level: int) -> None:
        self.topic = topic
        self.level = level
        self.delegates: DelegateList | None = None
        self.number = 0
        """Of the open request."""
        self.failure = ""
        """Why the store will not do what is asked; empty while it may."""
        self.waiting = ""
        """Why the topic waits, as a broker said last; empty: it does not."""
        self._sent = float("-inf")
        self._times = 0
        """Times it was sent, or the topic joined for its sake."""
        self._unheard = 0
        """Times it was sent since the topic said where it is."""
        self._rejoining = False
        """Whether the open request had no answer, and the topic is joined to hear where it is."""
        self._redirects = 0
        """Times we were sent elsewhere since something last worked."""

    def poll(self, now: float) -> Request | None:
        """Return the request that is due now."""
        if self.delegates is None or self._rejoining:
            if now < self._sent + self._pause():
                return None
            home = geographic_hash(self.topic)
            return self._send(home, Join(ShelfId(self.topic, home), self.level), self._pause(), now)
        body = self._next()
        if body is None:
            return None
        if self._unheard >= REJOIN_AFTER and now >= self._sent + self._patience():
            self._rejoining, self._sent = True, float("-inf")
            return self.poll(now)
        return self._send(body.shelf.coordinate, body, self._patience(), now)

    def due(self) -> float:
        """Return when the open request is to be sent again."""
        joining = self.delegates is None or self._rejoining
        return self._sent + (self._pause() if joining else self._patience())

    def retry_now(self) -> None:
        """The request may have been lost with a connection: it is due at once."""
        self._sent, self._times, self._unheard = float("-inf"), 0, 0

    def _pause(self) -> float:
        """Return how long the newest request may be without an answer."""
        return RETRY_S * (1 << min(max(0, self._times - REJOIN_AFTER), MOST_DOUBLINGS))

    def _patience(self) -> float:
        return self._pause()

    @abstractmethod
    def _next(self) -> Any: ...

    def _send(self, target: Coordinate, body: Any, patience: float, now: float) -> Request | None:
        if now < self._sent + patience:
            return None
        self._sent = now
        self._times += 1
        self._unheard += 1
        return Request(target, body, self.number)

    def _renew(self) -> None:
        """The next request is another one, and is due at once."""
        self.number += 1
        self.retry_now()
        self._rejoining = False

    def on_reply(self, number: int, body: Any, now: float) -> bool:
        """Take a reply; return whether it was to the open request."""
        if number != self.number:
            return False
        self.waiting = body.reason if isinstance(body, Waiting) else ""
        if isinstance(body, Joined):
            self._take_now(body.now)
        if isinstance(body, Joined) and body.delegates == self.delegates:
            # It is where it was asked for. The request stays open: its answer may only be late.
            if self._rejoining:
                self._sent, self._unheard, self._rejoining = float("-inf"), 0, False
        elif isinstance(body, Joined | Redirect):
            # Only who joins is told what now is.
            self.delegates = None if self._needs_now() else body.delegates
            self._redirects += isinstance(body, Redirect)
            self._renew()
            if self._redirects > REJOIN_AFTER or self.delegates is None:
                # Brokers do not agree yet on who is responsible: wait a little.
                self._sent = now - RETRY_S / 2
        elif isinstance(body, Failed):
            self.failure = body.reason
        return True

    def _take_now(self, now: int) -> None:  # noqa: B027  a publisher needs none
        """The topic says what now is."""

    def _needs_now(self) -> bool:
        """Say whether a time is still to be set to when the topic answers."""
        return False


class Publishing(Requester):
    """A publisher of one topic."""

    def __init__(self, topic: str, publisher: int, level: int) -> None:
        super().__init__(topic, level)
        self.publisher = publisher
        self.acknowledged = 0
        """Sequence up to which all is stored."""
        self.accepted = 0
        """Sequence of the newest message taken from the application."""
        self.unacknowledged_bytes = 0
        """Payload that is not acknowledged."""
        self._queue: deque[bytes] = deque()
        self._batch: tuple[bytes, ...] = ()

    def add(self, payload: bytes) -> int:
        """Take a message; return its sequence."""
        self._queue.append(payload)
        self.accepted += 1
        self.unacknowledged_bytes += len(payload)
        return self.accepted

    def _next(self) -> Publish | None:
        if not self._batch:
            batch: list[bytes] = []
            size = 0
            while self._queue and len(batch) < BATCH_MESSAGES:
                size += len(self._queue[0])
                if batch and size > BATCH_BYTES:
                    break
                batch.append(self._queue.popleft())
            self._batch = tuple(batch)
        if not self._batch or self.delegates is None:
            return None
        shelf = ShelfId(self.topic, self.delegates.current)
        return Publish(shelf, self.publisher, self.acknowledged + 1, self._batch)

    def on_reply(self, number: int, body: Any, now: float) -> bool:
        """Take a reply; return whether it was to the open request."""
        if not super().on_reply(number, body, now):
            return False
        if isinstance(body, Published) and body.publisher == self.publisher:
            count = min(len(self._batch), body.sequence - self.acknowledged)
            if count > 0:
                self.acknowledged += count
                self.unacknowledged_bytes -= sum(map(len, self._batch[:count]))
                self._batch = self._batch[count:]
                self._redirects = 0
                self._renew()
        return True


class Reading(Requester):
    """A reader of one topic, from a time on.

    Args:
        topic: The topic.
        level: Resilience level when the topic is new; 0: do not make it.
        start: Messages of this time and later; `NOW`: what is acknowledged after the call.
        until: Messages before this time; 0: without end; `NOW`: all that was acknowledged before.
        wait_s: How long a broker may let us wait for the next message.
    """

    def __init__(
        self, topic: str, level: int, start: int, until: int = 0, wait_s: float = 5.0
    ) -> None:
        super().__init__(topic, level)
        self.cursor = start - 1 if start > 0 else NOW
        self.until = until
        self.wait_s = wait_s if not until else 0.0
        self.found: deque[Message] = deque()
        """Messages that the application has not taken."""

    @property
    def done(self) -> bool:
        """Whether the range was read to its end."""
        return self.until > 0 and self.cursor >= self.until - 1

    def _take_now(self, now: int) -> None:
        if self.cursor < 0:
            self.cursor = now - 1
        if self.until == NOW:
            self.until = now

    def _needs_now(self) -> bool:
        return self.cursor < 0 or self.until == NOW

    def _patience(self) -> float:
        return self._pause() + self.wait_s

    def _next(self) -> Fetch | None:
        if self.delegates is None or self.done or len(self.found) >= BATCH_MESSAGES:
            return None
        place = self.delegates.responsible(self.cursor + 1)
        wait = int(self.wait_s * 1000)
        shelf = ShelfId(self.topic, place)
        return Fetch(shelf, self.cursor, self.until, BATCH_MESSAGES, wait)

    def on_reply(self, number: int, body: Any, now: float) -> bool:
        """Take a reply; return whether it was to the open request."""
        if not super().on_reply(number, body, now):
            return False
        if isinstance(body, Fetched):
            self.found.extend(message for message in body.messages if message.time > self.cursor)
            if body.cursor > self.cursor:
                self.cursor, self._redirects = body.cursor, 0
            self._renew()
        return True
