"""The door of a gateway: who is let in, and how a client is ended.

A client is let in when its token is good for its name and nothing of its former connections is on
its way to the disk any more: then ``Welcome`` settles what it sent over them. Until then it is
*arriving*, and may say nothing.
"""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING

from evenflow.mobile.gateway.events import CloseLink, Send
from evenflow.mobile.gateway.sessions import Stage
from evenflow.mobile.link.frames import Welcome

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from evenflow.mobile.gateway.admission import Admission
    from evenflow.mobile.gateway.announcing import Announcing
    from evenflow.mobile.gateway.downlink import Downlink
    from evenflow.mobile.gateway.draining import Draining
    from evenflow.mobile.gateway.events import Action
    from evenflow.mobile.gateway.neighbours import Neighbours
    from evenflow.mobile.gateway.room import Room
    from evenflow.mobile.gateway.sessions import Session, Sessions
    from evenflow.mobile.gateway.settings import GatewaySettings
    from evenflow.mobile.gateway.settling import Settling
    from evenflow.mobile.gateway.twins import Twins
    from evenflow.mobile.gateway.uplink import Uplink
    from evenflow.mobile.link.frames import Hello


@dataclass(frozen=True, slots=True)
class Parts:
    """What a client that comes or goes concerns."""

    sessions: Sessions
    room: Room
    uplink: Uplink
    settling: Settling
    downlink: Downlink
    draining: Draining
    neighbours: Neighbours
    twins: Twins
    announcing: Announcing


class Door:
    """Lets clients in and ends them.

    Args:
        name: This gateway.
        parts: Whom it concerns.
        admission: Who may attach.
        marks: How far a node's run is accepted in each topic, as it is on disk.
        settings: Bounds.
        wall: The time of day at a time.
        out: Where actions go.
    """

    def __init__(
        self,
        name: str,
        parts: Parts,
        admission: Admission,
        marks: Callable[[str, str], Mapping[str, int]],
        settings: GatewaySettings,
        wall: Callable[[float], float],
        out: list[Action],
    ) -> None:
        self._name = name
        self._parts = parts
        self._admission = admission
        self._marks = marks
        self._settings = settings
        self._wall = wall
        self._out = out
        self.refused: Counter[str] = Counter()
        """Clients that were ended, by the kind of reason."""

    # -- in ----------------------------------------------------------------------------------------

    def greet(self, session: Session, hello: Hello, now: float) -> None:
        """A client has said who it is."""
        parts = self._parts
        verdict = self._admission.check(hello, parts.uplink.topics)
        if verdict.denied:
            self.end(session, "denied", verdict.denied, now, retry=False)
            return
        reason = self._why_not_here(hello, now)
        if reason:
            self.end(session, "not here", reason, now)
            return
        session.hello = hello
        session.token_id, session.expires = verdict.token_id, verdict.expires
        session.topics, session.receives = verdict.topics, verdict.receives
        session.attributes, session.place = json.dumps(hello.attributes), hello.position
        session.stage = Stage.ARRIVING
        former = parts.sessions.enter(session)
        if former is not None:
            self.end(former, "replaced", f"connection {hello.connection} is newer", now)
        self.let_in(session, now)

    def _why_not_here(self, hello: Hello, now: float) -> str:
        """Why a client with a good token is not let in; in words, or nothing."""
        parts, name = self._parts, self._name
        if parts.twins.are_near(now):
            return f"two gateways are called {name}: one must have another name"
        if name in parts.settling.forgotten:
            return f"gateway {name} was given up by its operator"
        if parts.draining.on:
            return f"gateway {name} is draining"
        here = parts.sessions.of_node(hello.node)
        if here is None and parts.sessions.nodes >= self._settings.most_nodes:
            return f"gateway {name} has {self._settings.most_nodes} nodes and takes no more"
        return self._why_old(hello, here)

    def _why_old(self, hello: Hello, here: Session | None) -> str:
        """Why a connection counts no more; in words, or nothing."""
        known = self._parts.sessions.newest(hello.node, hello.run)
        if hello.connection < known:
            return f"connection {hello.connection} is not newer than {known}"
        if here is not None and hello.connection <= here.connection:
            return f"a newer connection of {hello.node} is here: there may be two of that name"
        return ""

    def let_in(self, session: Session, now: float) -> None:
        """Let a client in, unless something of its former connections is on its way.

        Of former runs neither: who comes again and again with a new one would have more memory
        each time.
        """
        parts, hello = self._parts, session.hello
        assert hello is not None
        if parts.uplink.has_any(session.node):
            return
        marks = self._marks(session.node, session.run)
        session.accepted = {topic: marks[topic] for topic in session.topics if topic in marks}
        session.welcomed = dict(session.accepted)
        session.stage = Stage.ATTACHED
        welcome = Welcome(
            self._name,
            session.welcomed,
            parts.neighbours.alternatives,
            session.topics,
            self._settings.in_flight_bytes,
            self._settings.keep_alive_s,
        )
        self._out.append(Send(session.link, welcome))
        parts.announcing.attach(session, self._wall(now))
        parts.announcing.on_moved(session)
        parts.announcing.on_changed(now)
        parts.downlink.acknowledge(session, hello.received, now)

    # -- out ---------------------------------------------------------------------------------------

    def end(
        self, session: Session, kind: str, reason: str, now: float, *, retry: bool = True
    ) -> None:
        """End a client for a reason that is counted."""
        self.refused[kind] += 1
        self.close(session, reason, now, retry=retry)

    def close(self, session: Session, reason: str, now: float, *, retry: bool = True) -> None:
        """End a client, and say why."""
        self._out.append(CloseLink(session.link, reason, retry))
        self.remove(session, now)

    def remove(self, session: Session, now: float) -> None:
        """A client is gone."""
        parts = self._parts
        parts.room.forget(session)
        parts.downlink.drop(session, now)
        if parts.sessions.remove(session) and session.announced:
            parts.announcing.detach(session, self._wall(now))
        parts.announcing.on_changed(now)
