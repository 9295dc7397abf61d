"""A gateway at work: its core between links and domain.

One asyncio loop has the links and the :class:`~evenflow.mobile.gateway.core.GatewayCore`; whatever
waits has a thread: the disk one for each topic (`evenflow.edge.shell.unit_writer`), the domain two
(`domain_port`). They talk to the loop by ``call_soon_threadsafe``, and each hands over one thing at
a time.
"""

from __future__ import annotations

import asyncio
import logging
import os
import socket
import threading
from contextlib import suppress
from itertools import count
from typing import TYPE_CHECKING, Final

from evenflow.clock import SystemClock
from evenflow.edge.actions import Accept, Complain, GiveUp, Pause, Remember, Resume, Write
from evenflow.edge.shell.disk import DoorDisk
from evenflow.edge.twins import Life
from evenflow.errors import DomainError, StorageError
from evenflow.loops.watched import WatchedTasks
from evenflow.mobile.gateway.core import GatewayCore
from evenflow.mobile.gateway.events import (
    CloseLink,
    Drain,
    FrameCame,
    HandoverReceipt,
    LinkLost,
    LinkOpened,
    Ordered,
    Send,
    TimeOfDay,
    Timer,
    UnitSynced,
    Withdraw,
)
from evenflow.mobile.gateway.shell.domain_port import GatewayPort
from evenflow.mobile.gateway.shell.elastic_folders import ElasticFolders
from evenflow.mobile.gateway.shell.links import Link, act
from evenflow.mobile.gateway.shell.news import tell_handover, tell_lost
from evenflow.mobile.link import connection as link_errors
from evenflow.mobile.link.address import with_ports
from evenflow.mobile.link.listening import listen

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence
    from pathlib import Path

    from evenflow.clock import Clock
    from evenflow.config import Config
    from evenflow.domain.cyclone import Participant
    from evenflow.mobile.gateway.events import Action, Event
    from evenflow.mobile.gateway.settings import GatewaySettings
    from evenflow.mobile.gateway.shell.tokens import TokenAdmission
    from evenflow.mobile.link.connection import Connection, Counts, Credentials, Limits, Listener

TIME_OF_DAY_S: Final = 0.5
"""How often the core is told the time of day and what was revoked."""
PASS_ON_S: Final = 1.0
"""How often revocations are told others, and written down."""
TIDY_S: Final = 3_600.0
_log = logging.getLogger(__name__)


class Gateway:
    """A gateway; :meth:`start` it in a running loop.

    Args:
        name: Its name, for ever.
        folder: Where its marks and outboxes are.
        topics: Topics that nodes may publish to, the default one first.
        config: The configuration.
        settings: Bounds and times of the core.
        admission: Who may attach.
        participant: The process's place in the domain.
        clock: The time.
        retiring: Whether it begins as one that takes no nodes and shall end.
    """

    def __init__(
        self,
        name: str,
        folder: Path,
        topics: Sequence[str],
        *,
        config: Config,
        settings: GatewaySettings,
        admission: TokenAdmission,
        participant: Participant,
        clock: Clock | None = None,
        retiring: bool = False,
    ) -> None:
        self.name = name
        self.settings = settings
        self._retiring = retiring
        self._admission = admission
        self._participant = participant
        self._clock = clock or SystemClock()
        self._links: dict[int, Link] = {}
        self._numbers = count(1)
        self._listeners: list[Listener] = []
        self._timer: asyncio.TimerHandle | None = None
        self._tasks = WatchedTasks(self._fail)
        self._started = asyncio.Event()
        self._port: GatewayPort | None = None
        self._problem = ""
        self.on_ordered: Callable[[Ordered], object] = lambda _: None
        """Told what came of handover orders; in the loop's thread."""
        self._disk = DoorDisk(folder, topics, config, participant)
        self._folders = ElasticFolders(name, folder)
        self._folders.begin()

    # -- start -------------------------------------------------------------------------------------

    async def start(
        self,
        addresses: Sequence[str],
        credentials: Credentials,
        limits: Limits,
        advertised: Sequence[str] = (),
    ) -> None:
        """Listen, and serve from now on.

        Args:
            addresses: Where to listen, best first.
            credentials: What clients are shown.
            limits: Of each link.
            advertised: How nodes reach these addresses, if it is not the same.

        Raises:
            OSError: An address cannot be used.
        """
        self._loop = asyncio.get_running_loop()
        self._failed: asyncio.Future[None] = self._loop.create_future()
        for address in addresses:
            self._listeners.append(await listen(address, credentials, self._serve, limits))
        listening = tuple(one.address for one in self._listeners)
        self.addresses = with_ports(advertised, listening) or listening
        self.core = GatewayCore(
            self.name,
            self.addresses,
            self._disk.newest_units,
            self._disk.marks.of,
            self._admission,
            self.settings,
            forgotten=self._disk.marks.forgotten(),
            life=Life(self._clock.wall(), socket.gethostname(), os.getpid()),
            retiring=self._retiring,
        )
        self._disk.start(
            self._clock, lambda topic, unit: self._post(UnitSynced(topic, unit)), self._fail_soon
        )
        self._port = GatewayPort(self.name, self._participant, self._take, self._fail_soon)
        self._handle(TimeOfDay(self._clock.wall(), self._admission.revoked()))
        self._tasks.begin(self._tell_time(), "the gateway's time of day")
        self._tasks.begin(self._pass_on_revocations(), "passing on what was revoked")
        self._tasks.begin(self._tidy(), "tidying the gateway's marks")
        self._started.set()

    async def wait(self) -> None:
        """Wait until the gateway fails, and raise what it failed by."""
        await asyncio.shield(self._failed)

    def _fail_soon(self, failure: BaseException) -> None:
        """A thread has failed: nothing that was said before is broken, but it cannot go on."""
        with suppress(RuntimeError):  # the loop is closed
            self._loop.call_soon_threadsafe(self._fail, failure)

    def _fail(self, failure: BaseException) -> None:
        if not self._failed.done():
            self._failed.set_exception(failure)

    # -- events and actions ------------------------------------------------------------------------

    def order(self, event: Event) -> None:
        """Give the core an event of a plan or an operator; any thread may."""
        self._post(event)

    def _post(self, event: Event) -> None:
        with suppress(RuntimeError):  # the loop is closed
            self._loop.call_soon_threadsafe(self._handle, event)

    def _take(self, events: Iterable[Event]) -> threading.Event:
        """What the domain said, all of it before any more is read."""
        handled = threading.Event()

        def handle() -> None:
            for event in events:
                self._handle(event)
            handled.set()

        try:
            self._loop.call_soon_threadsafe(handle)
        except RuntimeError:  # the loop is closed
            handled.set()
        return handled

    def _handle(self, event: Event) -> None:
        if self._failed.done():
            return
        tell_lost(event, self.core.neighbours)
        try:
            for action in self.core.handle(event, self._clock.monotonic()):
                self._perform(action)
        except Exception as failure:  # noqa: BLE001 - a broken core must not go on
            _log.exception("the gateway fails at %s", type(event).__name__)
            self._fail(failure)
            return
        self._arm()

    def _arm(self) -> None:
        """Be called when the core wants to be, and not earlier than now."""
        due = self.core.deadline() + (self._loop.time() - self._clock.monotonic())
        if self._timer is not None:
            if self._timer.when() <= due:
                return
            self._timer.cancel()
        self._timer = self._loop.call_at(due, self._on_timer)

    def _on_timer(self) -> None:
        self._timer = None
        self._handle(Timer())

    def _perform(self, action: Action) -> None:
        match action:
            case Send() | Pause() | Resume() | CloseLink():
                link = self._links.get(action.link)
                if link is not None:
                    act(link, action)
            case Accept():
                self._disk.write(action)
            case Write() | Withdraw() if self._port is not None:
                self._port.tell(action)
            case HandoverReceipt():
                tell_handover(action)
            case Complain(what):
                _log.error(what)
            case GiveUp(why):
                self._fail(DomainError(f"gateway {self.name}", why))
            case Ordered():
                self.on_ordered(action)
            case Remember(forgotten):
                self._disk.marks.forget(forgotten)

    # -- links -------------------------------------------------------------------------------------

    async def _serve(self, connection: Connection) -> None:
        """One client, until its connection is over."""
        await self._started.wait()
        link = Link(next(self._numbers), connection)
        self._links[link.number] = link
        self._handle(LinkOpened(link.number, connection.transport, connection.peer))
        reason = ""
        try:
            while True:
                await link.may_be_read()
                frame = await connection.receive()
                self._handle(FrameCame(link.number, frame))  # type: ignore[arg-type]
        except link_errors.LinkLost as lost:
            reason = lost.reason
        finally:
            del self._links[link.number]
            self._handle(LinkLost(link.number, reason))
            await link.end()

    async def _tell_time(self) -> None:
        while True:
            revoked = await asyncio.to_thread(self._admission.revoked)
            self._handle(TimeOfDay(self._clock.wall(), revoked))
            for news in await self._folders.news():
                self._handle(news)
            await asyncio.sleep(TIME_OF_DAY_S)

    async def _pass_on_revocations(self) -> None:
        while True:
            await asyncio.to_thread(self._admission.pass_on)
            problem = self._admission.problem
            if problem and problem != self._problem:  # it is tried again and again, and said once
                _log.error("which tokens are revoked: %s", problem)
            self._problem = problem
            await asyncio.sleep(PASS_ON_S)

    async def _tidy(self) -> None:
        while True:
            with suppress(StorageError):  # a disk that fails is found by the next unit
                await asyncio.to_thread(self._disk.marks.tidy, self._clock.wall())
            await asyncio.sleep(TIDY_S)

    # -- what it shows -----------------------------------------------------------------------------

    @property
    def nodes(self) -> int:
        """Nodes that are attached."""
        return self.core.sessions.clients

    @property
    def items(self) -> int:
        """Items accepted since start."""
        return self.core.acceptance.uplink.items

    @property
    def counts(self) -> tuple[Counts, ...]:
        """What its listeners have counted."""
        return tuple(one.counts for one in self._listeners)

    @property
    def revocations_not_noted(self) -> int:
        """Revoked tokens that it cannot refuse, because too many are revoked."""
        return self._admission.not_noted

    @property
    def uncommitted(self) -> int:
        """Items in the outboxes that nobody has committed."""
        return self._disk.uncommitted

    # -- the end -----------------------------------------------------------------------------------

    async def drain(self, within_s: float) -> bool:
        """Send the nodes to the alternatives; return whether all have gone in time."""
        self._handle(Drain())
        end = self._loop.time() + within_s
        while self.nodes and self._loop.time() < end and not self._failed.done():
            if not self.core.neighbours.alternatives:
                return False
            await asyncio.sleep(0.05)
        return not self.nodes

    async def close(self, commit_s: float = 0.0) -> None:
        """End: what was accepted stays in the outboxes, unless it is committed in this time."""
        for listener in self._listeners:
            await listener.close(f"gateway {self.name} ends")
        await self._tasks.close()
        if self._timer is not None:
            self._timer.cancel()
        await asyncio.to_thread(self._close_threads, commit_s)

    def _close_threads(self, commit_s: float) -> None:
        if self._port is not None:
            self._port.close()
        self._disk.close(commit_s)
        if self._port is not None and self.core.is_empty and not self.uncommitted:
            self._folders.end()
