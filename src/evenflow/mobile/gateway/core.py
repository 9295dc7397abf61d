"""The rules of a gateway, without socket, clock, thread or file.

Events go in, actions come out (:mod:`evenflow.mobile.gateway.events`). Each idea has a module: who
is behind which link (:mod:`~.sessions`), items into units and ``Safe`` (:mod:`~.uplink`), how far
other gateways are (:mod:`~.settling`), messages to nodes (:mod:`~.downlink`), handovers of plans
(:mod:`~.handovers`), the other gateways (:mod:`~.neighbours`), what everybody is told
(:mod:`~.announcing`), and memory (:mod:`~.room`). Here a client is let in and ended, and what
comes is handed to the part it concerns.

A client is let in when its token is good for its name and nothing of its former connections is on
its way to the disk any more: then ``Welcome`` settles what it sent over them.
"""

from __future__ import annotations

import json
from collections import Counter
from typing import TYPE_CHECKING

from evenflow.mobile.gateway.announcing import Announcing
from evenflow.mobile.gateway.downlink import Downlink
from evenflow.mobile.gateway.draining import Draining
from evenflow.mobile.gateway.events import (
    AlternativesOrder,
    CloseLink,
    Drain,
    Forget,
    FrameCame,
    HandoverOrder,
    Heard,
    LinkLost,
    LinkOpened,
    NotHeard,
    Send,
    TimeOfDay,
    UnitSynced,
)
from evenflow.mobile.gateway.handovers import Handovers
from evenflow.mobile.gateway.neighbours import Neighbours
from evenflow.mobile.gateway.room import Room
from evenflow.mobile.gateway.sessions import Session, Sessions, Stage
from evenflow.mobile.gateway.settling import Settling
from evenflow.mobile.gateway.uplink import Uplink
from evenflow.mobile.link import frames
from evenflow.model.messages import (
    Attachment,
    GatewayReport,
    Mail,
    MailboxReport,
    NodeOutcome,
    SettleAnswer,
    SettleRequest,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from evenflow.mobile.gateway.admission import Admission
    from evenflow.mobile.gateway.events import Action, Event
    from evenflow.mobile.gateway.settings import GatewaySettings
    from evenflow.mobile.link.frames import FromNode, Hello
    from evenflow.model.wire import Message


class GatewayCore:
    """One gateway.

    Args:
        name: Its name, for ever: nodes and other gateways settle with it by that.
        addresses: Where nodes reach it, best first.
        newest_units: Topics that nodes may publish to, the default one first, with the newest unit
            that is in the outbox.
        marks: How far a node's run is accepted in each topic, as it is on disk.
        admission: Who may attach, and what it may do.
        settings: Bounds and times.
        forgotten: Gateways that were given up.
    """

    def __init__(
        self,
        name: str,
        addresses: tuple[str, ...],
        newest_units: Mapping[str, int],
        marks: Callable[[str, str], Mapping[str, int]],
        admission: Admission,
        settings: GatewaySettings,
        *,
        forgotten: Iterable[str] = (),
    ) -> None:
        self.name = name
        self._marks = marks
        self._admission = admission
        self._settings = settings
        self._out: list[Action] = []
        self._wall = 0.0
        self._wall_at = 0.0
        self.refused: Counter[str] = Counter()
        """Clients that were ended, by the kind of reason."""
        self.sessions = Sessions()
        self.neighbours = Neighbours(name)
        self._mailboxes: set[str] = set()
        out, sessions = self._out, self.sessions
        self.room = Room(sessions, settings.in_flight_bytes, settings.buffer_bytes, out)
        self.uplink = Uplink(newest_units, sessions, self.room, settings, out)
        self.settling = Settling(
            name,
            sessions,
            self.uplink,
            marks,
            self.neighbours.is_known,
            forgotten=forgotten,
            ask_s=settings.settle_s,
            out=out,
        )
        self.downlink = Downlink(name, sessions, settings, self._mailboxes.__contains__, out)
        self.handovers = Handovers(name, sessions, self.neighbours.is_known, out)
        self.draining = Draining(sessions, self.handovers, self.neighbours, settings.drain_per_s)
        self.announcing = Announcing(name, addresses, sessions, settings, self._condition, out)

    def _condition(self) -> tuple[bool, tuple[str, ...]]:
        return self.draining.on, tuple(sorted(self.settling.forgotten))

    # -- events ------------------------------------------------------------------------------------

    def handle(self, event: Event, now: float) -> list[Action]:
        """Take an event; return what to do, in order."""
        match event:
            case FrameCame(link, frame):
                session = self.sessions.by_link.get(link)
                if session is not None:
                    self._on_frame(session, frame, now)
            case LinkOpened(link, transport, peer):
                self.sessions.open(Session(link, transport, peer, now, now))
            case LinkLost(link):
                session = self.sessions.by_link.get(link)
                if session is not None:
                    self._remove(session, now)
            case UnitSynced(topic, unit):
                self._on_synced(topic, unit, now)
            case Heard(message):
                self._on_heard(message, now)
            case TimeOfDay():
                self._on_time_of_day(event, now)
            case _:
                self._on_order(event, now)
        self._tend(now)
        done = list(self._out)
        self._out.clear()
        return done

    def _on_order(self, event: Event, now: float) -> None:
        match event:
            case NotHeard(kind, name) if kind is GatewayReport:
                self.neighbours.lose(name)
            case HandoverOrder():
                self.handovers.begin(event, now)
            case AlternativesOrder(addresses):
                self.neighbours.plan(addresses)
                self._tell_alternatives()
            case Drain(on):
                self.draining.turn(on=on, now=now)
                self.announcing.on_changed(now)
            case Forget(gateway):
                self.settling.forget((gateway,))
                self.announcing.on_changed(now)

    def deadline(self) -> float:
        """When to be called again, at the latest."""
        waits = (
            self.uplink.deadline(),
            self.downlink.deadline(),
            self.handovers.deadline(),
            self.draining.deadline(),
            self.announcing.deadline(),
        )
        return min(one for one in waits if one is not None)

    def _tend(self, now: float) -> None:
        self.uplink.emit(now)
        self.downlink.tell(now)
        self.draining.go_on(now)
        self.handovers.go_on(now)
        self.announcing.tell(now)

    def wall(self, now: float) -> float:
        """The time of day."""
        return self._wall + (now - self._wall_at)

    # -- frames of clients -------------------------------------------------------------------------

    def _on_frame(self, session: Session, frame: FromNode, now: float) -> None:
        session.heard = now
        if isinstance(frame, frames.Hello):
            if session.stage is Stage.GREETING:
                self._on_hello(session, frame, now)
            else:
                self._end(session, "out of place", "a second Hello", now)
        elif isinstance(frame, frames.Bye):
            self._close(session, "the client says goodbye", now)
        elif isinstance(frame, frames.Ping):
            self._out.append(Send(session.link, frames.Pong()))
        elif session.stage in (Stage.GREETING, Stage.ARRIVING):
            kind = type(frame).__name__
            self._end(session, "out of place", f"{kind} before Welcome", now)
        else:
            wrong = self._on_attached_frame(session, frame, now)
            if wrong:
                self._end(session, "out of place", wrong, now)

    def _on_attached_frame(self, session: Session, frame: FromNode, now: float) -> str:
        """A frame of a client that was let in; return what is wrong with it."""
        match frame:
            case frames.Items():
                return self.uplink.take(session, frame, now)
            case frames.Settle():
                return self.settling.ask(session, frame, now)
            case frames.Received(mailbox, number):
                self.downlink.acknowledge(session, {mailbox: number}, now)
            case frames.Attributes(attributes):
                session.attributes = json.dumps(attributes)
                if session.stage is Stage.ATTACHED:
                    self.announcing.attach(session, self.wall(now))
            case frames.Position(place):
                session.place = place
                if session.stage is Stage.ATTACHED:
                    self.announcing.on_moved(session)
            case frames.Outcome():
                self.handovers.on_frame(session, frame)
        return ""

    # -- letting in --------------------------------------------------------------------------------

    def _on_hello(self, session: Session, hello: Hello, now: float) -> None:
        verdict = self._admission.check(hello, self.uplink.topics)
        if verdict.denied:
            self._end(session, "denied", verdict.denied, now, retry=False)
            return
        reason = self._why_not_here(hello)
        if reason:
            self._end(session, "not here", reason, now)
            return
        session.hello = hello
        session.token_id, session.expires = verdict.token_id, verdict.expires
        session.topics, session.receives = verdict.topics, verdict.receives
        session.attributes, session.place = json.dumps(hello.attributes), hello.position
        session.stage = Stage.ARRIVING
        former = self.sessions.enter(session)
        if former is not None:
            self._end(former, "replaced", f"connection {hello.connection} is newer", now)
        self._let_in(session, now)

    def _why_not_here(self, hello: Hello) -> str:
        """Why a client with a good token is not let in; in words, or nothing."""
        if self.name in self.settling.forgotten:
            return f"gateway {self.name} was given up by its operator"
        if self.draining.on:
            return f"gateway {self.name} is draining"
        known = self.sessions.newest(hello.node)
        here = self.sessions.of_node(hello.node)
        if hello.connection < known or (here and hello.connection == known):
            return f"connection {hello.connection} is not newer than {known}"
        if here is None and self.sessions.nodes >= self._settings.most_nodes:
            return f"gateway {self.name} has {self._settings.most_nodes} nodes and takes no more"
        return ""

    def _let_in(self, session: Session, now: float) -> None:
        """Let a client in, unless something of its former connections is on its way."""
        hello = session.hello
        assert hello is not None
        if self.uplink.has(session.node, session.run):
            return
        marks = self._marks(session.node, session.run)
        session.accepted = {topic: marks[topic] for topic in session.topics if topic in marks}
        session.welcomed = dict(session.accepted)
        session.stage = Stage.ATTACHED
        welcome = frames.Welcome(
            self.name,
            session.welcomed,
            self.neighbours.alternatives,
            session.topics,
            self._settings.in_flight_bytes,
            self._settings.keep_alive_s,
        )
        self._out.append(Send(session.link, welcome))
        self.announcing.attach(session, self.wall(now))
        self.announcing.on_moved(session)
        self.announcing.on_changed(now)
        self.downlink.acknowledge(session, hello.received, now)

    # -- ending ------------------------------------------------------------------------------------

    def _end(
        self, session: Session, kind: str, reason: str, now: float, *, retry: bool = True
    ) -> None:
        """End a client for a reason that is counted."""
        self.refused[kind] += 1
        self._close(session, reason, now, retry=retry)

    def _close(self, session: Session, reason: str, now: float, *, retry: bool = True) -> None:
        self._out.append(CloseLink(session.link, reason, retry))
        self._remove(session, now)

    def _remove(self, session: Session, now: float) -> None:
        self.room.forget(session)
        self.downlink.drop(session, now)
        if self.sessions.remove(session) and session.announced:
            self.announcing.detach(session, self.wall(now))
        self.announcing.on_changed(now)

    # -- the disk, the domain, the time ------------------------------------------------------------

    def _on_synced(self, topic: str, unit: int, now: float) -> None:
        for node, run in self.uplink.on_synced(topic, unit, now):
            self.settling.answer_ready(node, run)
            session = self.sessions.of_node(node)
            if session is not None and session.stage is Stage.ARRIVING:
                self._let_in(session, now)

    def _on_heard(self, message: Message, now: float) -> None:
        match message:
            case Mail():
                self._mailboxes.add(message.mailbox)
                self.downlink.pass_on(message, now, self.wall(now))
            case SettleRequest():
                fenced = self.settling.on_request(message)
                if fenced is not None:
                    self._end(fenced, "replaced", "the node goes on at another gateway", now)
            case SettleAnswer():
                self.settling.on_answer(message)
            case NodeOutcome():
                self.handovers.on_outcome(message)
            case Attachment():
                self._on_attachment(message, now)
            case GatewayReport():
                self._on_report(message, now)
            case MailboxReport():
                self._mailboxes.add(message.mailbox)

    def _on_report(self, report: GatewayReport, now: float) -> None:
        self.settling.forget(report.forgotten)
        if self.neighbours.hear(report):
            self.settling.on_gateway_heard(report.gateway, now)

    def _on_attachment(self, attachment: Attachment, now: float) -> None:
        """A node is at another gateway, by a newer connection: here it only finishes."""
        if attachment.gateway == self.name or not attachment.attached:
            return
        self.handovers.on_attached_elsewhere(attachment, now)
        session = self.sessions.attached(attachment.node)
        if session is not None and attachment.connection > session.connection:
            self.sessions.send_elsewhere(session, now + self._settings.leave_s)
            self.downlink.drop(session, now)
            self.announcing.detach(session, self.wall(now))
            self.announcing.on_changed(now)

    def _on_time_of_day(self, told: TimeOfDay, now: float) -> None:
        self._wall, self._wall_at = told.wall, now
        for session in self.sessions:
            if session.stage is Stage.GREETING:
                if now >= session.opened + self._settings.hello_s:
                    self._end(session, "silent", "no Hello", now)
            elif session.token_id in told.revoked:
                self._end(session, "revoked", "the token was revoked", now, retry=False)
            elif told.wall >= session.expires:
                self._end(session, "expired", "the token has expired", now, retry=False)
            elif session.stage is Stage.ELSEWHERE and now >= session.leaves_at:
                self._end(session, "left", "the node is at another gateway", now)
        self.settling.repeat(now)

    def _tell_alternatives(self) -> None:
        frame = frames.Alternatives(self.neighbours.alternatives)
        for session in self.sessions:
            if session.stage is Stage.ATTACHED:
                self._out.append(Send(session.link, frame))
