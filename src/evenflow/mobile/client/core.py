"""Everything that a client decides; it touches neither clock, socket nor disk.

A client has at most one gateway that it sends items to (`_current`). It may at the same time look
for another (`_attaching`): because it has none, or because it was told to move. And it may still
listen to the one that it is leaving (`_leaving`), until that has made everything safe. After each
event the core does what has become possible: dial, send, ask, finish a handover.
"""

from __future__ import annotations

from dataclasses import replace
from math import inf
from typing import TYPE_CHECKING

from evenflow.mobile.client.buffer import Contradiction
from evenflow.mobile.client.connections import LEFT, Connections
from evenflow.mobile.client.events import (
    Action,
    Arrived,
    Attached,
    Broken,
    Close,
    Deliver,
    Describe,
    Drop,
    Event,
    Handled,
    Linked,
    Locate,
    NoteMark,
    Publish,
    Refused,
    Renew,
    Send,
    Tick,
    Unlinked,
    Usable,
)
from evenflow.mobile.link.frames import (
    Alternatives,
    Attributes,
    Bye,
    FromGateway,
    FromNode,
    Handover,
    Message,
    Position,
    Received,
    Safe,
    Settle,
    Settled,
    Welcome,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

    from evenflow.mobile.client.attaching import Session
    from evenflow.mobile.client.buffer import TopicQueue


class ClientCore(Connections):
    """The rules of a client: :meth:`start` it, then tell it what happens."""

    _unusable_since: float | None = None
    _refused = False

    def start(self, now: float) -> list[Action]:
        """Begin to look for a gateway."""
        self._unusable_since = now
        self._look(now)
        return self.handle(Tick(), now)

    def handle(self, event: Event, now: float) -> list[Action]:
        """Take an event; return what is to be done.

        What is published is sent with the next event of another kind, so that many go in one frame.
        """
        if isinstance(event, Publish):
            self._do(*self.buffer.add(event.topic, event.time, event.payload, event.headers))
        elif not self.ended or isinstance(event, Renew | Handled):
            self._take(event, now)
            if not self.ended:
                self._advance(now)
        out, self._out = self._out, []
        return out

    def deadline(self) -> float:
        """When the next `Tick` is due, whatever happens until then."""
        if self.ended:
            return inf
        due = self._attaching.deadline()
        move = self.executor.move
        if move is not None and not move.welcomed:
            due = min(due, move.expires)
        if self._current is not None and self._unusable_since is not None:
            due = min(due, *(self._ask_at(self._current, one) for one in self._held_up()), inf)
        return due

    @property
    def held_up_by(self) -> set[str]:
        """Gateways that must speak before the node can go on at the one it is attached to."""
        return {queue.holder for queue in self._held_up()}

    def _take(self, event: Event, now: float) -> None:
        match event:
            case Arrived():
                self._on_arrived(event, now)
            case Linked():
                self._on_linked(event, now)
            case Unlinked():
                self._on_unlinked(event, now)
            case Handled():
                self._on_handled(event)
            case Describe(attributes):
                self.attributes = attributes
                self._tell(Attributes(attributes))
            case Locate(place):
                self.position = place
                self._tell(Position(place))
            case Renew(token):
                self._on_renew(token, now)
            case Close(reason):
                self._end(reason)
            case _:
                pass  # time has passed

    # -- frames ------------------------------------------------------------------------------------

    def _on_arrived(self, event: Arrived, now: float) -> None:
        greeted = self._attaching.greeted
        every = (self._current, self._leaving, greeted)
        session = next((one for one in every if one is not None and one.link == event.link), None)
        frame = event.frame
        if session is None:
            return  # of a link that was dropped
        if isinstance(frame, Bye):
            self._do(Drop(event.link, "goodbye"))
            self._on_unlinked(Unlinked(event.link, frame.reason, frame.retry, said=True), now)
        elif (session is greeted) != isinstance(frame, Welcome):
            self._refuse(session, f"{type(frame).__name__} out of place", now)
        else:
            self._take_frame(session, frame, now)

    def _take_frame(self, session: Session, frame: FromGateway, now: float) -> None:
        match frame:
            case Welcome():
                self._on_welcome(session, frame, now)
            case Safe():
                self._on_safe(session, frame, now)
            case Settled():
                self._on_settled(session, frame)
            case Message():
                self._on_message(session, frame)
            case Handover():
                self._on_handover(session, frame, now)
            case Alternatives(addresses):
                self._alternatives = addresses
            case _:
                pass  # the link answers pings

    def _on_welcome(self, session: Session, frame: Welcome, now: float) -> None:
        default = frame.topics[0] if frame.topics else ""
        try:
            self._do(*self.buffer.attach(frame.gateway, frame.accepted, default))
        except Contradiction as found:
            self._break(found, frame.gateway)
            return
        session.gateway, session.since = frame.gateway, now
        session.window = min(frame.in_flight, self.buffer.limits.size // 2)
        session.topics = frozenset(frame.topics)
        session.accepted.update(frame.accepted)
        self.topics, self._alternatives = frame.topics, frame.alternatives
        self._switch(session, now)
        self._do(Attached(session.link, frame.gateway, session.address, frame.keep_alive_s))
        self._tell_changes(session)

    def _tell_changes(self, session: Session) -> None:
        """Send what has changed since the greeting was written."""
        hello = session.hello
        if hello.attributes is not self.attributes:
            self._do(Send(session.link, Attributes(self.attributes)))
        if self.position is not None and hello.position != self.position:
            self._do(Send(session.link, Position(self.position)))
        for mailbox, number in self.inbox.had.items():
            if hello.received.get(mailbox, 0) < number:
                self._do(Send(session.link, Received(mailbox, number)))

    def _on_safe(self, session: Session, frame: Safe, now: float) -> None:
        try:
            self._do(*self.buffer.on_safe(session.gateway, frame.topic, frame.number))
            session.accepted[frame.topic] = frame.number
        except Contradiction:
            self._refuse(session, f"items of {frame.topic!r} are safe that were not sent", now)

    def _on_settled(self, session: Session, frame: Settled) -> None:
        # An answer to a former connection may be older than what was sent there since.
        if session is not self._current:
            return
        if session.asked.pop((frame.gateway, frame.topic), None) is None:
            return
        try:
            self._do(*self.buffer.on_settled(frame.gateway, frame.topic, frame.number))
            if self.executor.move is not None and self.executor.move.origin == frame.gateway:
                self.executor.move.left[frame.topic] = frame.number
        except Contradiction as found:
            self._break(found, frame.gateway)

    def _break(self, found: Contradiction, gateway: str) -> None:
        topic, number, sent = found.args
        reason = (
            f"gateway {gateway!r} has items of topic {topic!r} up to number {number}, but only"
            f" {sent} were sent: the outbox was put back from an older copy. Keep its folder"
            " aside and connect with an empty one"
        )
        self._end(reason)
        self._do(Broken(reason))

    def _on_message(self, session: Session, frame: Message) -> None:
        if self.inbox.take(frame):
            self._do(Deliver(frame))
        elif frame.number <= (had := self.inbox.had.get(frame.mailbox, 0)):
            self._do(Send(session.link, Received(frame.mailbox, had)))

    def _on_handover(self, session: Session, frame: Handover, now: float) -> None:
        if self.executor.move is not None or session is not self._current:
            outcome = self.executor.refuse(frame, "another handover is under way")
            self._do(Send(session.link, outcome))
            return
        in_flight = self.buffer.unsettled_at(session.gateway)
        self.executor.begin(frame, session, in_flight, now)
        if frame.addresses[0] == session.address:
            self._do(self.executor.end(session.gateway, "", now))
            return
        if not frame.make_before_break:
            self._leave_current(f"handover {frame.order}")
            self._do(Drop(session.link, LEFT))
        self._attaching.look(frame.addresses, now, endless=False)

    # -- the application ---------------------------------------------------------------------------

    def _on_handled(self, event: Handled) -> None:
        self.inbox.on_handled(event.mailbox, event.number)
        self._do(NoteMark(event.mailbox, event.number))
        self._tell(Received(event.mailbox, event.number))

    def _on_renew(self, token: str, now: float) -> None:
        self.identity = replace(self.identity, token=token)
        if self.ended and self._refused:
            self.ended, self._refused = "", False
            self._look(now)

    def _tell(self, frame: FromNode) -> None:
        if self._current is not None:
            self._do(Send(self._current.link, frame))

    # -- what has become possible ------------------------------------------------------------------

    def _advance(self, now: float) -> None:
        if self._attaching.reach is not None:
            quiet = self._current is None or not self.buffer.unsettled_at(self._current.gateway)
            self._do(*self._attaching.advance(now, quiet=quiet))
            self._check_search(now)
        if self._current is not None:
            self._send_items(self._current)
            self._ask(self._current, now)
        self._check_usable(now)
        self._finish_move(now)

    def _check_search(self, now: float) -> None:
        """Give up a handover whose gateways cannot be reached, and a node that nobody takes."""
        reach, move = self._attaching.reach, self.executor.move
        if reach is None:
            return
        if move is not None and not move.welcomed:
            late = now >= move.expires
            if not late and not reach.over:
                return
            reason = f"not begun in time; {reach.reason}" if late else reach.reason
            self._do(self.executor.end(self.gateway, reason, now))
            if self._current is not None:
                self._do(*self._attaching.stop())
                return
            reach.go_on(self._known(), now)
            self._do(*self._attaching.advance(now))
        if reach.refused:
            reason = next(iter(reach.refusals.values()))
            self._end(reason)
            self._refused = True
            self._do(Refused(reason))

    def _send_items(self, session: Session) -> None:
        for frame, note in self.buffer.take(session.gateway, session.window, session.topics):
            if note is not None:
                self._do(note)
            self._do(Send(session.link, frame))

    def _held_up(self) -> Iterator[TopicQueue]:
        return self.buffer.held_up(self.gateway)

    def _ask(self, session: Session, now: float) -> None:
        """Ask how far former gateways have accepted, once they had the time to say so."""
        for queue in self._held_up():
            if self._ask_at(session, queue) <= now:
                session.asked[queue.holder, queue.topic] = now
                self._do(Send(session.link, Settle(queue.holder, queue.topic)))

    def _ask_at(self, session: Session, queue: TopicQueue) -> float:
        asked = session.asked.get((queue.holder, queue.topic))
        if asked is not None:
            return asked + self._patience.ask_s
        leaving = self._leaving is not None and self._leaving.gateway == queue.holder
        return self._drain_until if leaving else -inf

    def _check_usable(self, now: float) -> None:
        usable = self._current is not None and not any(self._held_up())
        since = self._unusable_since
        if not usable and since is None:
            self._unusable_since = now
        elif usable and since is not None:
            self._unusable_since = None
            if self.executor.move is not None:
                self.executor.move.gap_s += now - max(since, self.executor.move.started)
            self._do(Usable(now - since))

    def _finish_move(self, now: float) -> None:
        """A handover is over when nothing is held up by the gateway that was left.

        The outcome is told to the gateway where the node is then.
        """
        move, session = self.executor.move, self._current
        if move is not None and move.welcomed and session is not None:
            if session.gateway != move.origin and self.buffer.unsettled_at(move.origin):
                return
            self._do(self.executor.end(session.gateway, "", now))
        if self.executor.untold is not None and session is not None:
            self._tell(self.executor.untold)
            self.executor.untold = None
        if self._leaving is not None and self.executor.move is None:
            self._do(Drop(self._leaving.link, LEFT))
            self._leaving = None
