"""The broker process: TCP connections, a disk and a clock around `BrokerCore`.

One task is the pump. It takes all events that have gathered, lets the core handle them, commits the
store once in a thread of its own, and then performs the actions. So nothing is sent before it is
true on disk, and the more is going on, the more writes share a commit.

Links are made to whom the core names. Of two neighbours the one with the smaller name dials; the
other waits a while and then dials too, for the first may not know of it yet. A broker that starts
dials its contacts, which tell it who else is there.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import time
from itertools import count
from typing import TYPE_CHECKING

from evenflow.errors import OverlayError
from evenflow.overlay.broker.core import BrokerCore
from evenflow.overlay.broker.disk import SqliteStore
from evenflow.overlay.broker.move_history import Chronicle
from evenflow.overlay.protocol.connection import Wire, parse_address
from evenflow.overlay.protocol.events import (
    Action,
    Arrived,
    Asked,
    Balanced,
    Connect,
    Disconnect,
    Event,
    Linked,
    Reply,
    Tick,
    Transmit,
    Unlinked,
    Visit,
)
from evenflow.overlay.protocol.messages import Hello, Member, Routed
from evenflow.overlay.protocol.settings import Settings

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path
    from typing import Any

    from evenflow.autonomic.history import History
    from evenflow.overlay.protocol.messages import Condition
    from evenflow.overlay.space.coordinate import Coordinate

TICK_S = 0.1
DIAL_S = 0.25
LOOK_TICKS = 10
"""Ticks between two looks at how the broker is."""
MOST_VISITS = 8
"""Visits under way; a host that is gone lets each wait for minutes."""
MOST_EVENTS = 20_000
"""Events that wait; with more, connections are not read for a while."""

_log = logging.getLogger(__name__)


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
        self._events: list[Event] = []
        self._wake = asyncio.Event()
        self._links: dict[str, Wire] = {}
        self._clients: dict[int, Wire] = {}
        self._wires: set[Wire] = set()
        self._numbers = count(1)
        self._wanted: dict[str, asyncio.Task[None]] = {}
        self._tasks: list[asyncio.Task[None]] = []
        self._visits: set[asyncio.Task[None]] = set()
        self._held = False
        self._chronicle = Chronicle(name, history) if history is not None else None
        self.condition: Condition | None = None
        """How it was within the last second; may be read from any thread."""

    async def start(self) -> None:
        """Open the storage, listen, and join the others."""
        loop = asyncio.get_running_loop()
        self._store = SqliteStore(self._data / f"{self.name}.sqlite")
        host, port = parse_address(self.address)
        self._server = await loop.create_server(self._new_wire, host, port)
        self.address = f"{host}:{self._server.sockets[0].getsockname()[1]}"
        me = Member(self.name, self._coordinate, self.address, time.time_ns() // 1_000_000)
        self.core = BrokerCore(me, self._store, self._settings, time.monotonic(), time.time_ns())
        self._tasks = [
            asyncio.create_task(self._pump()),
            asyncio.create_task(self._tick()),
            *(asyncio.create_task(self._dial(contact)) for contact in self._contacts),
        ]
        if self._chronicle is not None:
            self._tasks.append(asyncio.create_task(self._chronicle.run()))

    async def close(self) -> None:
        """Stop; what was acknowledged is on disk already."""
        tasks = (*self._tasks, *self._wanted.values(), *self._visits)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        if self._chronicle is not None:
            self._chronicle.close()
        self._server.close()
        for wire in list(self._wires):
            wire.close()
        self._store.close()

    async def wait(self) -> None:
        """Wait until the broker fails; its storage failing is the only reason there is."""
        await self._tasks[0]

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
            events, self._events = self._events, []
            actions: list[Action] = []
            for event in events:
                actions += self.core.handle(event, time.monotonic(), time.time_ns())
            if self._store.dirty:
                await asyncio.to_thread(self._store.commit)
            for action in actions:
                self._perform(action)
            if self._held:
                self._hold(still=False)

    async def _tick(self) -> None:
        for number in count():
            self._happen(Tick())
            if number % LOOK_TICKS == 0:
                self.condition = self.core.condition()
            await asyncio.sleep(TICK_S)

    def _happen(self, event: Event) -> None:
        self._events.append(event)
        self._wake.set()
        if len(self._events) > MOST_EVENTS and not self._held:
            self._hold(still=True)

    def _hold(self, *, still: bool) -> None:
        self._held = still
        for wire in self._wires:
            wire.hold(still=still)

    def _perform(self, action: Action) -> None:
        match action:
            case Transmit(link, message):
                if link in self._links:
                    self._links[link].send(message)
            case Reply(client, letter):
                if client in self._clients:
                    self._clients[client].send(letter)
            case Connect(member):
                self._want(member)
            case Visit(member) if len(self._visits) < MOST_VISITS:
                self._visits.add(visit := asyncio.create_task(self._dial(member.address)))
                visit.add_done_callback(self._visits.discard)
            case Balanced() if self._chronicle is not None:
                self._chronicle.note(action)
            case Disconnect(name):
                self._part_with(name)

    def _part_with(self, name: str) -> None:
        if name in self._wanted:
            self._wanted.pop(name).cancel()
        if name in self._links:
            self._links[name].close()

    # -- connections ----------------------------------------------------------------------------

    def _new_wire(self) -> Wire:
        return Wire(self._on_message, self._on_lost, self._wires.add)

    def _want(self, member: Member) -> None:
        if member.name in self._wanted:
            self._wanted.pop(member.name).cancel()
        self._wanted[member.name] = asyncio.create_task(self._keep(member))

    async def _keep(self, member: Member) -> None:
        """Keep a link to a neighbour."""
        while True:
            if member.name < self.name and member.name not in self._links:
                await asyncio.sleep(4 * DIAL_S)
            if member.name not in self._links:
                await self._dial(member.address)
            await asyncio.sleep(DIAL_S)

    async def _dial(self, address: str) -> None:
        loop = asyncio.get_running_loop()
        with contextlib.suppress(OSError, ValueError):
            host, port = parse_address(address)
            _, wire = await loop.create_connection(self._new_wire, host, port)
            self._greet(wire)

    def _greet(self, wire: Wire) -> None:
        if not wire.greeted:
            wire.greeted = True
            wire.send(Hello((self.core.members.me,)))

    def _on_message(self, wire: Wire, message: Any) -> None:
        if wire.peer:
            self._happen(Arrived(wire.peer, message))
        elif wire.client:
            if isinstance(message, Routed):
                self._happen(Asked(wire.client, message))
        elif isinstance(message, Hello) and message.member:
            self._link(wire, message.member[0])
        elif isinstance(message, Hello):
            wire.client = next(self._numbers)
            self._clients[wire.client] = wire
            wire.send(self.core.welcome())
        else:
            wire.close()

    def _link(self, wire: Wire, member: Member) -> None:
        if member.name == self.name:
            wire.close()
            return
        before = self._links.get(member.name)
        wire.peer = member.name
        self._links[member.name] = wire
        self._greet(wire)
        self._happen(Linked(member))
        if before is not None:
            before.close()

    def _on_lost(self, wire: Wire) -> None:
        self._wires.discard(wire)
        if wire.client:
            self._clients.pop(wire.client, None)
        elif wire.peer and self._links.get(wire.peer) is wire:
            del self._links[wire.peer]
            self._happen(Unlinked(wire.peer))
