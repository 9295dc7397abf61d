"""What the primary of a shelf does for clients: take messages, give them in order (section III).

*Publishing* is idempotent: a publisher numbers its messages, the shelf remembers the newest number
of each publisher, and what comes again is acknowledged and not stored again. Each message gets a
time of its own, later than every other of the topic, so time is also the order.

*Reading* is a request with a cursor: what came after this time? Only what is committed is given.
A request that reaches the end waits for the next message. A reader that goes on from the cursor of
each answer sees every message once and in order, whoever answers and however often it asks.

When the topic moves, the times up to the move stay here and those after it are elsewhere; readers
and publishers that ask for those are told the new delegate list.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from evenflow.overlay.protocol.messages import (
    LONGEST_PAYLOAD,
    Failed,
    Fetch,
    Fetched,
    Join,
    Joined,
    Message,
    Publish,
    Published,
    Redirect,
)

if TYPE_CHECKING:
    from evenflow.overlay.ports import ClientsHost
    from evenflow.overlay.protocol.messages import Envelope, PublisherState
    from evenflow.overlay.replica.replica import Replica

MOST_WAITING = 4096
"""Requests of each kind that wait at one shelf; more are dropped, and the clients repeat them."""
LONGEST_WAIT_S = 10.0
LARGEST_ANSWER = 1 << 20


@dataclass(frozen=True, slots=True)
class WaitingPublish:
    """An acknowledgement that is sent when its messages are committed."""

    envelope: Envelope
    acknowledgement: Published
    until: int
    """Time of the last of the messages."""


@dataclass(frozen=True, slots=True)
class WaitingFetch:
    """A reader that waits for the next message."""

    envelope: Envelope
    fetch: Fetch
    deadline: float


class Clients:
    """The clients' side of one copy."""

    def __init__(self, replica: Replica, host: ClientsHost) -> None:
        self._copy = replica.copy
        self._replication = replica.replication
        self._catch_up = replica.catch_up
        self._host = host
        self._publishing: list[WaitingPublish] = []
        self._reading: list[WaitingFetch] = []
        self._postponed: list[tuple[Envelope, Any]] = []
        """Requests that came while the topic was being moved, or the copy got ready."""

    @property
    def serving(self) -> bool:
        """Whether this copy may speak for the shelf."""
        copy = self._copy
        if not copy.leading or not copy.verified:
            return False
        return not copy.record.secondary or self._host.in_touch(copy.record.secondary)

    @property
    def writable(self) -> bool:
        """Whether new messages are taken here."""
        return self.serving and self._copy.delegated_here and not self._copy.label.ticket

    def handle(self, envelope: Envelope, body: Join | Publish | Fetch) -> None:
        """Serve a client now, or keep its request for later."""
        label = self._copy.label
        if not self.serving or (label.ticket and not isinstance(body, Fetch)):
            if len(self._postponed) < MOST_WAITING:
                self._postponed.append((envelope, body))
        elif isinstance(body, Fetch):
            self._fetch(envelope, body)
        elif not self.writable:
            self._host.mail.reply(envelope, Redirect(label.delegates))
        elif isinstance(body, Join):
            self._host.mail.reply(envelope, Joined(label.level, label.delegates))
        else:
            self._publish(envelope, body)

    def _publish(self, envelope: Envelope, publish: Publish) -> None:
        copy = self._copy
        if any(len(payload) > LONGEST_PAYLOAD for payload in publish.payloads):
            self._host.mail.reply(
                envelope, Failed(f"a message has at most {LONGEST_PAYLOAD} bytes")
            )
            return
        known = copy.publishers.get(publish.publisher)
        stored = max(known.sequence if known else 0, publish.first - 1)
        time = max(self._host.wall, copy.last + 1, copy.label.delegates.entries[-1].start)
        fresh = [
            Message(time + number, publish.publisher, stored + 1 + number, payload)
            for number, payload in enumerate(publish.payloads[stored + 1 - publish.first :])
        ]
        if len(self._publishing) >= MOST_WAITING:
            return
        end = publish.first + len(publish.payloads) - 1
        until = fresh[-1].time if fresh else self._stored_here(known)
        acknowledgement = Published(publish.publisher, end, until)
        self._publishing.append(WaitingPublish(envelope, acknowledgement, until))
        if fresh:
            self._replication.append(fresh)
        else:
            self.progress()

    def _stored_here(self, known: PublisherState | None) -> int:
        """Return when a repeated message was stored; 0 when that was at an earlier delegate.

        What came with a move was committed there, and no commit here will ever say so again.
        """
        return known.time if known is not None and known.time <= self._copy.last else 0

    def _fetch(self, envelope: Envelope, fetch: Fetch) -> None:
        if not self._give(envelope, fetch) and len(self._reading) < MOST_WAITING:
            wait_s = min(fetch.wait_ms / 1000, LONGEST_WAIT_S)
            self._reading.append(WaitingFetch(envelope, fetch, self._host.now + wait_s))

    def _give(self, envelope: Envelope, fetch: Fetch, *, late: bool = False) -> bool:
        """Answer a reader if there is something to say, or if it has waited long enough."""
        copy, delegates = self._copy, self._copy.label.delegates
        if delegates.responsible(fetch.after + 1) != copy.shelf.coordinate:
            self._host.mail.reply(envelope, Redirect(delegates))
            return True
        if fetch.after + 1 < copy.record.since and self._catch_up.lacking:
            return False
        ends = [delegates.tenures(fetch.after + 1)[0].end, fetch.until or None]
        end = min((end for end in ends if end is not None), default=None)
        known = copy.committed + 1
        upto = known if end is None else min(end, known)
        limit = max(1, min(fetch.limit, MOST_WAITING))
        messages = copy.host.store.read(copy.shelf, fetch.after + 1, upto, limit, LARGEST_ANSWER)
        cursor = messages[-1].time if messages else fetch.after
        if not messages and end is not None and (upto == end or known > copy.last):
            cursor = max(cursor, end - 1)  # nothing will ever come before the end
        if cursor == fetch.after and not late:
            return False
        self._host.mail.reply(envelope, Fetched(tuple(messages), cursor))
        return True

    def progress(self) -> None:
        """Answer whom we can, after something was committed or the state changed."""
        if not self._copy.leading:
            # The clients will ask whoever leads now.
            self._publishing, self._reading, self._postponed = [], [], []
            return
        self._acknowledge()
        if not self.serving:
            return
        reading, self._reading = self._reading, []
        for waiting in reading:
            late = self._host.now >= waiting.deadline
            if not self._give(waiting.envelope, waiting.fetch, late=late) and not late:
                self._reading.append(waiting)
        if self._postponed and not self._copy.label.ticket:
            postponed, self._postponed = self._postponed, []
            for envelope, body in postponed:
                self.handle(envelope, body)

    def _acknowledge(self) -> None:
        """Answer the publishers whose messages are committed."""
        publishing, self._publishing = self._publishing, []
        for waiting in publishing:
            if waiting.until <= self._copy.committed:
                self._host.mail.reply(waiting.envelope, waiting.acknowledgement)
            else:
                self._publishing.append(waiting)
