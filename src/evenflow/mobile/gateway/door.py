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
from evenflow.mobile.link.frames import Welcome

if TYPE_CHECKING:
    from collections.abc import Callable

    from evenflow.edge.acceptance import Acceptance
    from evenflow.mobile.gateway.admission import Admission
    from evenflow.mobile.gateway.announcing import Announcing
    from evenflow.mobile.gateway.downlink import Downlink
    from evenflow.mobile.gateway.draining import Draining
    from evenflow.mobile.gateway.events import Action
    from evenflow.mobile.gateway.neighbours import Neighbours
    from evenflow.mobile.gateway.sessions import NodeSession
    from evenflow.mobile.gateway.settings import GatewaySettings
    from evenflow.mobile.link.frames import Hello


@dataclass(frozen=True, slots=True)
class Parts:
    """What a client that comes or goes concerns."""

    acceptance: Acceptance[NodeSession]
    downlink: Downlink
    draining: Draining
    neighbours: Neighbours
    announcing: Announcing


class Door:
    """Lets clients in and ends them.

    Args:
        name: This gateway.
        parts: Whom it concerns.
        admission: Who may attach.
        settings: Bounds.
        wall: The time of day at a time.
        out: Where actions go.
    """

    def __init__(
        self,
        name: str,
        parts: Parts,
        admission: Admission,
        settings: GatewaySettings,
        wall: Callable[[float], float],
        out: list[Action],
    ) -> None:
        self._name = name
        self._parts = parts
        self._admission = admission
        self._settings = settings
        self._wall = wall
        self._out = out
        self.refused: Counter[str] = Counter()
        """Clients that were ended, by the kind of reason."""

    # -- in ----------------------------------------------------------------------------------------

    def greet(self, session: NodeSession, hello: Hello, now: float) -> None:
        """A client has said who it is."""
        parts = self._parts
        verdict = self._admission.check(hello, parts.acceptance.uplink.topics)
        if verdict.denied:
            self.end(session, "denied", verdict.denied, now, retry=False)
            return
        reason = self._why_not_here(hello, now)
        if reason:
            self.end(session, "not here", reason, now)
            return
        session.hello, session.receives = hello, verdict.receives
        session.token_id, session.expires = verdict.token_id, verdict.expires
        session.attributes, session.place = json.dumps(hello.attributes), hello.position
        former = parts.acceptance.attach(
            session, hello.node, hello.run, hello.connection, verdict.topics
        )
        if former is not None:
            session.announced = former.announced
            self.end(former, "replaced", f"connection {hello.connection} is newer", now)
        if parts.acceptance.let_in(session):
            self.welcome(session, now)

    def _why_not_here(self, hello: Hello, now: float) -> str:
        """Why a client with a good token is not let in; in words, or nothing."""
        parts, name, most = self._parts, self._name, self._settings.most_nodes
        closed = parts.acceptance.why_closed(now)
        if closed:
            return closed
        if parts.draining.on:
            return f"gateway {name} is draining"
        sessions = parts.acceptance.sessions
        if hello.node not in sessions.by_client and sessions.clients >= most:
            return f"gateway {name} has {most} nodes and takes no more"
        return sessions.why_old(hello.node, hello.run, hello.connection)

    def welcome(self, session: NodeSession, now: float) -> None:
        """A client is let in."""
        parts, hello = self._parts, session.hello
        assert hello is not None
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
        self, session: NodeSession, kind: str, reason: str, now: float, *, retry: bool = True
    ) -> None:
        """End a client for a reason that is counted."""
        self.refused[kind] += 1
        self.close(session, reason, now, retry=retry)

    def close(self, session: NodeSession, reason: str, now: float, *, retry: bool = True) -> None:
        """End a client, and say why."""
        self._out.append(CloseLink(session.link, reason, retry))
        self.remove(session, now)

    def remove(self, session: NodeSession, now: float) -> None:
        """A client is gone."""
        parts = self._parts
        parts.downlink.drop(session, now)
        if parts.acceptance.leave(session) and session.announced:
            parts.announcing.detach(session, self._wall(now))
        parts.announcing.on_changed(now)
