"""What every door does about items, with a disk that syncs when told."""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING, Any, TypeVar

from evenflow.edge.acceptance import Acceptance
from evenflow.edge.actions import Accept, Write
from evenflow.edge.sessions import Session
from evenflow.edge.settings import EdgeSettings
from evenflow.model.messages import SettleRequest

if TYPE_CHECKING:
    from evenflow.edge.actions import EdgeAction
    from evenflow.edge.twins import Life
    from evenflow.model.messages import SettleAnswer

RUN = "0123456789abcdef"
OTHER_RUN = "fedcba9876543210"
TOPICS = ("items", "logs")

A = TypeVar("A")


class Harness:
    """One door."""

    def __init__(self, name: str = "d1", *, life: Life | None = None, **settings: Any) -> None:
        self.now = 100.0
        self.marks: dict[tuple[str, str], dict[str, int]] = defaultdict(dict)
        self.accepted: dict[tuple[str, str, str], list[bytes]] = defaultdict(list)
        self.units: list[Accept] = []
        """Units that are on their way to the disk."""
        self.known: set[str] = set()
        """The other doors that are there."""
        self.log: list[EdgeAction] = []
        self._out: list[EdgeAction] = []
        self.acceptance: Acceptance[Session] = Acceptance(
            "door",
            name,
            dict.fromkeys(TOPICS, -1),
            lambda client, run: dict(self.marks[client, run]),
            EdgeSettings(**settings),
            self._out,
            is_known=self.known.__contains__,
            life=life,
        )
        self.let_in: list[Session] = []
        """Clients in the order in which they were let in."""
        self.wrong = ""
        """What was wrong with the last items or question."""
        self._links = 0

    def done(self) -> list[EdgeAction]:
        """What came of the last thing that happened."""
        self.acceptance.uplink.emit(self.now)
        actions = list(self._out)
        self._out.clear()
        self.log += actions
        self.units += found(actions, Accept)
        return actions

    # -- time and disk -----------------------------------------------------------------------------

    def wait(self, seconds: float = 0.02) -> list[EdgeAction]:
        self.now += seconds
        self.acceptance.settling.repeat(self.now)
        return self.done()

    def sync(self) -> list[EdgeAction]:
        """The disk does its work, until nothing waits for it."""
        actions = []
        while self.units:
            unit = self.units.pop(0)
            self.write(unit)
            actions += self.synced(unit)
        return actions

    def write(self, unit: Accept) -> None:
        for client, mark in unit.marks.items():
            self.marks[client][unit.topic] = mark.number
        for chunk in unit.chunks:
            self.accepted[chunk.client, chunk.run, unit.topic] += chunk.payloads

    def synced(self, unit: Accept) -> list[EdgeAction]:
        self.let_in += self.acceptance.on_synced(unit.topic, unit.unit)
        return self.done()

    def settle(self) -> list[EdgeAction]:
        """Time passes and the disk works, until nothing is on its way."""
        actions = []
        while not self.acceptance.uplink.is_idle:
            actions += self.wait()
            actions += self.sync()
        return actions

    # -- clients -----------------------------------------------------------------------------------

    def attach(self, client: str = "car-1", connection: int = 1, run: str = RUN) -> Session:
        assert not self.acceptance.why_closed(self.now)
        assert not self.acceptance.sessions.why_old(client, run, connection)
        self._links += 1
        session = Session(self._links)
        former = self.acceptance.attach(session, client, run, connection, TOPICS)
        if former is not None:
            self.acceptance.leave(former)
        if self.acceptance.let_in(session):
            self.let_in.append(session)
        return session

    def leave(self, session: Session) -> None:
        self.acceptance.leave(session)

    def publish(
        self,
        session: Session,
        first: int,
        *payloads: bytes,
        topic: str = "items",
        begin: int | None = None,
    ) -> list[EdgeAction]:
        times = tuple(range(len(payloads)))
        uplink = self.acceptance.uplink
        self.wrong = uplink.take(session, topic, first, times, payloads, self.now, begin)
        return self.done()

    def ask(self, session: Session, other: str, topic: str = "items") -> list[EdgeAction]:
        self.wrong = self.acceptance.settling.ask(session, other, topic, self.now)
        return self.done()

    # -- other doors -------------------------------------------------------------------------------

    def hear(self, message: SettleRequest | SettleAnswer) -> list[EdgeAction]:
        if isinstance(message, SettleRequest):
            over = self.acceptance.on_request(message, self.now)
            if over is not None:
                self.acceptance.leave(over)
        else:
            self.acceptance.settling.on_answer(message)
        return self.done()

    def meet(self, other: str) -> list[EdgeAction]:
        """Another door is heard."""
        self.known.add(other)
        self.acceptance.settling.on_door_heard(other, self.now)
        return self.done()

    def is_here(self, session: Session) -> bool:
        return session.link in self.acceptance.sessions.by_link


def found(actions: list[EdgeAction], kind: type[A]) -> list[A]:
    """The actions of a kind."""
    return [one for one in actions if isinstance(one, kind)]


def written(actions: list[EdgeAction], kind: type[A]) -> list[A]:
    """Messages to other doors."""
    return [one.message for one in found(actions, Write) if isinstance(one.message, kind)]
