"""A simulated gateway: its core, and a disk that outlives it.

A unit goes to the disk in steps: its marks, then the unit, then the core is told. The process may
be killed between any two of them.
"""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING, Any

from evenflow.edge import actions
from evenflow.mobile.gateway import events
from evenflow.mobile.gateway.admission import Verdict
from evenflow.mobile.gateway.core import GatewayCore
from evenflow.testing.edge.disk import SimDisk
from evenflow.testing.virtual_time import Process

if TYPE_CHECKING:
    from collections.abc import Iterable

    from evenflow.mobile.gateway.settings import GatewaySettings
    from evenflow.mobile.link.frames import Hello
    from evenflow.testing.mobile.cluster import MobileCluster

TOPICS = ("items", "logs")
TIME_OF_DAY_S = 0.5


class Everybody:
    """Lets everybody in."""

    def check(self, hello: Hello, topics: Iterable[str]) -> Verdict:
        """Who says so may attach."""
        del hello
        return Verdict(topics=tuple(topics))


class SimGateway(Process):
    """A gateway."""

    def __init__(self, world: MobileCluster, name: str, settings: GatewaySettings) -> None:
        Process.__init__(self, name)
        self.world = world
        self.settings = settings
        self.disk = SimDisk(TOPICS)
        self.core: GatewayCore | None = None
        self.address = f"quic://{name}:1"
        self._paused: dict[int, deque[Any]] = {}
        """Links that are not read, with what waits in them."""
        self._links: set[int] = set()
        self._due = float("inf")
        self.receipts: list[events.HandoverReceipt] = []
        self.lost_units = 0
        """Units that were gone with the process before they were on disk."""

    def start(self) -> None:
        """Start it; what is on its disk goes on."""
        self.life += 1
        self.alive, self._due = True, float("inf")
        self._paused, self._links = {}, set()
        self.disk.recover()
        self.core = GatewayCore(
            self.name,
            (self.address,),
            self.disk.units,
            self.disk.of,
            Everybody(),
            self.settings,
            forgotten=self.disk.forgotten,
        )
        self._time_of_day()

    def kill(self) -> None:
        """``kill -9``."""
        self.alive = self.stopped = False
        self.core = None
        for link in self._links:
            self.world.cut_link(link)

    def _time_of_day(self) -> None:
        self.tell(events.TimeOfDay(self.world.wall, frozenset()))
        self.world.time.later(TIME_OF_DAY_S, self._time_of_day, self)

    # -- events and actions ------------------------------------------------------------------------

    def tell(self, event: events.Event) -> None:
        """Something happens to it."""
        if self.core is None:
            return
        for action in self.core.handle(event, self.world.now):
            self._perform(action)
        due = self.core.deadline()
        if due < self._due:
            self._due = due
            self.world.time.at(max(due, self.world.now + 0.001), self._on_time, self)

    def _on_time(self) -> None:
        self._due = float("inf")
        self.tell(events.Timer())

    def _perform(self, action: events.Action) -> None:
        match action:
            case events.Send(link, frame):
                self.world.send_down(link, frame)
            case events.CloseLink(link, reason, retry):
                self._links.discard(link)
                self.world.hang_up(link, reason, retry=retry)
            case actions.Pause(link):
                self._paused.setdefault(link, deque())
            case actions.Resume(link):
                self._read_again(link)
            case actions.Accept():
                self._write(action)
            case actions.Write(message, to):
                self.world.write(self, message, to)
            case events.Withdraw(attachment):
                self.world.domain.withdraw(self, attachment)
            case actions.Remember(forgotten):
                self.disk.forgotten = forgotten
            case events.HandoverReceipt():
                self.receipts.append(action)

    # -- links -------------------------------------------------------------------------------------

    def on_link(self, link: int) -> None:
        """A client has connected."""
        self._links.add(link)
        self.tell(events.LinkOpened(link, "quic", "somewhere"))

    def on_frame(self, link: int, frame: Any) -> None:
        """A frame is there to be read."""
        waiting = self._paused.get(link)
        if waiting is not None:
            waiting.append(frame)
        else:
            self.tell(events.FrameCame(link, frame))

    def on_lost(self, link: int) -> None:
        """A link is over."""
        self._links.discard(link)
        self._paused.pop(link, None)
        self.tell(events.LinkLost(link, "lost"))

    def _read_again(self, link: int) -> None:
        waiting = self._paused.pop(link, deque())

        def read() -> None:
            while waiting:
                self.on_frame(link, waiting.popleft())

        self.world.time.later(0.0, read, self)

    # -- the disk ----------------------------------------------------------------------------------

    def _write(self, unit: actions.Accept) -> None:
        self.lost_units += 1
        time, slow = self.world.time, self.world.slow_disk()

        def unit_written() -> None:
            self.lost_units -= 1
            self.disk.units[unit.topic] = unit.unit
            self.world.on_accepted(self, unit)
            time.later(slow, lambda: self.tell(events.UnitSynced(unit.topic, unit.unit)), self)

        def marks_written() -> None:
            self.disk.write_marks(unit)
            time.later(slow, unit_written, self)

        time.later(slow, marks_written, self)
