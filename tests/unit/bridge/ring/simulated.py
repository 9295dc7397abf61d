"""Bridges and a domain between them that loses, delays and cuts, under virtual time.

Of one writer a reader sees reports in order, perhaps not all of them, as DDS grants it for keyed
topics; across writers anything goes. A bridge that a reader has not heard for the lease is gone to
that reader. Whoever comes later is given the newest that each writer has told.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from random import Random

from evenflow.bridge.ring.core import Identity, RingCore, RingSettings
from evenflow.bridge.ring.events import ArcsPlanned, DrainRing, LeaveRing, RingAction, TellRing
from evenflow.bridge.ring.identifiers import Placing
from evenflow.domain.channels import Gone
from evenflow.model.messages import ArcTable, BridgeReport

STEP_S = 0.1
LEASE_S = 0.6
MOST_DELAY_S = 0.5
QUIET_S = 8.0
"""After so long without a disturbance everybody knows what there is to know."""
SETTINGS = RingSettings(points=4, report_s=0.5, listen_s=0.3, doubt_s=2.0)


@dataclass
class Bridge:
    """A live bridge, and what is on its way to it."""

    core: RingCore
    coming: list[tuple[float, BridgeReport | ArcTable]] = field(default_factory=list)
    last_heard: dict[str, float] = field(default_factory=dict)
    """When the lease of each writer was last renewed here."""
    alive: set[str] = field(default_factory=set)
    """Writers that are not gone to this one."""


class Domain:
    """Everything, by a seed."""

    def __init__(
        self, seed: int = 0, settings: RingSettings = SETTINGS, placing: Placing | None = None
    ) -> None:
        self.random = Random(seed)
        self.settings = settings
        self.placing = placing
        self.now = 100.0
        self.bridges: dict[str, Bridge] = {}
        self.cut: set[frozenset[str]] = set()
        self.loss = 0.0
        self.told: dict[tuple[str, type], BridgeReport | ArcTable] = {}
        """The newest of each kind that each live writer has told."""

    # -- what happens to bridges -------------------------------------------------------------------

    def join(self, name: str) -> None:
        core = RingCore(Identity(name), self.settings, self.now, self.placing)
        self.bridges[name] = Bridge(core)

    def leave(self, name: str) -> None:
        """It says goodbye, and ends."""
        self._perform(name, self.bridges[name].core.handle(LeaveRing(), self.now))
        self.fail(name)

    def fail(self, name: str) -> None:
        del self.bridges[name]
        for kind in (BridgeReport, ArcTable):
            self.told.pop((name, kind), None)

    def drain(self, name: str, *, on: bool = True) -> None:
        self._perform(name, self.bridges[name].core.handle(DrainRing(on), self.now))

    def plan(self, name: str, table: ArcTable) -> None:
        self._perform(name, self.bridges[name].core.handle(ArcsPlanned(table), self.now))

    def cut_between(self, one: str, other: str) -> None:
        self.cut.add(frozenset((one, other)))

    def split(self, side: set[str]) -> None:
        """Cut some off from all others."""
        self.cut = {
            frozenset((one, other)) for one in side for other in self.bridges if other not in side
        }

    def heal(self) -> None:
        self.cut.clear()
        self.loss = 0.0

    # -- time --------------------------------------------------------------------------------------

    def run(self, seconds: float) -> None:
        for _ in range(round(seconds / STEP_S)):
            self.now += STEP_S
            for name in self.random.sample(sorted(self.bridges), len(self.bridges)):
                self._step(name)

    def _step(self, name: str) -> None:
        bridge = self.bridges[name]
        due = [each for each in bridge.coming if each[0] <= self.now]
        bridge.coming = [each for each in bridge.coming if each[0] > self.now]
        for _, message in sorted(due, key=lambda each: each[0]):
            if isinstance(message, BridgeReport):
                bridge.last_heard[message.bridge] = self.now
                bridge.alive.add(message.bridge)
            self._perform(name, bridge.core.handle(message, self.now))
        for other in sorted(bridge.alive):
            if other in self.bridges and not self._is_cut(name, other):
                bridge.last_heard[other] = self.now  # DDS renews the lease by itself
            elif self.now - bridge.last_heard[other] > LEASE_S:
                bridge.alive.discard(other)
                gone = Gone(BridgeReport, (other,))
                self._perform(name, bridge.core.handle(gone, self.now))
        for other in sorted(self.bridges.keys() - bridge.alive - {name}):
            if not self._is_cut(name, other) and (other, BridgeReport) in self.told:
                bridge.alive.add(other)
                bridge.last_heard[other] = self.now
                self._again(other, name)
        self._perform(name, bridge.core.poll(self.now))

    def _again(self, writer: str, reader: str) -> None:
        """Rediscovered: what its writers keep is given to the reader."""
        for kind in (BridgeReport, ArcTable):
            if (writer, kind) in self.told:
                self._send(self.told[writer, kind], reader, lossless=True)

    def _perform(self, name: str, actions: list[RingAction]) -> None:
        for action in actions:
            if isinstance(action, TellRing):
                self.told[name, type(action.message)] = action.message
                for other in self.bridges:
                    if other != name:
                        self._send(action.message, other)

    def _send(
        self, message: BridgeReport | ArcTable, reader: str, *, lossless: bool = False
    ) -> None:
        """Of one writer and topic what was sent later comes later, or in its place."""
        if self._is_cut(message.bridge, reader):
            return
        if not lossless and self.random.random() < self.loss:
            return
        queue = self.bridges[reader].coming
        same = [
            at
            for at, each in queue
            if each.bridge == message.bridge and type(each) is type(message)
        ]
        earliest = max([self.now, *same])  # in order, of one writer
        queue.append((earliest + self.random.uniform(0, MOST_DELAY_S), message))

    def _is_cut(self, one: str, other: str) -> bool:
        return frozenset((one, other)) in self.cut

    # -- what is known -----------------------------------------------------------------------------

    def owners(self, guid: bytes) -> set[str]:
        """Who owns a device, as all bridges say."""
        return {bridge.core.owner(guid) for bridge in self.bridges.values()}

    def claims(self, guid: bytes) -> list[str]:
        """The bridges that think that a device is theirs."""
        return [name for name, each in self.bridges.items() if each.core.owner(guid) == name]
