"""The ring of a bridge at work: what the domain and plans say to it, and what follows.

Used by the bridge's loop alone.
"""

from __future__ import annotations

import logging
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from evenflow.bridge.protocol.guid import parse_guid
from evenflow.bridge.ring.core import RingCore
from evenflow.bridge.ring.events import DeviceReleased, DeviceServed, TellRing
from evenflow.bridge.shell.udp import parse_address
from evenflow.domain.channels import Gone
from evenflow.errors import ConfigError, NameTaken
from evenflow.model.messages import BridgeReport

if TYPE_CHECKING:
    from collections.abc import Callable

    from evenflow.bridge.events import Address
    from evenflow.bridge.ring.core import Identity, RingSettings
    from evenflow.clock import Clock
    from evenflow.model.messages import ArcTable, DeviceRecord

_log = logging.getLogger(__name__)


class RingTurns:
    """Turns the ring, and tells who needs to know.

    Args:
        me: Who this bridge is.
        settings: Its place on the ring.
        clock: The time.
        tell: Tells the domain.
        on_changed: Called when who owns what, or whether the bridge is isolated, may have changed.
        fail: Told what ended it: a fault, or a bridge of the same name.
    """

    def __init__(
        self,
        me: Identity,
        settings: RingSettings,
        clock: Clock,
        *,
        tell: Callable[[BridgeReport | ArcTable], object],
        on_changed: Callable[[], object],
        fail: Callable[[BaseException], object],
    ) -> None:
        self.core = RingCore(me, settings, clock.monotonic())
        self._me = me
        self._clock = clock
        self._tell = tell
        self._on_changed = on_changed
        self._fail = fail

    def hear(self, event: Any) -> None:
        """Take in a message, what is gone, or an event of a plan."""
        if isinstance(event, BridgeReport) and event.bridge == self._me.name:
            self._meet_twin(event)
            return
        if isinstance(event, Gone) and event.message_type is BridgeReport:
            self._log_gone(event.key[0])
        self._turn(event)

    def _log_gone(self, bridge: str) -> None:
        """One that leaves in order has said so, and is not heard any more by then."""
        if bridge in self.core.heard:
            _log.warning(
                "bridge %s died or is not heard any more; others serve its devices", bridge,
                extra={"event": "bridge-died", "bridge": bridge},
            )  # fmt: skip

    def poll(self) -> None:
        """Do what is due."""
        if self._clock.monotonic() >= self.core.get_timer():
            self._turn(None)

    def _turn(self, event: Any) -> None:
        now = self._clock.monotonic()
        was_isolated = self.core.is_isolated
        try:
            actions = self.core.poll(now) if event is None else self.core.handle(event, now)
        except Exception as failure:  # noqa: BLE001 - a broken core must not go on
            _log.exception("the ring fails at %s", type(event).__name__)
            self._fail(failure)
            return
        changed = was_isolated != self.core.is_isolated
        for action in actions:
            if isinstance(action, TellRing):
                self._tell(action.message)
            else:
                changed = True
        if changed:
            self._on_changed()

    def _meet_twin(self, report: BridgeReport) -> None:
        """Another bridge of this name: the one that came later ends."""
        theirs, mine = ((one.since, one.host, one.pid) for one in (report, self._me))
        if theirs < mine:
            where = f"on {report.host} (process {report.pid}): give this one another name"
            self._fail(NameTaken(f"bridge {report.bridge}", f"is running already {where}"))

    def address_of(self, bridge: str) -> Address | None:
        """Where devices reach another bridge, by its own word."""
        report = self.core.heard.get(bridge)
        with suppress(ConfigError):
            return parse_address(report.addresses[0], bridge) if report else None
        return None

    def served(self, record: DeviceRecord) -> None:
        """A device counts to this bridge's load."""
        self.core.handle(DeviceServed(parse_guid(record.guid)), 0.0)

    def released(self, record: DeviceRecord) -> None:
        """It does no more."""
        self.core.handle(DeviceReleased(parse_guid(record.guid)), 0.0)
