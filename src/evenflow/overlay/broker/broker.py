"""The broker process: TCP connections, a disk and a clock around `BrokerCore`.

One task is the pump. It takes the events that have gathered, up to a bound (`gathered`), lets the
core handle them, commits the store once in a thread of its own, and then performs the actions. So
nothing is sent before it is true on disk, and the more is going on, the more writes share a commit.

Links are made to whom the core names. Of two neighbours the one with the smaller name dials; the
other waits a while and then dials too, for the first may not know of it yet. A broker that starts
dials its contacts until one of them has told it who else is there: they may be down for now.
"""

from __future__ import annotations

import asyncio
import contextlib
import secrets
import time
from itertools import count
from typing import TYPE_CHECKING

from evenflow.errors import OverlayError
from evenflow.errors.listening import why_not_listening
from evenflow.loops.watched import WatchedTasks
from evenflow.overlay.broker.core import BrokerCore
from evenflow.overlay.broker.departures import Departures
from evenflow.overlay.broker.disk import SqliteStore
from evenflow.overlay.broker.gathered import GatheredEvents
from evenflow.overlay.broker.move_history import MoveHistory
from evenflow.overlay.broker.namesakes import refuse_second
from evenflow.overlay.protocol.connection import Connection, parse_address
from evenflow.overlay.protocol.events import (
    Action,
    Arrived,
    Asked,
    Connect,
    Disconnect,
    Event,
    Linked,
    LogMove,
    Probe,
    Reply,
    Tick,
    Transmit,
    Unlinked,
)
from evenflow.overlay.protocol.messages import Envelope, Hello, Member
from evenflow.overlay.protocol.settings import Settings

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path
    from typing import Any

    from evenflow.autonomic.knowledge.history import History
    from evenflow.overlay.protocol.messages import BrokerStatus
    from evenflow.overlay.space.coordinate import Coordinate

TICK_S = 0.1
DIAL_S = 0.25
STATUS_S = 1.0
"""Time between two looks at the status; with many topics longer, so that they take one part in
`STATUS_SHARE` of the time."""
STATUS_SHARE = 100
MOST_PROBES = 8
"""Probes under way; a host that is gone lets each wait for `Settings.silence_s`."""


class Broker:
    """A running broker. Use `start` and `close`, or ``async with``.

    Args:
        name: Its name; a broker that returns uses the same.
        coordinate: Its place, inside the unit square.
        listen: ``host:port``; port 0 takes any.
        data: Folder of its storage.
        contacts: Addresses of brokers to join; none for the first.
        settings: How it behaves.
        history: Where its moves of topics are written down.
    """

    def __init__(
        self,
        name: str,
        coordinate: Coordinate,
        *,
        listen: str,
        data: Path,
        contacts: Sequence[str] = (),
        settings: Settings | None = None,
        history: History | None = None,
    ) -> None:
        if not (0 < coordinate.x < 1 and 0 < coordinate.y < 1):
            raise OverlayError(f"a broker lies inside the unit square, not at {tuple(coordinate)}")
        self.name = name
        self.address = listen
        self._coordinate = coordinate
        self._data = data
        self._contacts = list(contacts)
        self._settings = settings or Settings()
        self._events = GatheredEvents()
        self._wake = asyncio.Event()
        self._links: dict[str, Connection] = {}
        self._clients: dict[int, Connection] = {}
        self._connections: set[Connection] = set()
        self._numbers = count(1)
        self._wanted: dict[str, asyncio.Task[None]] = {}
        self._tasks = WatchedTasks(self._fail)
        self._probes: set[asyncio.Task[None]] = set()
        self._paused = False
        self._move_history = MoveHistory(name, history) if history is not None else None
        self._departures = Departures()
        self.status: BrokerStatus | None = None
        """Its status within the last second, or few; may be read from any thread."""

    async def start(self) -> None:
        """Open the storage, listen, and join the others.

        Raises:
            OverlayError: A broker of this name is running already, or nobody can listen there.
            StorageError: The storage cannot be used.
        """
        await refuse_second(self.name, self.address, self._contacts)
        self._store = SqliteStore(self._data / f"{self.name}.sqlite")
        try:
            await self._begin()
        except BaseException:
            self._store.abandon()
            raise
        self._failed: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._tasks.begin(self._pump(), "the broker's work")
        self._tasks.begin(self._tick(), "the broker's clock")
        for contact in self._contacts:
            self._tasks.begin(self._join(contact), f"joining {contact}")
        if self._move_history is not None:
            self._tasks.begin(self._move_history.run(), "the history of moves")

    async def _begin(self) -> None:
        """Listen, and take up what is on the disk."""
        loop = asyncio.get_running_loop()
        host, port = parse_address(self.address)
        try:
            self._server = await loop.create_server(self._new_connection, host, port)
        except OSError as error:
            reason = f"{why_not_listening(error)}, or choose another address (--listen)"
            raise OverlayError(f"cannot listen at {self.address}: {reason}") from None
        self.address = f"{host}:{self._server.sockets[0].getsockname()[1]}"
        me = Member(
            self.name, self._coordinate, self.address, time.time_ns() // 1_000_000,
            disk=secrets.randbits(60),
        )  # fmt: skip
        try:
            self.core = BrokerCore(
                me, self._store, self._settings, time.monotonic(), time.time_ns(),
                first=not self._contacts,
            )  # fmt: skip
            self._store.commit()
        except BaseException:
            self._server.close()
            raise
        # Never one of an earlier life of ours: subscriptions that others keep may name it.
        self._numbers = count(1 + (self.core.members.me.incarnation % (1 << 41) << 20))

    async def close(self) -> None:
        """Say goodbye and stop; what was acknowledged is on disk already."""
        await self._tasks.close()
        for farewell in self.core.neighbours.goodbye():
            self._perform(farewell)
        if self._move_history is not None:
            self._move_history.close()
        self._server.close()
        for connection in list(self._connections):
            connection.close()
        self._store.close()

    async def wait(self) -> None:
        """Wait until the broker fails, and raise what it failed by; mostly a `StorageError`."""
        await asyncio.shield(self._failed)

    def _fail(self, failure: BaseException) -> None:
        if not self._failed.done():
            self._failed.set_exception(failure)

    async def __aenter__(self) -> Broker:
        await self.start()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    # -- the pump -------------------------------------------------------------------------------

    async def _pump(self) -> None:
        while True:
            await self._wake.wait()
            self._wake.clear()
            actions: list[Action] = []
            for event, now in self._events.take(time.monotonic):
                actions += self.core.handle(event, now, time.time_ns())
            if self._store.dirty:
                await asyncio.to_thread(self._store.commit)
            for action in actions:
                self._perform(action)
            if self._paused and self._events.eased:
                self._pause(paused=False)
            if self._events:
                self._wake.set()
                await asyncio.sleep(0)  # connections are read meanwhile

    async def _tick(self) -> None:
        next_status = 0.0
        while True:
            self._report(Tick())
            if time.monotonic() >= next_status:
                began = time.process_time()
                self.status = self.core.status()
                took = time.process_time() - began
                next_status = time.monotonic() + max(STATUS_S, STATUS_SHARE * took)
            self._departures.look(self.core.members)
            await asyncio.sleep(TICK_S)

    def _report(self, event: Event) -> None:
        self._events.add(event)
        self._wake.set()
        if self._events.crowded and not self._paused:
            self._pause(paused=True)

    def _pause(self, *, paused: bool) -> None:
        """Stop reading from all connections, or go on."""
        self._paused = paused
        for connection in self._connections:
            connection.pause(paused=paused)

    def _perform(self, action: Action) -> None:
        match action:
            case Transmit(link, message):
                if link in self._links:
                    self._links[link].send(message)
            case Reply(client, envelope):
                if client in self._clients:
                    self._clients[client].send(envelope)
            case Connect(member):
                self._connect(member)
            case Probe(member) if len(self._probes) < MOST_PROBES:
                dialling = self._dial(member.address)
                self._probes.add(probe := self._tasks.begin(dialling, f"probing {member.name}"))
                probe.add_done_callback(self._probes.discard)
            case LogMove() if self._move_history is not None:
                self._move_history.add(action)
            case Disconnect(name):
                self._disconnect(name)

    def _disconnect(self, name: str) -> None:
        if name in self._wanted:
            self._wanted.pop(name).cancel()
        if name in self._links:
            self._links[name].close()

    # -- connections ----------------------------------------------------------------------------

    def _new_connection(self) -> Connection:
        return Connection(self._on_message, self._on_lost, self._connections.add)

    def _connect(self, member: Member) -> None:
        if member.name in self._wanted:
            self._wanted.pop(member.name).cancel()
        self._wanted[member.name] = self._tasks.begin(
            self._keep_linked(member), f"the link to {member.name}"
        )

    async def _keep_linked(self, member: Member) -> None:
        """Keep a link to a neighbour."""
        while True:
            if member.name < self.name and member.name not in self._links:
                await asyncio.sleep(4 * DIAL_S)
            if member.name not in self._links:
                await self._dial(member.address)
            await asyncio.sleep(DIAL_S)

    async def _join(self, contact: str) -> None:
        """Dial a contact until we know of others; from then on the core says whom to reach."""
        while not self.core.joined:
            await self._dial(contact)
            await asyncio.sleep(4 * DIAL_S)

    async def _dial(self, address: str) -> None:
        loop = asyncio.get_running_loop()
        with contextlib.suppress(OSError, ValueError):
            host, port = parse_address(address)
            # Where a path swallows what is sent, the system would try for two minutes, less and
            # less often: also when the path has long been mended.
            async with asyncio.timeout(max(DIAL_S, self._settings.silence_s)):
                _, connection = await loop.create_connection(self._new_connection, host, port)
            self._greet(connection)

    def _greet(self, connection: Connection) -> None:
        if not connection.greeted:
            connection.greeted = True
            connection.send(Hello((self.core.members.me,)))

    def _on_message(self, connection: Connection, message: Any) -> None:
        if connection.peer:
            self._report(Arrived(connection.peer, message))
        elif connection.client:
            if isinstance(message, Envelope):
                self._report(Asked(connection.client, message))
        elif isinstance(message, Hello) and message.member:
            self._link(connection, message.member[0])
        elif isinstance(message, Hello):
            connection.client = next(self._numbers)
            self._clients[connection.client] = connection
            connection.send(self.core.welcome())
        else:
            connection.close()

    def _link(self, connection: Connection, member: Member) -> None:
        if member.name == self.name:
            connection.close()
            return
        before = self._links.get(member.name)
        connection.peer = member.name
        self._links[member.name] = connection
        self._greet(connection)
        self._report(Linked(member))
        if before is not None:
            before.close()

    def _on_lost(self, connection: Connection) -> None:
        self._connections.discard(connection)
        self.core.counters.damaged += connection.damaged
        if connection.client:
            self._clients.pop(connection.client, None)
        elif connection.peer and self._links.get(connection.peer) is connection:
            del self._links[connection.peer]
            self._report(Unlinked(connection.peer))
