"""The real ring at a bridge, and what the domain does for it.

The newest report and the newest table of a process reach whoever is connected with it; of one that
was not heard for a lease the domain says that it is gone.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from evenflow.bridge.ring.core import Identity, RingCore, RingSettings
from evenflow.bridge.ring.events import DrainRing, RingChanged, TellRing
from evenflow.domain.channels import Gone
from evenflow.model.messages import ArcTable, BridgeReport

if TYPE_CHECKING:
    from collections.abc import Iterable

    from evenflow.bridge.ring.events import RingAction

LEASE_S: Final = 0.8
SETTINGS: Final = RingSettings(points=16)


class RingSeat:
    """A bridge's place on the ring.

    Args:
        name: The bridge.
        since: When its process was started, by the clock of the domain.
        now: The time, by its own clock.
    """

    def __init__(self, name: str, since: float, now: float) -> None:
        self.core = RingCore(Identity(name, since=since), SETTINGS, now)
        self._told: list[BridgeReport | ArcTable] = []
        self._seen: dict[RingSeat, int] = {}
        """How many messages of each other process have come."""
        self._heard: dict[str, float] = {}

    def hear(self, other: RingSeat, domain: float, now: float) -> bool:
        """Another process is connected; return whether who owns what may have changed."""
        self._heard[other.core.me.name] = domain
        news = other._told[self._seen.get(other, 0) :]
        self._seen[other] = len(other._told)
        newest = {type(message): message for message in news}.values()
        changed = False
        for message in newest:
            changed |= self._do(self.core.handle(message, now))
        return changed

    def look(self, domain: float, now: float) -> bool:
        """Miss who is silent, and do what is due; return as above."""
        changed = False
        for name, heard in list(self._heard.items()):
            if domain - heard >= LEASE_S:
                del self._heard[name]
                changed |= self._do(self.core.handle(Gone(BridgeReport, (name,)), now))
        return self._do(self.core.poll(now)) or changed

    def drain(self, now: float, *, on: bool) -> bool:
        """Have no points, or points again; return as above."""
        return self._do(self.core.handle(DrainRing(on=on), now))

    def _do(self, actions: Iterable[RingAction]) -> bool:
        changed = False
        for action in actions:
            match action:
                case TellRing(message):
                    self._told.append(message)
                case RingChanged():
                    changed = True
        return changed
