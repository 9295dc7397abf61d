"""A bridge's place in the domain: what it hears of other bridges, and what it tells them.

All that a bridge tells is the newest word on something (its report, its table of arcs, one of its
devices, what it asks or answers about the items of one), so of each only the newest waits, and what
waits is bounded by the devices.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from evenflow.bridge.item_door import door_name
from evenflow.closing import Closing
from evenflow.domain.channels import ARCS, BRIDGES, DEVICES, SETTLE_ANSWERS, SETTLE_REQUESTS
from evenflow.edge.shell.domain_port import DomainPort, How, Word
from evenflow.model.messages import DeviceRecord, SettleAnswer, SettleRequest

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable

    from evenflow.domain.cyclone import Participant
    from evenflow.edge.shell.domain_port import Take
    from evenflow.model.wire import Message

EVERYBODY: Final = (BRIDGES, ARCS, DEVICES)
OWN: Final = (SETTLE_REQUESTS, SETTLE_ANSWERS)


class BridgePort(Closing):
    """Hears and tells until it is closed; see :class:`~evenflow.edge.shell.domain_port.DomainPort`.

    Args:
        name: The bridge.
        participant: The process's place in the domain.
        take: Hands messages, and what is gone, to the bridge; returns what is set when they are
            handled.
        on_failed: Told what ended a thread.
    """

    def __init__(
        self,
        name: str,
        participant: Participant,
        take: Take,
        on_failed: Callable[[BaseException], object],
    ) -> None:
        own = [door_name(name)]
        heard = [*((channel, ()) for channel in EVERYBODY), *((channel, own) for channel in OWN)]
        self._port = DomainPort(f"bridge {name}", participant, heard, take, on_failed)
        for channel in EVERYBODY:
            self._port.meet(channel)
        self._port.start()

    def tell(self, message: Message, to: str = "") -> None:
        """Have a message written, after what was told before."""
        self._port.tell(Word(message, to), _subject(message, to))

    def withdraw(self, record: DeviceRecord) -> None:
        """Have the record of a device disposed."""
        self._port.tell(Word(record, how=How.DISPOSE), _subject(record, ""))

    def close(self) -> None:
        """Tell what waits, and stop; call it before the participant is closed."""
        self._port.close()


def _subject(message: Message, to: str) -> Hashable:
    """What a message is the newest word on."""
    match message:
        case DeviceRecord(guid=guid):
            return guid
        case SettleRequest(client=client, topic=topic) | SettleAnswer(client=client, topic=topic):
            return type(message).__name__, to, client, topic
    return type(message).__name__
