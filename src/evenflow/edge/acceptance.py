"""A door accepts items: each by one door, once, whatever dies (rules 1 to 4 of docs/mobile.md).

This is the whole of it for a door: who its clients are (:mod:`~evenflow.edge.sessions`), their
items on the way into units (:mod:`~evenflow.edge.uplink`), memory for them
(:mod:`~evenflow.edge.room`), questions to other doors and their answers
(:mod:`~evenflow.edge.settling`), and doors of one name (:mod:`~evenflow.edge.twins`). What concerns
one of them a door tells it; what concerns several it tells here. The actions that come of it are in
``out``, to be performed in that order (:mod:`~evenflow.edge.actions`).

====================================  ==============================================================
what happens                          what to call
====================================  ==============================================================
a client says who it is               ``why_closed``, ``sessions.why_old``: if both say nothing
                                      ``attach``, end the session it returns, then ``let_in``
items came                            ``uplink.take``
a client asks about another door      ``settling.ask``
a client has left, or is ended        ``leave``
a unit is synced                      ``on_synced``, and welcome those it returns
another door asks                     ``on_request``, and end the session it returns
another door answers                  ``settling.on_answer``
another door is heard (again)         ``settling.on_door_heard``
one of the own name is heard          ``twins.hear``
doors are given up                    ``settling.forget``
a few times a second                  ``settling.repeat``
after each of these                   ``uplink.emit``, and again at ``uplink.deadline``
====================================  ==============================================================

Welcoming a client tells it ``session.welcomed``: how far this door has accepted its items, which
settles all that it sent here before. Until then nothing of it is taken.

Which of two runs of a client counts is for the door to say, before it attaches the new one.

**What a link must be.** It ends with the process at either end: nothing that was sent over a link
to a process that died is taken by the next one, for that has lost its fences. A stream over TLS or
QUIC is like that. Datagrams are when each carries a value that the door made up anew when it let
the client in. What comes over a link that is over (not in ``sessions.by_link``) is dropped. A link
that is paused is not read; where it cannot be held what comes is dropped, and the client sends it
again. On a link that does not keep order ``uplink.take`` needs ``begin``, and what comes behind a
gap is refused.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Generic

from evenflow.edge.room import Room
from evenflow.edge.sessions import S, Sessions, Stage
from evenflow.edge.settling import Settling
from evenflow.edge.twins import Life, Twins
from evenflow.edge.uplink import Uplink

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from evenflow.edge.actions import Out
    from evenflow.edge.settings import EdgeSettings
    from evenflow.edge.settling import MarksOf
    from evenflow.model.messages import SettleRequest


class Acceptance(Generic[S]):
    """What a door does about the items of its clients.

    Args:
        kind: What the door is, for people: ``gateway`` or ``bridge``.
        name: Its name, for ever: clients and other doors settle with it by that.
        newest_units: Topics that clients may publish to, the default one first, with the newest
            unit that is in the outbox.
        marks: How far a client's run is accepted in each topic, as it is on disk.
        settings: Bounds and times.
        out: Where actions go.
        is_known: Whether another door is there.
        forgotten: Doors that were given up.
        life: The process: of two doors of one name the one that was started later ends.
    """

    def __init__(
        self,
        kind: str,
        name: str,
        newest_units: Mapping[str, int],
        marks: MarksOf,
        settings: EdgeSettings,
        out: Out,
        *,
        is_known: Callable[[str], bool],
        forgotten: Iterable[str] = (),
        life: Life | None = None,
    ) -> None:
        self._kind = kind
        self._name = name
        self._marks = marks
        self.sessions: Sessions[S] = Sessions()
        by_link, by_client = self.sessions.by_link, self.sessions.by_client
        self.room = Room(by_link, settings.in_flight_bytes, settings.buffer_bytes, out)
        self.uplink = Uplink(newest_units, by_client, self.room, settings, out)
        self.settling = Settling(
            name,
            self.sessions,
            self.uplink,
            marks,
            is_known,
            forgotten=forgotten,
            ask_s=settings.settle_s,
            out=out,
        )
        self.twins = Twins(life or Life(), out)

    @property
    def is_empty(self) -> bool:
        """Whether no client is here, and nothing of any is on its way to the disk."""
        return self.sessions.is_empty and self.uplink.is_idle and self.settling.is_idle

    # -- in and out --------------------------------------------------------------------------------

    def why_closed(self, now: float) -> str:
        """Why nobody is let in; in words, or nothing."""
        if self.twins.are_near(now):
            return f"two {self._kind}s are called {self._name}: one must have another name"
        if self._name in self.settling.forgotten:
            return f"{self._kind} {self._name} was given up by its operator"
        return ""

    def attach(
        self,
        session: S,
        client: str,
        run: str,
        connection: int,
        topics: tuple[str, ...],
        sender: str = "",
    ) -> S | None:
        """A client has said who it is; return its former session, which is over by that.

        Args:
            session: The link.
            client: What the client is known by, at every door.
            run: One life of its memory.
            connection: The number that it gave this connection; larger ones of the run count.
            topics: Those it may publish to.
            sender: What its items say they are from, if it is not ``client``.
        """
        session.client, session.run, session.connection = client, run, connection
        session.topics, session.sender = topics, sender or client
        return self.sessions.enter(session)

    def let_in(self, session: S) -> bool:
        """Let a client in, unless something of its former connections is on its way.

        Of former runs neither: who comes again and again with a new one would have more memory
        each time.
        """
        if self.uplink.has_any(session.client):
            return False
        marks = self._marks(session.client, session.run)
        session.accepted = {topic: marks[topic] for topic in session.topics if topic in marks}
        session.welcomed = dict(session.accepted)
        session.stage = Stage.ATTACHED
        return True

    def leave(self, session: S) -> bool:
        """A session is over; return whether it counted for its client."""
        self.room.forget(session)
        return self.sessions.remove(session)

    # -- the disk and the other doors --------------------------------------------------------------

    def on_synced(self, topic: str, unit: int) -> list[S]:
        """A unit is safe; return those who are let in by that."""
        let_in = []
        for client, run in self.uplink.on_synced(topic, unit):
            self.settling.answer_ready(client, run)
            session = self.sessions.by_client.get(client)
            if session is not None and session.stage is Stage.ARRIVING and self.let_in(session):
                let_in.append(session)
        return let_in

    def on_request(self, request: SettleRequest, now: float) -> S | None:
        """Another door asks how far a client is; return the session that is over by it."""
        if self.twins.are_near(now):
            return None  # it may be about the other one's disk; it is repeated
        return self.settling.on_request(request)
