"""A bridge at work: its cores between datagrams and domain.

One asyncio loop has the sockets and both cores: :class:`~evenflow.bridge.core.BridgeCore`, which
serves devices, and :class:`~evenflow.bridge.ring.core.RingCore`, which says whose they are.
Whatever waits has a thread: the domain two (`domain_port`), the agent entities two (`entities`),
the disk one for each sliced topic (`items`). Each hands over one thing at a time (`handing`).

**The end.** A bridge that ends takes no devices any more (it has no points on the ring), so others
own its devices and offer to serve them; each goes when its new bridge has its entities. What is
still here when the time is over is told to look for another.
"""

from __future__ import annotations

import asyncio
import logging
import os
import secrets
import socket
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from evenflow.bridge.core import BridgeCore
from evenflow.bridge.events import (
    AskSettled,
    DropEntity,
    KeysChanged,
    MakeEntity,
    PublishRecord,
    RecordHeard,
    RecordWithdrawn,
    RingChanged,
    Send,
    Stop,
    TakeItem,
    Timer,
    WithdrawRecord,
    WriteSample,
)
from evenflow.bridge.protocol.guid import parse_guid
from evenflow.bridge.ring.core import Identity
from evenflow.bridge.ring.events import DrainRing, LeaveRing
from evenflow.bridge.sessions import Stage
from evenflow.bridge.shell.domain_port import BridgePort
from evenflow.bridge.shell.entities import DeviceEntities
from evenflow.bridge.shell.handing import Handing
from evenflow.bridge.shell.keys import keep_fresh
from evenflow.bridge.shell.ring_turns import RingTurns
from evenflow.bridge.shell.udp import UdpPort
from evenflow.clock import SystemClock
from evenflow.domain.channels import Gone
from evenflow.edge.settings import EdgeSettings
from evenflow.edge.twins import Life
from evenflow.loops.watched import WatchedTasks
from evenflow.model.messages import DeviceRecord, SettleAnswer, SettleRequest

if TYPE_CHECKING:
    import threading
    from collections.abc import Iterable

    from evenflow.bridge.events import Action, Event
    from evenflow.bridge.ports import Ring
    from evenflow.bridge.ring.core import RingCore, RingSettings
    from evenflow.bridge.ring.events import RingEvent
    from evenflow.bridge.settings import BridgeSettings
    from evenflow.bridge.shell.items import DeviceItems
    from evenflow.bridge.shell.keys import DeviceKeys
    from evenflow.bridge.shell.udp import Doors
    from evenflow.clock import Clock
    from evenflow.domain.cyclone import Participant
    from evenflow.model.messages import ArcTable, BridgeReport

_log = logging.getLogger(__name__)


class Bridge:
    """A bridge; :meth:`start` it in a running loop.

    Args:
        name: Its name, for ever.
        settings: Bounds and times of the core.
        ring: Its place on the ring.
        keys: The keys of devices.
        participant: The process's place in the domain.
        items: The items of devices; None: it takes none.
        clock: The time.
    """

    def __init__(
        self,
        name: str,
        settings: BridgeSettings,
        ring: RingSettings,
        *,
        keys: DeviceKeys,
        participant: Participant,
        items: DeviceItems | None = None,
        clock: Clock | None = None,
    ) -> None:
        self.name = name
        self._settings = settings
        self._ring_settings = ring
        self._keys = keys
        self._participant = participant
        self._clock = clock or SystemClock()
        self._timer: asyncio.TimerHandle | None = None
        self._tasks = WatchedTasks(self._fail)
        self._udp: UdpPort | None = None
        self._port: BridgePort | None = None
        self._entities: DeviceEntities | None = None
        self._items = items

    # -- start -------------------------------------------------------------------------------------

    async def start(self, doors: Doors) -> None:
        """Listen, and serve from now on.

        Raises:
            DomainError: An address or interface cannot be used.
        """
        self._loop = asyncio.get_running_loop()
        self._handing = Handing(self._loop)
        self._failed: asyncio.Future[None] = self._loop.create_future()
        self._udp = UdpPort(doors)
        self.address = self._udp.address
        me = Identity(
            self.name,
            (f"udp://{self.address[0]}:{self.address[1]}",),
            socket.gethostname(),
            os.getpid(),
            self._clock.wall(),
        )
        self._turns = RingTurns(
            me,
            self._ring_settings,
            self._clock,
            tell=self._tell,
            on_changed=lambda: self._handle_all([RingChanged()]),
            fail=self._fail,
        )
        self.ring = self._turns.core
        self.core = BridgeCore(
            self.name,
            self._owners(self.ring),
            self._settings,
            lambda: secrets.randbits(64),
            self._keys.of,
            self._turns.address_of,
        )
        self._entities = DeviceEntities(self._participant, self._take, self._fail_soon)
        self._port = BridgePort(self.name, self._participant, self._take_heard, self._fail_soon)
        if self._items is not None:
            self._start_items(self._items, me)
        for one in self._udp.sockets:
            self._loop.add_reader(one, self._on_readable, one)
        fresh = keep_fresh(self._keys, lambda: self._handle_all([KeysChanged()]))
        self._tasks.begin(fresh, "the look at the keys of devices")
        self._arm()

    def _start_items(self, items: DeviceItems, me: Identity) -> None:
        port = self._port
        assert port is not None
        items.start(
            EdgeSettings(),
            Life(me.since, me.host, me.pid),
            is_heard=lambda bridge: bridge in self.ring.heard,
            # The core is told after it is through with what it is about.
            tell_core=lambda events: self._loop.call_soon(self._handle_all, events),
            tell=lambda write: port.tell(write.message, write.to),
            soon=self._handing.post,
            fail=self._fail,
            fail_soon=self._fail_soon,
        )

    def _owners(self, ring: RingCore) -> Ring:  # who says whose a device is
        return ring

    async def wait(self) -> None:
        """Wait until the bridge fails, and raise what it failed by."""
        await asyncio.shield(self._failed)

    def _fail_soon(self, failure: BaseException) -> None:  # a thread has failed
        self._handing.post(lambda: self._fail(failure))

    def _fail(self, failure: BaseException) -> None:
        if not self._failed.done():
            self._failed.set_exception(failure)

    # -- what comes in -----------------------------------------------------------------------------

    def _on_readable(self, one: socket.socket) -> None:
        assert self._udp is not None
        self._handle_all(self._udp.receive(one))

    def _take(self, events: Iterable[Event]) -> threading.Event:
        """What agent entities say; from their threads."""
        return self._handing.soon(lambda: self._handle_all(events))

    def _take_heard(self, messages: Iterable[Any]) -> threading.Event:
        """What the domain says; from its thread."""
        return self._handing.soon(lambda: self._hear(messages))

    def _hear(self, messages: Iterable[Any]) -> None:
        for message in messages:
            match message:
                case DeviceRecord():
                    self._handle_all([RecordHeard(message)])
                case Gone() if message.message_type is DeviceRecord:
                    self._hear_withdrawn(message)
                case SettleRequest() | SettleAnswer():
                    self._hear_of_items(message)
                case _:
                    self._turns.hear(message)
                    self._hear_of_items(message)

    def _hear_of_items(self, message: Any) -> None:
        if self._items is not None:
            self._items.hear(message)
            self._arm()

    def _hear_withdrawn(self, gone: Gone) -> None:
        """One whose bridge is merely not heard any more is what adoption needs."""
        if gone.disposed:
            with suppress(ValueError):
                self._handle_all([RecordWithdrawn(gone.key[0], parse_guid(gone.key[1]))])

    # -- events and actions ------------------------------------------------------------------------

    def order(self, event: RingEvent) -> None:
        """Give the ring an event of a plan or an operator; any thread may."""
        self._handing.post(lambda: self._turns.hear(event))

    def _handle_all(self, events: Iterable[Event]) -> None:
        if self._failed.done():
            return
        now = self._clock.monotonic()
        try:
            for event in events:
                for action in self.core.handle(event, now):
                    self._perform(action)
        except Exception as failure:  # noqa: BLE001 - a broken core must not go on
            _log.exception("the bridge fails")
            self._fail(failure)
            return
        self._arm()

    def _arm(self) -> None:
        """Be called when a core wants to be, and not earlier than now."""
        due = min(self.core.deadline(), self.ring.get_timer())
        if self._items is not None:
            due = min(due, self._items.door.deadline())
        due += self._loop.time() - self._clock.monotonic()
        if self._timer is not None:
            if self._timer.when() <= due:
                return
            self._timer.cancel()
        self._timer = self._loop.call_at(due, self._on_timer)

    def _on_timer(self) -> None:
        self._timer = None
        self._turns.poll()
        if self._items is not None:
            self._items.poll()
        self._handle_all([Timer()])

    def _perform(self, action: Action) -> None:
        assert self._udp is not None
        assert self._entities is not None
        match action:
            case Send(data, target):
                self._udp.send(data, target)
            case WriteSample():
                self._entities.write(action)
            case MakeEntity(type=None) if self._items is not None:
                self._items.make(action)
            case MakeEntity():
                self._entities.order(action)
            case DropEntity(guid, entity):
                self._entities.order(action)
                if self._items is not None:
                    self._items.door.drop(guid, entity)
            case TakeItem() | AskSettled() if self._items is not None:
                self._items.take(action)
            case PublishRecord(record):
                self._turns.served(record)
                self._tell(record)
            case WithdrawRecord(record) if self._port is not None:
                self._turns.released(record)
                self._port.withdraw(record)

    def _tell(self, message: BridgeReport | ArcTable | DeviceRecord) -> None:
        if self._port is not None:
            self._port.tell(message)

    # -- what it shows -----------------------------------------------------------------------------

    @property
    def devices(self) -> int:
        """Devices that are served."""
        return sum(session.stage is not Stage.OFFERED for session in self.core.sessions)

    @property
    def messages(self) -> int:
        """Samples passed on, both ways, and items taken."""
        relay = self.core.relay
        return relay.relayed_up + relay.relayed_down + self.core.items.items

    @property
    def refused(self) -> int:
        """Datagrams, records and samples that were not taken, and those that could not go out."""
        assert self._udp is not None
        assert self._entities is not None
        lost = self._udp.unsent + self._entities.unwritten
        return sum(self.core.refused.values()) + lost

    # -- the end -----------------------------------------------------------------------------------

    async def drain(self, within_s: float) -> bool:
        """Have the devices served by other bridges; return whether all have gone in time."""
        self._turns.hear(DrainRing(on=True))
        end = self._loop.time() + within_s
        while self.devices and self._loop.time() < end and not self._failed.done():
            if not self.ring.members:
                break
            await asyncio.sleep(0.05)
        return not self.devices

    async def close(self) -> None:
        """End: devices that are still here are told to look for another bridge."""
        if self._udp is None:
            return
        for one in self._udp.sockets:
            self._loop.remove_reader(one)
        await self._tasks.close()
        if self._port is not None and not self._failed.done():
            self._handle_all([Stop()])
            self._turns.hear(LeaveRing())
        if self._timer is not None:
            self._timer.cancel()
        await asyncio.to_thread(self._close_threads)
        self._udp.close()

    def _close_threads(self) -> None:
        if self._port is not None:
            self._port.close()
        if self._entities is not None:
            self._entities.close()
        if self._items is not None:
            self._items.close()
