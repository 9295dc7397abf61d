"""A gateway's place in the domain: what it hears, and what it tells.

Two threads, because a write may wait for a slow reader. *Hearing* hands messages to the gateway's
loop and takes no more before they are handled: what comes meanwhile waits in DDS, within its
bounds. *Telling* writes what the core wants told, in order. Of a report and of a node's attachment
only the newest waits to be told. Of all the rest at most ``MOST_UNTOLD`` do; what is beyond that is
dropped and counted: it is repeated by whoever needs it.
"""

from __future__ import annotations

import logging
import threading
from collections import OrderedDict
from itertools import count
from typing import TYPE_CHECKING, Any, Final

from evenflow.closing import Closing
from evenflow.domain import channels
from evenflow.mobile.gateway.events import Heard, NotHeard, Withdraw
from evenflow.model.messages import Attachment, GatewayReport, MailboxReport

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable

    from evenflow.domain.cyclone import Participant, Writer
    from evenflow.edge.actions import Write
    from evenflow.model.wire import Message

    Take = Callable[[list[Heard | NotHeard]], threading.Event]

MOST_UNTOLD: Final = 20_000
MOST_WRITERS: Final = 256
"""Writers to single gateways and mailboxes; beyond it the one not used for longest is closed."""
PAUSE_S: Final = 0.5
EVERYBODY: Final = (channels.GATEWAYS, channels.ATTACHMENTS, channels.MAILBOXES)
OWN: Final = (
    channels.SETTLE_REQUESTS,
    channels.SETTLE_ANSWERS,
    channels.NODE_OUTCOMES,
    channels.MAIL,
)
_log = logging.getLogger(__name__)


class DomainPort(Closing):
    """Hears and tells until it is closed.

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
        self._participant = participant
        self._take = take
        self._on_failed = on_failed
        self._waiter = participant.waiter()
        self._readers = [participant.reader(channel) for channel in EVERYBODY]
        self._readers += [participant.reader(channel, [name]) for channel in OWN]
        for reader in self._readers:
            self._waiter.attach(reader)
        self._writers: OrderedDict[tuple[str, str], Writer] = OrderedDict()
        self._untold: OrderedDict[Hashable, Write | Withdraw] = OrderedDict()
        self._numbers = count()
        self._has_untold = threading.Condition()
        self._stopping = False
        self.dropped = 0
        """Messages that were not told because too many waited."""
        self._threads = [
            threading.Thread(target=self._guarded, args=(run,), name=f"{name} {what}", daemon=True)
            for what, run in (("hearing", self._hear), ("telling", self._tell))
        ]
        for thread in self._threads:
            thread.start()

    def _guarded(self, run: Callable[[], None]) -> None:
        try:
            run()
        except BaseException as failure:  # noqa: BLE001 - a gateway that is cut off must not go on
            if not self._stopping:
                _log.exception("the gateway has lost its domain")
                self._on_failed(failure)

    # -- hearing -----------------------------------------------------------------------------------

    def _hear(self) -> None:
        while not self._stopping:
            self._waiter.wait(PAUSE_S)
            heard: list[Heard | NotHeard] = []
            for reader in self._readers:
                heard += [event for one in reader.take() if (event := _event(one)) is not None]
            for event in heard:
                if isinstance(event, Heard) and isinstance(event.message, MailboxReport):
                    self._meet(event.message.mailbox)
            if heard:
                handled = self._take(heard)
                while not handled.wait(PAUSE_S) and not self._stopping:
                    pass

    def _meet(self, mailbox: str) -> None:
        """Be found by a mailbox before the first receipt: nobody keeps those."""
        with self._has_untold:
            self._writer(channels.MAIL_RECEIPTS, mailbox)

    # -- telling -----------------------------------------------------------------------------------

    def tell(self, write: Write | Withdraw) -> None:
        """Have a message written, or one withdrawn, after what was told before."""
        message = write.attachment if isinstance(write, Withdraw) else write.message
        with self._has_untold:
            key = self._key(message)
            if key is None:
                if len(self._untold) >= MOST_UNTOLD:
                    self.dropped += 1
                    return
                key = next(self._numbers)
            self._untold[key] = write
            self._untold.move_to_end(key)
            self._has_untold.notify()

    @staticmethod
    def _key(message: Message) -> Hashable | None:
        if isinstance(message, Attachment):
            return ("attachment", message.node)
        return "report" if isinstance(message, GatewayReport) else None

    def _tell(self) -> None:
        while True:
            with self._has_untold:
                self._has_untold.wait_for(lambda: self._untold or self._stopping)
                if not self._untold:
                    return
                key, write = self._untold.popitem(last=False)
                if isinstance(write, Withdraw):
                    self._writer(channels.ATTACHMENTS, "").withdraw(write.attachment)
                    continue
                writer = self._writer(channels.channel_of(type(write.message)), write.to)
            if not writer.write(write.message) and isinstance(write.message, Attachment):
                self._again(key, write)

    def _again(self, key: Hashable, write: Write) -> None:
        """Nobody repeats an attachment: it is told later, unless there is a newer one."""
        with self._has_untold:
            if not self._stopping:
                self._untold.setdefault(key, write)

    def _writer(self, channel: channels.Channel, to: str) -> Writer:
        key = (channel.name, to)
        writer = self._writers.get(key)
        if writer is None:
            writer = self._writers[key] = self._participant.writer(channel, to)
            if len(self._writers) > MOST_WRITERS:
                self._writers.popitem(last=False)[1].close()
        self._writers.move_to_end(key)
        return writer

    def close(self) -> None:
        """Tell what waits, and stop; call it before the participant is closed."""
        with self._has_untold:
            self._stopping = True
            self._has_untold.notify()
        self._waiter.wake()
        for thread in self._threads:
            thread.join()


def _event(message: Any) -> Heard | NotHeard | None:
    if not isinstance(message, channels.Gone):
        return Heard(message)
    if message.message_type in (GatewayReport, MailboxReport):
        return NotHeard(message.message_type, message.key[0])
    return None
