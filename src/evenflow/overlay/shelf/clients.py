"""What the primary of a shelf does for clients: take messages, give them in order (section III).

*Publishing* is idempotent: a publisher numbers its messages, the shelf remembers the newest number
of each publisher, and what comes again is acknowledged and not stored again. Each message gets a
time of its own, later than every other of the topic, so time is also the order.

*Reading* is a question with a cursor: what came after this time? Only what is committed is given.
A question that reaches the end waits for the next message. A reader that goes on from the cursor of
each answer sees every message once and in order, whoever answers and however often it asks.

When the topic moves, the times up to the move stay here and those after it are elsewhere; readers
and publishers that ask for those are told the new delegate list.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

from evenflow.overlay.protocol.messages import (
    LONGEST_PAYLOAD,
    Failed,
    Fetch,
    Fetched,
    Join,
    Joined,
    Message,
    Moved,
    Publish,
    Published,
)

if TYPE_CHECKING:
    from evenflow.overlay.protocol.messages import Position, Routed
    from evenflow.overlay.replica.replica import Replica

MOST_WAITING = 4096
"""Questions of each kind that wait at one shelf; more are not heard, and asked again later."""
LONGEST_WAIT_S = 10.0
LARGEST_ANSWER = 1 << 20


class Desk(Protocol):
    """What serving needs of its broker."""

    now: float
    wall: int

    def answer(self, letter: Routed, body: Any) -> None:
        """Answer a letter."""
        ...

    def heard(self, node: str) -> bool:
        """Say whether another broker gave a sign of life just now."""
        ...


@dataclass(frozen=True, slots=True)
class Waiting:
    """A letter that is answered when a time is committed, or when something comes."""

    letter: Routed
    body: Any
    due: float
    """A time in nanoseconds for a publisher, a deadline in seconds for a reader."""


class Serving:
    """The clients' side of one copy."""

    def __init__(self, replica: Replica, desk: Desk) -> None:
        self.replica = replica
        self.desk = desk
        self._publishing: list[Waiting] = []
        self._reading: list[Waiting] = []
        self._held: list[tuple[Routed, Any]] = []
        """Letters that came while the topic was being moved, or the copy got ready."""

    @property
    def serving(self) -> bool:
        """Whether this copy may speak for the shelf."""
        replica = self.replica
        if not replica.leading or not replica.verified:
            return False
        return not replica.record.secondary or self.desk.heard(replica.record.secondary)

    @property
    def open(self) -> bool:
        """Whether new messages are taken here."""
        label = self.replica.label
        here = label.delegates.current == self.replica.shelf.coordinate
        return self.serving and here and not label.ticket

    def handle(self, letter: Routed, body: Join | Publish | Fetch) -> None:
        """Serve a client now, or keep its letter for later."""
        if not self.serving or (self.replica.label.ticket and not isinstance(body, Fetch)):
            if len(self._held) < MOST_WAITING:
                self._held.append((letter, body))
        elif isinstance(body, Fetch):
            self._fetch(letter, body)
        elif not self.open:
            self.desk.answer(letter, Moved(self.replica.label.delegates))
        elif isinstance(body, Join):
            label = self.replica.label
            self.desk.answer(letter, Joined(label.level, label.delegates))
        else:
            self._publish(letter, body)

    def _publish(self, letter: Routed, publish: Publish) -> None:
        replica = self.replica
        if any(len(payload) > LONGEST_PAYLOAD for payload in publish.payloads):
            self.desk.answer(letter, Failed(f"a message has at most {LONGEST_PAYLOAD} octets"))
            return
        known = replica.positions.get(publish.publisher)
        stored = max(known.sequence if known else 0, publish.first - 1)
        time = max(self.desk.wall, replica.last + 1, replica.label.delegates.entries[-1].start)
        fresh = [
            Message(time + number, publish.publisher, stored + 1 + number, payload)
            for number, payload in enumerate(publish.payloads[stored + 1 - publish.first :])
        ]
        if len(self._publishing) >= MOST_WAITING:
            return
        end = publish.first + len(publish.payloads) - 1
        due = fresh[-1].time if fresh else self._stored_here(known)
        done = Published(publish.publisher, end, due)
        self._publishing.append(Waiting(letter, done, due))
        if fresh:
            replica.append(fresh)
        else:
            self.progress()

    def _stored_here(self, known: Position | None) -> int:
        """Return when a repeated message was stored; 0 when that was at an earlier delegate.

        What came with a move was committed there, and no commit here will ever say so again.
        """
        return known.time if known is not None and known.time <= self.replica.last else 0

    def _fetch(self, letter: Routed, fetch: Fetch) -> None:
        if not self._give(letter, fetch) and len(self._reading) < MOST_WAITING:
            wait = min(fetch.wait_ms / 1000, LONGEST_WAIT_S)
            self._reading.append(Waiting(letter, fetch, self.desk.now + wait))

    def _give(self, letter: Routed, fetch: Fetch, *, late: bool = False) -> bool:
        """Answer a reader if there is something to say."""
        replica = self.replica
        delegates = replica.label.delegates
        if delegates.responsible(fetch.after + 1) != replica.shelf.coordinate:
            self.desk.answer(letter, Moved(delegates))
            return True
        if fetch.after + 1 < replica.record.since and replica.lacks_history:
            return False
        ends = [delegates.tenures(fetch.after + 1)[0].end, fetch.until or None]
        end = min((end for end in ends if end is not None), default=None)
        known = replica.committed + 1
        upto = known if end is None else min(end, known)
        limit = max(1, min(fetch.limit, MOST_WAITING))
        messages = replica.office.store.read(
            replica.shelf, fetch.after + 1, upto, limit, LARGEST_ANSWER
        )
        cursor = messages[-1].time if messages else fetch.after
        if not messages and end is not None and (upto == end or known > replica.last):
            cursor = max(cursor, end - 1)  # nothing will ever come before the end
        if cursor == fetch.after and not late:
            return False
        self.desk.answer(letter, Fetched(tuple(messages), cursor))
        return True

    def progress(self) -> None:
        """Answer whom we can, after something was committed or the state changed."""
        replica = self.replica
        if not replica.leading:
            # Whoever leads now will hear from the clients again.
            self._publishing, self._reading, self._held = [], [], []
            return
        waiting, self._publishing = self._publishing, []
        for one in waiting:
            if one.due <= replica.committed:
                self.desk.answer(one.letter, one.body)
            else:
                self._publishing.append(one)
        if not self.serving:
            return
        reading, self._reading = self._reading, []
        for one in reading:
            late = self.desk.now >= one.due
            if not self._give(one.letter, one.body, late=late) and not late:
                self._reading.append(one)
        if self._held and not replica.label.ticket:
            held, self._held = self._held, []
            for letter, body in held:
                self.handle(letter, body)
