"""A simulated door: nothing but what every door does about items, and a disk that outlives it.

Its clients speak to it in datagrams. A unit goes to the disk in steps: its marks, then the unit,
then the door is told. The process may be killed between any two of them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from evenflow.edge import actions
from evenflow.edge.acceptance import Acceptance
from evenflow.edge.sessions import Session, Stage
from evenflow.model.messages import SettleAnswer, SettleRequest
from evenflow.testing.edge.datagrams import Accepted, Bye, Connect, Items, Safe, Settle, Settled
from evenflow.testing.edge.disk import SimDisk
from evenflow.testing.virtual_time import Process

if TYPE_CHECKING:
    from evenflow.edge.settings import EdgeSettings
    from evenflow.testing.edge.datagrams import FromClient
    from evenflow.testing.edge.world import EdgeWorld

TOPICS = ("items", "logs")
REPEAT_S = 0.25


class SimDoor(Process):
    """A door."""

    def __init__(self, world: EdgeWorld, name: str, settings: EdgeSettings) -> None:
        Process.__init__(self, name)
        self.world = world
        self.settings = settings
        self.disk = SimDisk(TOPICS)
        self.acceptance: Acceptance[Session] | None = None
        self._out: list[actions.EdgeAction] = []
        self._due = float("inf")
        self.refused = 0
        """Datagrams with items that came behind a gap."""

    def start(self) -> None:
        """Start it; what is on its disk goes on."""
        self.life += 1
        self.alive, self._due = True, float("inf")
        self.disk.recover()
        self._out = []
        self.acceptance = Acceptance(
            "door",
            self.name,
            self.disk.units,
            self.disk.of,
            self.settings,
            self._out,
            is_known=self.world.is_alive,
        )
        self._repeat()

    def kill(self) -> None:
        """``kill -9``."""
        self.alive = self.stopped = False
        self.acceptance = None

    def _repeat(self) -> None:
        assert self.acceptance is not None
        self.acceptance.settling.repeat(self.world.time.now)
        self._go_on()
        self.world.time.later(REPEAT_S, self._repeat, self)

    # -- what happens ------------------------------------------------------------------------------

    def on_datagram(self, datagram: FromClient) -> None:
        """A client says something."""
        assert self.acceptance is not None
        if isinstance(datagram, Connect):
            self._connect(datagram)
        else:
            session = self.acceptance.sessions.by_link.get(datagram.link)
            if session is not None and session.stage is Stage.ATTACHED:
                self._on_attached(session, datagram)
        self._go_on()

    def _connect(self, asked: Connect) -> None:
        assert self.acceptance is not None
        who = (asked.client, asked.run, asked.connection)
        here = self.acceptance.sessions.by_client.get(asked.client)
        if here is not None and (here.client, here.run, here.connection) == who:
            if here.stage is Stage.ATTACHED:
                self._welcome(here)
        elif not self.acceptance.sessions.why_old(*who):
            session = Session(self.world.new_link())
            former = self.acceptance.attach(session, *who, TOPICS)
            if former is not None:
                self.acceptance.leave(former)
            if self.acceptance.let_in(session):
                self._welcome(session)

    def _welcome(self, session: Session) -> None:
        welcome = Accepted(self.name, session.connection, session.link, dict(session.welcomed))
        self.world.to_client(session.client, welcome)

    def _on_attached(self, session: Session, datagram: Items | Settle | Bye) -> None:
        assert self.acceptance is not None
        now = self.world.time.now
        match datagram:
            case Items(_, topic, first, payloads, begin):
                if not session.paused:
                    times = (0,) * len(payloads)
                    wrong = self.acceptance.uplink.take(
                        session, topic, first, times, payloads, now, begin
                    )
                    self.refused += bool(wrong)
            case Settle(_, other, topic):
                self.acceptance.settling.ask(session, other, topic, now)
            case Bye():
                self.acceptance.leave(session)

    def on_message(self, message: SettleRequest | SettleAnswer) -> None:
        """Another door says something."""
        assert self.acceptance is not None
        if isinstance(message, SettleAnswer):
            self.acceptance.settling.on_answer(message)
        else:
            over = self.acceptance.on_request(message, self.world.time.now)
            if over is not None:
                self.acceptance.leave(over)
        self._go_on()

    # -- what comes of it --------------------------------------------------------------------------

    def _go_on(self) -> None:
        assert self.acceptance is not None
        uplink, time = self.acceptance.uplink, self.world.time
        uplink.emit(time.now)
        done = list(self._out)
        self._out.clear()
        for action in done:
            self._perform(action)
        due = uplink.deadline()
        if due is not None and due < self._due:
            self._due = due
            time.at(max(due, time.now + 0.001), self._on_time, self)

    def _on_time(self) -> None:
        self._due = float("inf")
        self._go_on()

    def _perform(self, action: actions.EdgeAction) -> None:
        match action:
            case actions.Accept():
                self._write(action)
            case actions.TellSafe(link, topic, number):
                self._tell(link, Safe(link, topic, number))
            case actions.TellSettled(link, door, topic, number):
                self._tell(link, Settled(link, door, topic, number))
            case actions.Write(SettleRequest() | SettleAnswer() as message, to):
                self.world.to_door(self.name, to, message)

    def _tell(self, link: int, datagram: Any) -> None:
        assert self.acceptance is not None
        session = self.acceptance.sessions.by_link.get(link)
        if session is not None:
            self.world.to_client(session.client, datagram)

    # -- the disk ----------------------------------------------------------------------------------

    def _write(self, unit: actions.Accept) -> None:
        time, slow = self.world.time, self.world.slow_disk()

        def marks_written() -> None:
            self.disk.write_marks(unit)
            time.later(slow, unit_written, self)

        def unit_written() -> None:
            self.disk.units[unit.topic] = unit.unit
            self.world.on_accepted(self.name, unit)
            time.later(slow, lambda: self._on_synced(unit), self)

        time.later(slow, marks_written, self)

    def _on_synced(self, unit: actions.Accept) -> None:
        assert self.acceptance is not None
        for session in self.acceptance.on_synced(unit.topic, unit.unit):
            self._welcome(session)
        self._go_on()
