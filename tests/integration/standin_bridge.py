"""A bridge that is nothing but its place on the ring: its devices are only GUIDs."""

from __future__ import annotations

import threading
import time
from typing import TYPE_CHECKING

from evenflow.autonomic.agent import Agent
from evenflow.autonomic.execute.executors import Surroundings
from evenflow.autonomic.execute.service import ExecutorService
from evenflow.bridge.balancing.arcs_action import ARCS as ARCS_ACTION
from evenflow.bridge.balancing.arcs_action import arcs_executor, process_of
from evenflow.bridge.ring.core import Identity, RingCore, RingSettings
from evenflow.bridge.ring.events import (
    ArcsPlanned,
    DeviceReleased,
    DeviceServed,
    LeaveRing,
    TellRing,
)
from evenflow.domain.channels import ARCS, BRIDGES
from evenflow.domain.cyclone import Participant
from evenflow.model.messages import ArcTable, BridgeReport

if TYPE_CHECKING:
    from collections.abc import Iterable

    from evenflow.bridge.ring.events import RingAction
    from evenflow.config import Config


class StandInBridge:
    """Takes part in the ring of a real domain, and serves whoever is its own."""

    def __init__(self, name: str, config: Config, guids: Iterable[bytes]) -> None:
        self.name = name
        self._guids = tuple(guids)
        self._participant = Participant(config.domain)
        self._writers = {
            BridgeReport: self._participant.writer(BRIDGES),
            ArcTable: self._participant.writer(ARCS),
        }
        self._readers = [self._participant.reader(channel) for channel in (BRIDGES, ARCS)]
        self._waiter = self._participant.waiter()
        for reader in self._readers:
            self._waiter.attach(reader)
        self._lock = threading.RLock()
        settings = RingSettings.from_config(config.bridge)
        self.core = RingCore(Identity(name), settings, time.monotonic())
        self.mine: set[bytes] = set()
        self._agent = Agent(
            process_of(name), config, self._participant, {"bridge_devices": lambda: len(self.mine)}
        )
        makers = {ARCS_ACTION: arcs_executor(lambda: self.core.arcs, self._planned)}
        surroundings = Surroundings(process_of(name), config)
        self._executors = ExecutorService(surroundings, self._participant, makers)
        self._running = True
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def owners(self) -> list[str]:
        """Whose the devices are, as this bridge says."""
        with self._lock:
            return self.core.circle.owners(self._guids)

    def _planned(self, table: ArcTable) -> None:
        with self._lock:
            self._perform(self.core.handle(ArcsPlanned(table), time.monotonic()))

    def _run(self) -> None:
        while self._running:
            self._waiter.wait(0.05)
            with self._lock:
                for reader in self._readers:
                    for message in reader.take():
                        self._perform(self.core.handle(message, time.monotonic()))
                self._perform(self.core.poll(time.monotonic()))

    def _perform(self, actions: list[RingAction]) -> None:
        for action in actions:
            if isinstance(action, TellRing):
                self._writers[type(action.message)].write(action.message)
                continue
            owners = zip(self._guids, self.core.circle.owners(self._guids), strict=True)
            mine = {guid for guid, owner in owners if owner == self.name}
            events = [DeviceServed(guid) for guid in mine - self.mine]
            for event in (*events, *(DeviceReleased(guid) for guid in self.mine - mine)):
                self.core.handle(event, time.monotonic())
            self.mine = mine

    def close(self, *, goodbye: bool = True) -> None:
        """End, with a last word or without."""
        with self._lock:
            if goodbye:
                self._perform(self.core.handle(LeaveRing(), time.monotonic()))
            self._running = False
        self._waiter.wake()
        self._thread.join()
        self._agent.close()
        self._executors.close()
        self._participant.close()
