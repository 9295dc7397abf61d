"""What the primary of a shelf does for clients: take messages, give them in order (section III).

*Publishing* is idempotent: a publisher numbers its messages, the shelf remembers the newest number
of each publisher, and what comes again is acknowledged and not stored again. Each message gets a
time of its own, later than every other of the topic, so time is also the order.

*Reading* is a request with a cursor: what came after this time? Only what is committed is given.
A request that reaches the end waits for the next message. A reader that goes on from the cursor of
each answer sees every message once and in order, whoever answers and however often it asks.

*Up to now* means: all that was acknowledged when the request came. Who answers that must know that
no other primary has acknowledged anything, and asks the copies in sync first.

*Subscribing* has messages pushed as they are committed; see `subscribers`.

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
    Subscribe,
    Taken,
    Unsubscribe,
    Waiting,
)
from evenflow.overlay.replica.copy import RETRY_S
from evenflow.overlay.shelf.subscribers import Subscribers
from evenflow.overlay.shelf.waiting import WaitingRequests

if TYPE_CHECKING:
    from evenflow.overlay.ports import ClientsHost
    from evenflow.overlay.protocol.messages import Envelope, PublisherState
    from evenflow.overlay.replica.replica import Replica

ClientRequest = Join | Publish | Fetch | Subscribe | Taken | Unsubscribe
MOST_WAITING = 4096
"""Requests of each kind that wait at one shelf; more are dropped, and the clients repeat them."""
LONGEST_WAIT_S = 10.0
LARGEST_ANSWER = 1 << 20
LARGEST_SEQUENCE = 1 << 53
"""A publisher's count ends here; a request that says more is an error."""


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
        self._replica = replica
        self._host = host
        self._publishing: WaitingRequests[WaitingPublish] = WaitingRequests(MOST_WAITING)
        self._reading: WaitingRequests[WaitingFetch] = WaitingRequests(MOST_WAITING)
        self._postponed: WaitingRequests[tuple[Envelope, Any]] = WaitingRequests(MOST_WAITING)
        """Requests that came while the topic was being moved, or the copy got ready."""
        self._unconfirmed: WaitingRequests[tuple[float, Envelope, Join | Fetch]] = WaitingRequests(
            MOST_WAITING
        )
        """Requests about now that wait until we know that we are still primary, and since when."""
        self._subscribers = Subscribers(replica, host)

    @property
    def serving(self) -> bool:
        """Whether this copy may speak for the shelf."""
        return self._copy.leading and self._copy.verified

    @property
    def writable(self) -> bool:
        """Whether new messages are taken here."""
        return self.serving and self._copy.delegated_here and not self._copy.label.ticket

    def handle(self, envelope: Envelope, body: ClientRequest) -> None:
        """Serve a client now, or keep its request for later."""
        label = self._copy.label
        if isinstance(body, Taken | Unsubscribe):
            self._hear(body)
            return
        if not self.serving or (label.ticket and not isinstance(body, Fetch)):
            self._postpone(envelope, body)
        elif isinstance(body, Fetch):
            self._fetch(envelope, body)
        elif not self.writable:
            self._host.mail.reply(envelope, Redirect(label.delegates))
        elif isinstance(body, Join):
            self._join(envelope, body, self._host.now)
        elif isinstance(body, Subscribe):
            self._subscribers.on_subscribe(envelope, body)
        elif reason := self._hindrance():
            self._host.mail.reply(envelope, Waiting(reason))
            self._postpone(envelope, body)
        else:
            self._publish(envelope, body)

    def _hear(self, body: Taken | Unsubscribe) -> None:
        """Take what a subscriber says of itself; it expects no answer."""
        if isinstance(body, Taken):
            self._subscribers.on_taken(body)
        else:
            self._subscribers.on_unsubscribe(body)

    def _postpone(self, envelope: Envelope, body: Any) -> None:
        self._postponed.add(envelope, body, (envelope, body))

    def _hindrance(self) -> str:
        """Say why nothing new can be taken for now; empty: it can."""
        copy, clock = self._copy, self._host.clock
        if reason := self._replica.waiting:
            return reason
        if all(clock.in_step(name) for name in copy.config.members if name != copy.me):
            return ""
        return f"the clock of {copy.me} is far ahead of the other brokers': set it right"

    def _join(self, envelope: Envelope, join: Join, since: float) -> None:
        """Tell a client where the topic is, and what now is.

        Now is behind all that was acknowledged, and not behind what only this copy may have:
        whoever leads next would give its time, or an earlier one, to what comes later.
        """
        copy, label = self._copy, self._copy.label
        if not self._replication.whole and (reason := self._replica.waiting):
            self._host.mail.reply(envelope, Waiting(reason))
        if self._confirmed(since, envelope, join):
            now = max(copy.committed + 1, label.delegates.entries[-1].start, 1)
            self._host.mail.reply(envelope, Joined(label.level, label.delegates, now))

    def _confirmed(self, since: float, envelope: Envelope, body: Join | Fetch) -> bool:
        """Say whether we were still primary at a time; else keep the request until we know."""
        if self._unconfirmed.has(envelope, body):
            return False
        if self._is_confirmed(since, body):
            return True
        self._unconfirmed.add(envelope, body, (since, envelope, body))
        return False

    def _is_confirmed(self, since: float, body: Join | Fetch) -> bool:
        """Say whether we were still primary at a time and know what is acknowledged; else ask."""
        confirmed = self._replication.confirmed(since)
        return confirmed and (isinstance(body, Fetch) or self._replication.whole)

    def _publish(self, envelope: Envelope, publish: Publish) -> None:
        copy = self._copy
        if self._publishing.has(envelope, publish):
            return
        if refusal := _refusal(publish):
            self._host.counters.refused += 1
            self._host.mail.reply(envelope, Failed(refusal))
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
        waiting = WaitingPublish(envelope, acknowledgement, until)
        self._publishing.add(envelope, publish, waiting)
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
        if not self._reading.has(envelope, fetch) and not self._give(envelope, fetch):
            wait_s = min(fetch.wait_ms / 1000, LONGEST_WAIT_S)
            waiting = WaitingFetch(envelope, fetch, self._host.now + wait_s)
            self._reading.add(envelope, fetch, waiting)

    def _give(
        self, envelope: Envelope, fetch: Fetch, *, late: bool = False, since: float | None = None
    ) -> bool:
        """Answer a reader if there is something to say, or if it has waited long enough.

        That nothing will come before the end is said only when we were still primary ``since`` the
        reader asked; the answer may follow later.
        """
        copy, delegates = self._copy, self._copy.label.delegates
        if delegates.responsible(fetch.after + 1) != copy.shelf.coordinate:
            copy.doubted = not copy.shelf.at_home
            self._host.mail.reply(envelope, Redirect(delegates))
            return True
        ends = [delegates.tenures(fetch.after + 1)[0].end, fetch.until or None]
        end = min((end for end in ends if end is not None), default=None)
        known = copy.committed + 1
        upto = known if end is None else min(end, known)
        limit = max(1, min(fetch.limit, MOST_WAITING))
        messages = copy.host.store.read(copy.shelf, fetch.after + 1, upto, limit, LARGEST_ANSWER)
        cursor = messages[-1].time if messages else fetch.after
        if not messages and end is not None and (upto == end or known > copy.last):
            if fetch.until and not self._confirmed(
                self._host.now if since is None else since, envelope, fetch
            ):
                return True
            cursor = max(cursor, end - 1)  # nothing will ever come before the end
        if cursor == fetch.after and not late:
            return False
        self._host.mail.reply(envelope, Fetched(tuple(messages), cursor))
        return True

    def progress(self) -> None:
        """Answer whom we can, after something was committed or the state changed."""
        if not self._copy.leading:
            # The clients will ask whoever leads now.
            for waiting in (self._publishing, self._reading, self._postponed, self._unconfirmed):
                waiting.clear()
            self._subscribers.progress()
            return
        self._acknowledge()
        if not self.serving:
            return
        self._answer_confirmed()
        self._subscribers.progress()
        for reader in self._reading.take_all():
            late = self._host.now >= reader.deadline
            if not self._give(reader.envelope, reader.fetch, late=late) and not late:
                self._reading.add(reader.envelope, reader.fetch, reader)
        if self._postponed and not self._copy.label.ticket and not self._hindrance():
            for envelope, body in self._postponed.take_all():
                self.handle(envelope, body)

    def due(self) -> float:
        """Return when there is something to do, if nothing happens before."""
        if not self._copy.leading:
            return float("inf")
        due = min((reader.deadline for reader in self._reading), default=float("inf"))
        if self._postponed:
            due = min(due, self._host.now + RETRY_S)
        return min(due, self._subscribers.due())

    def _answer_confirmed(self) -> None:
        """Answer those who wait to hear from a primary that is one for sure."""
        for since, envelope, body in self._unconfirmed.take_all():
            if isinstance(body, Fetch):
                if self._replication.confirmed(since):
                    self._give(envelope, body, late=True, since=since)
                else:
                    self._unconfirmed.add(envelope, body, (since, envelope, body))
            elif self._copy.label.ticket or not self.writable:
                self.handle(envelope, body)
            else:
                self._join(envelope, body, since)

    def _acknowledge(self) -> None:
        """Answer the publishers whose messages are committed."""
        committed = self._copy.committed
        for waiting in self._publishing.take(lambda each: each.until <= committed):
            self._host.mail.reply(waiting.envelope, waiting.acknowledgement)


def _refusal(publish: Publish) -> str:
    """Say why messages cannot be stored; empty: they can."""
    if any(len(payload) > LONGEST_PAYLOAD for payload in publish.payloads):
        return f"a message has at most {LONGEST_PAYLOAD} bytes"
    if not publish.first or publish.first + len(publish.payloads) > LARGEST_SEQUENCE:
        return f"messages are counted from 1 to {LARGEST_SEQUENCE}, not from {publish.first}"
    return ""
