"""A gateway's place in the domain: what it hears, and what it tells.

Of its report, of a node's attachment and of what the node says of handovers only the newest waits
to be told: nobody repeats those, and a node that says much crowds out nothing. All the rest is
repeated by whoever needs it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from evenflow.closing import Closing
from evenflow.domain import channels
from evenflow.edge.shell.domain_port import DomainPort, How, Word
from evenflow.mobile.gateway.events import Heard, NotHeard, Withdraw
from evenflow.model.messages import Attachment, GatewayReport, MailboxReport, NodeOutcome

if TYPE_CHECKING:
    import threading
    from collections.abc import Callable, Hashable

    from evenflow.domain.cyclone import Participant
    from evenflow.edge.actions import Write
    from evenflow.model.wire import Message

    Take = Callable[[list[Heard | NotHeard]], threading.Event]

EVERYBODY: Final = (channels.GATEWAYS, channels.ATTACHMENTS, channels.MAILBOXES)
OWN: Final = (
    channels.SETTLE_REQUESTS,
    channels.SETTLE_ANSWERS,
    channels.NODE_OUTCOMES,
    channels.MAIL,
)


class GatewayPort(Closing):
    """Hears and tells until it is closed; see :class:`~evenflow.edge.shell.domain_port.DomainPort`.

    Args:
        name: The gateway: the partition of what is for it alone.
        participant: The process's place in the domain.
        take: Hands events to the gateway; returns what is set when they are handled.
        on_failed: Told what ended a thread.
    """

    def __init__(
        self,
        name: str,
        participant: Participant,
        take: Take,
        on_failed: Callable[[BaseException], object],
    ) -> None:
        self._take = take
        heard = [*((channel, ()) for channel in EVERYBODY), *((channel, [name]) for channel in OWN)]
        self._port = DomainPort(f"gateway {name}", participant, heard, self._hear, on_failed)
        self._port.start()

    @property
    def dropped(self) -> int:
        """Messages that were not told because too many waited."""
        return self._port.dropped

    def _hear(self, messages: list[Any]) -> threading.Event:
        for message in messages:
            if isinstance(message, MailboxReport):
                # Be found by a mailbox before the first receipt: nobody keeps those.
                self._port.meet(channels.MAIL_RECEIPTS, message.mailbox)
        return self._take([event for one in messages if (event := _event(one)) is not None])

    def tell(self, write: Write | Withdraw) -> None:
        """Have a message written, or one withdrawn, after what was told before."""
        if isinstance(write, Withdraw):
            word = Word(write.attachment, how=How.WITHDRAW)
        else:
            word = Word(write.message, write.to)
        self._port.tell(word, _subject(word.message))

    def close(self) -> None:
        """Tell what waits, and stop; call it before the participant is closed."""
        self._port.close()


def _subject(message: Message) -> Hashable | None:
    if isinstance(message, Attachment):
        return ("attachment", message.node)
    if isinstance(message, NodeOutcome):
        return ("outcome", message.node)
    return "report" if isinstance(message, GatewayReport) else None


def _event(message: Any) -> Heard | NotHeard | None:
    if not isinstance(message, channels.Gone):
        return Heard(message)
    if message.message_type in (GatewayReport, MailboxReport):
        return NotHeard(message.message_type, message.key[0])
    return None
