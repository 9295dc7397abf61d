"""The rules of a gateway, without socket, clock, thread or file.

Events go in, actions come out (:mod:`evenflow.mobile.gateway.events`). Each idea has a module: who
is behind which link (:mod:`~.sessions`), who is let in and how a client is ended (:mod:`~.door`),
messages to nodes (:mod:`~.downlink`), handovers of plans (:mod:`~.handovers`), the other gateways
(:mod:`~.neighbours`, :mod:`~.alternatives`) and what everybody is told (:mod:`~.announcing`). How
items are accepted is the same at every door (:mod:`evenflow.edge.acceptance`). Here what comes is
handed to the part it concerns.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from evenflow.edge.acceptance import Acceptance
from evenflow.edge.sessions import CLOSED, Stage
from evenflow.mobile.gateway.alternatives import AlternativesNews
from evenflow.mobile.gateway.announcing import Announcing, Condition
from evenflow.mobile.gateway.door import Door, Parts
from evenflow.mobile.gateway.downlink import Downlink
from evenflow.mobile.gateway.draining import Draining
from evenflow.mobile.gateway.events import (
    AlternativesOrder,
    Drain,
    Forget,
    FrameCame,
    HandoverOrder,
    Heard,
    LinkLost,
    LinkOpened,
    NotHeard,
    Started,
    TimeOfDay,
    UnitSynced,
)
from evenflow.mobile.gateway.handovers import Handovers
from evenflow.mobile.gateway.neighbours import Neighbours, presence_of
from evenflow.mobile.gateway.sessions import NodeSession
from evenflow.mobile.gateway.telling import InFrames
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
    from collections.abc import Iterable, Mapping

    from evenflow.edge.settling import MarksOf
    from evenflow.edge.twins import Life
    from evenflow.mobile.gateway.admission import Admission
    from evenflow.mobile.gateway.events import Action, Event
    from evenflow.mobile.gateway.settings import GatewaySettings
    from evenflow.mobile.link.frames import FromNode
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
        life: The process: of two gateways of one name the one that was started later ends.
        retiring: Whether it begins as one that takes no nodes and shall end.
    """

    def __init__(
        self,
        name: str,
        addresses: tuple[str, ...],
        newest_units: Mapping[str, int],
        marks: MarksOf,
        admission: Admission,
        settings: GatewaySettings,
        *,
        forgotten: Iterable[str] = (),
        life: Life | None = None,
        retiring: bool = False,
    ) -> None:
        self.name = name
        self._settings = settings
        self._out: list[Action] = []
        self._wall = 0.0
        self._wall_at = 0.0
        self._mailboxes: set[str] = set()
        self.neighbours = Neighbours(name)
        self.acceptance: Acceptance[NodeSession] = Acceptance(
            "gateway",
            name,
            newest_units,
            marks,
            settings,
            InFrames(self._out),
            is_known=self.neighbours.is_known,
            forgotten=forgotten,
            life=life,
        )
        self.sessions = self.acceptance.sessions
        out, sessions = self._out, self.sessions
        self.downlink = Downlink(name, sessions, settings, self._mailboxes.__contains__, out)
        self.handovers = Handovers(name, sessions, self.neighbours.is_known, out)
        self.draining = Draining(sessions, self.handovers, self.neighbours, settings.drain_per_s)
        self.draining.turn(on=retiring, retire=retiring, now=0.0)
        self.alternatives = AlternativesNews(sessions, self.neighbours, out)
        own_life = self.acceptance.twins.life
        self.announcing = Announcing(
            name, addresses, sessions, settings, self._condition, own_life, out
        )
        parts = Parts(
            self.acceptance, self.downlink, self.draining, self.neighbours, self.announcing
        )
        self.door = Door(name, parts, admission, settings, self.wall, out)
        self._timed = (
            self.acceptance.uplink,
            self.downlink,
            self.handovers,
            self.draining,
            self.alternatives,
        )

    def _condition(self) -> Condition:
        neighbours = self.neighbours
        asked = filter(neighbours.may_answer, self.acceptance.settling.awaited)
        return Condition(
            self.draining.on,
            self.draining.retiring,
            tuple(sorted(self.acceptance.settling.forgotten)),
            tuple(sorted({*asked, *neighbours.lost})),
            tuple(sorted(neighbours.started | neighbours.ended)),
        )

    @property
    def held(self) -> int:
        """Bytes of items that are not safe, and of messages that are not acknowledged."""
        return self.acceptance.room.held + self.downlink.held

    @property
    def is_empty(self) -> bool:
        """Whether no node is here, and nothing of any is on its way to the disk."""
        return self.acceptance.is_empty

    # -- events ------------------------------------------------------------------------------------

    def handle(self, event: Event, now: float) -> list[Action]:
        """Take an event; return what to do, in order."""
        match event:
            case FrameCame(link, frame):
                session = self.sessions.by_link.get(link)
                if session is not None:
                    self._on_frame(session, frame, now)
            case LinkOpened(link, transport, peer):
                self.sessions.open(NodeSession(link, transport, peer, now, now))
            case LinkLost(link):
                session = self.sessions.by_link.get(link)
                if session is not None:
                    self.door.remove(session, now)
            case UnitSynced(topic, unit):
                for session in self.acceptance.on_synced(topic, unit):
                    self.door.welcome(session, now)
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
                self.alternatives.on_planned(now)
            case Drain(on, retire):
                self.draining.turn(on=on, retire=retire, now=now)
                self.announcing.on_changed(now)
            case Started(gateways, ended):
                self.neighbours.started, self.neighbours.ended = gateways, ended
                self.announcing.on_changed(now)
            case Forget(gateway):
                self.acceptance.settling.forget((gateway,))
                self.announcing.on_changed(now)

    def deadline(self) -> float:
        """When to be called again, at the latest."""
        due = self.announcing.deadline()
        for part in self._timed:
            wait = part.deadline()
            if wait is not None and wait < due:
                due = wait
        return due

    def _tend(self, now: float) -> None:
        self.acceptance.uplink.emit(now)
        self.downlink.tell(now)
        self.draining.go_on(now)
        self.handovers.go_on(now)
        self.alternatives.tell(now)
        self.announcing.tell(now)

    def wall(self, now: float) -> float:
        """The time of day."""
        return self._wall + (now - self._wall_at)

    # -- frames of clients -------------------------------------------------------------------------

    def _on_frame(self, session: NodeSession, frame: FromNode, now: float) -> None:
        session.heard = now
        if isinstance(frame, frames.Hello):
            if session.stage is Stage.GREETING:
                self.door.greet(session, frame, now)
            else:
                self.door.end(session, "out of place", "a second Hello", now)
        elif session.stage in CLOSED:
            kind = type(frame).__name__
            self.door.end(session, "out of place", f"{kind} before Welcome", now)
        else:
            wrong = self._on_attached_frame(session, frame, now)
            if wrong:
                self.door.end(session, "out of place", wrong, now)

    def _on_attached_frame(self, session: NodeSession, frame: FromNode, now: float) -> str:
        """A frame of a client that was let in; return what is wrong with it."""
        match frame:
            case frames.Items(topic, first, times, payloads, headers):
                return self.acceptance.uplink.take(
                    session, topic, first, times, payloads, now, headers=headers
                )
            case frames.Settle(other, topic):
                return self.acceptance.settling.ask(session, other, topic, now)
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

    # -- the domain, the time ----------------------------------------------------------------------

    def _on_heard(self, message: Message, now: float) -> None:
        match message:
            case Mail():
                self._mailboxes.add(message.mailbox)
                self.downlink.pass_on(message, now, self.wall(now))
            case SettleRequest():
                fenced = self.acceptance.on_request(message, now)
                if fenced is not None:
                    self.door.end(fenced, "replaced", "the node goes on at another gateway", now)
            case SettleAnswer():
                self.acceptance.settling.on_answer(message)
            case NodeOutcome():
                self.handovers.on_outcome(message)
            case Attachment():
                self._on_attachment(message, now)
            case GatewayReport():
                self._on_report(message, now)
            case MailboxReport():
                self._mailboxes.add(message.mailbox)

    def _on_report(self, report: GatewayReport, now: float) -> None:
        self.acceptance.settling.forget(report.forgotten)
        if report.gateway == self.name:
            self.acceptance.twins.hear(presence_of(report), now)
        if self.neighbours.hear(report):
            self.acceptance.settling.on_door_heard(report.gateway, now)

    def _on_attachment(self, attachment: Attachment, now: float) -> None:
        """A node is at another gateway, by a newer connection: here it only finishes."""
        if attachment.gateway == self.name or not attachment.attached:
            return
        self.handovers.on_attached_elsewhere(attachment, now)
        session = self.sessions.attached(attachment.node)
        if session is not None and attachment.connection > session.connection:
            self.sessions.send_elsewhere(session)
            session.leaves_at = now + self._settings.leave_s
            self.downlink.drop(session, now)
            self.announcing.detach(session, self.wall(now))
            self.announcing.on_changed(now)

    def _on_time_of_day(self, told: TimeOfDay, now: float) -> None:
        self._wall, self._wall_at = told.wall, now
        for session in self.sessions:
            if session.stage is Stage.GREETING:
                if now >= session.opened + self._settings.hello_s:
                    self.door.end(session, "silent", "no Hello", now)
            elif session.token_id in told.revoked:
                self.door.end(session, "revoked", "the token was revoked", now, retry=False)
            elif told.wall >= session.expires:
                self.door.end(session, "expired", "the token has expired", now, retry=False)
            elif session.stage is Stage.ELSEWHERE and now >= session.leaves_at:
                self.door.end(session, "left", "the node is at another gateway", now)
        self.announcing.withdraw_gone(told.wall)
        if self.acceptance.settling.repeat(now):
            self.announcing.on_changed(now)
