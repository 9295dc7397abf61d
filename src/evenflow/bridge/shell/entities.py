"""The agent entities of a bridge's devices: made, dropped, written to and read.

Making and dropping may take a millisecond each, and a bridge that takes over has many to make; so a
thread does both, in the order in which the core asks, and tells what came of it. Another thread
waits for all agent readers and hands what they read to the bridge's loop; it takes no more before
that is handled, and what comes meanwhile waits in each reader, within its bound
(:mod:`evenflow.domain.agents.entities`). Writing is done at once, by the loop.

**Bounded.** Of each entity one order waits (:mod:`~.orders`), so what waits is bounded by the
entities of devices.
"""

from __future__ import annotations

import logging
import threading
import time
from typing import TYPE_CHECKING, Final

from evenflow.bridge.events import DropEntity, EntityMade, MakeEntity, SampleRead
from evenflow.bridge.protocol.kinds import Role
from evenflow.bridge.shell.complaints import Complaints
from evenflow.bridge.shell.orders import Orders
from evenflow.closing import Closing
from evenflow.domain.agents.declaration import Declaration, DeclaredField
from evenflow.domain.agents.entities import AgentEntities, AgentReader, AgentWriter
from evenflow.errors import EvenflowError, TypeRefused

if TYPE_CHECKING:
    from collections.abc import Callable

    from evenflow.bridge.events import Event, WriteSample
    from evenflow.bridge.protocol.device_types import DeviceType
    from evenflow.domain.cyclone import Participant

    Take = Callable[[list[Event]], threading.Event]

Key = tuple[bytes, int]
"""A device and the number of its entity."""
PAUSE_S: Final = 0.5
_log = logging.getLogger(__name__)


class DeviceEntities(Closing):
    """All agent entities of a bridge.

    Args:
        participant: The process's place in the domain.
        take: Hands events to the bridge; returns what is set when they are handled.
        on_failed: Told what ended a thread.
    """

    def __init__(
        self,
        participant: Participant,
        take: Take,
        on_failed: Callable[[BaseException], object],
    ) -> None:
        self._take = take
        self._on_failed = on_failed
        self._agents = AgentEntities(participant)
        self._open: dict[Key, AgentWriter | AgentReader] = {}
        self._devices: dict[int, Key] = {}
        self._orders = Orders()
        self._complaints = Complaints(time.monotonic)
        self._stopping = False
        self.unwritten = 0
        """Samples of devices that DDS did not take."""
        self._threads = [
            threading.Thread(target=self._guarded, args=(run,), name=f"agents {what}", daemon=True)
            for what, run in (("making", self._make_and_drop), ("reading", self._read))
        ]
        for thread in self._threads:
            thread.start()

    def _guarded(self, run: Callable[[], None]) -> None:
        try:
            run()
        except BaseException as failure:  # noqa: BLE001 - a bridge that cannot relay must not go on
            if not self._stopping:
                _log.exception("the bridge has lost its agent entities")
                self._on_failed(failure)

    # -- making and dropping -----------------------------------------------------------------------

    def order(self, action: MakeEntity | DropEntity) -> None:
        """Make or drop an entity, after what was ordered before."""
        self._orders.put(action)

    def _make_and_drop(self) -> None:
        while (action := self._orders.get()) is not None:
            if isinstance(action, DropEntity):
                self._drop((action.guid, action.entity))
                continue
            fault = ""
            try:
                self._make(action)
            except Exception as error:  # noqa: BLE001 - no declaration may end the bridge
                fault = str(error) or repr(error)
                self._complaints.tell(action.guid, action.entity, fault)
            self._take([EntityMade(action.guid, action.entity, fault)])

    def _make(self, action: MakeEntity) -> None:
        key = (action.guid, action.entity)
        self._drop(key)
        if action.type is None:
            raise TypeRefused(action.topic, "this bridge takes no items: set bridge.topics")
        declaration = declaration_of(action.type)
        if action.role is Role.PUBLISHER:
            writer = self._agents.writer(action.topic, declaration, reliable=action.reliable)
            self._open[key] = writer
            return
        reader = self._agents.reader(action.topic, declaration, reliable=action.reliable)
        self._open[key] = reader
        self._devices[reader.number] = key

    def _drop(self, key: Key) -> None:
        entity = self._open.pop(key, None)
        if entity is not None:
            if isinstance(entity, AgentReader):
                self._devices.pop(entity.number, None)
            entity.close()

    # -- data --------------------------------------------------------------------------------------

    def write(self, sample: WriteSample) -> None:
        """Write what a device has published; what DDS does not take is counted."""
        writer = self._open.get((sample.guid, sample.entity))
        try:
            if not isinstance(writer, AgentWriter) or not writer.write(sample.values):
                self.unwritten += 1
        except (EvenflowError, ValueError):  # it is being dropped, or has values that DDS has not
            self.unwritten += 1

    def _read(self) -> None:
        while not self._stopping:
            read: list[Event] = []
            for reader in self._agents.wait(PAUSE_S):
                key = self._devices.get(reader.number)
                arrivals = reader.take()
                if key is not None:
                    read += [SampleRead(*key, one.values, one.time) for one in arrivals]
            if read:
                handled = self._take(read)
                while not handled.wait(PAUSE_S) and not self._stopping:
                    pass

    @property
    def counts(self) -> tuple[int, int, int]:
        """How many agent writers, agent readers and topics there are."""
        return self._agents.counts

    def close(self) -> None:
        """Drop all; call it before the participant is closed."""
        self._stopping = True
        self._orders.close()
        self._agents.wake()
        for thread in self._threads:
            thread.join()
        self._agents.close()


def declaration_of(type_: DeviceType) -> Declaration:
    """A device's type as DDS has it."""
    fields = (DeclaredField(field.name, field.kind, field.most) for field in type_.fields)
    return Declaration(type_.name, tuple(fields))
