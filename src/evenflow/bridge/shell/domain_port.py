"""A bridge's place in the domain: what it hears of other bridges, and what it tells them.

Two threads, because a write may wait for a slow reader. *Hearing* hands messages to the bridge's
loop and takes no more before they are handled: what comes meanwhile waits in DDS, within its
bounds. *Telling* writes in order. All that a bridge tells is the newest word on something (its
report, its table of arcs, one of its devices, what it asks or answers about the items of one), so
of each only the newest waits, and what waits is bounded by the devices. What DDS did not take is
told later, unless there is news.
"""

from __future__ import annotations

import logging
import threading
from collections import OrderedDict
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from evenflow.bridge.item_door import door_name
from evenflow.closing import Closing
from evenflow.domain.channels import (
    ARCS,
    BRIDGES,
    DEVICES,
    SETTLE_ANSWERS,
    SETTLE_REQUESTS,
    channel_of,
)
from evenflow.model.messages import DeviceRecord, SettleAnswer, SettleRequest

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable

    from evenflow.domain.cyclone import Participant, Writer
    from evenflow.model.wire import Message

    Take = Callable[[list[Any]], threading.Event]

PAUSE_S: Final = 0.5
MOST_WRITERS: Final = 256
"""Writers to single bridges; beyond it the one not used for longest is closed."""
EVERYBODY: Final = (BRIDGES, ARCS, DEVICES)
OWN: Final = (SETTLE_REQUESTS, SETTLE_ANSWERS)
_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class _Word:
    message: Message
    to: str = ""
    """Partition: the door that it is for; empty for everybody."""
    over: bool = False
    """Whether it is disposed, and not written."""


class DomainPort(Closing):
    """Hears and tells until it is closed.

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
        self._take = take
        self._on_failed = on_failed
        self._participant = participant
        self._waiter = participant.waiter()
        self._readers = [participant.reader(channel) for channel in EVERYBODY]
        self._readers += [participant.reader(channel, [door_name(name)]) for channel in OWN]
        for reader in self._readers:
            self._waiter.attach(reader)
        self._to_all = {channel.name: participant.writer(channel) for channel in EVERYBODY}
        self._to_one: OrderedDict[tuple[str, str], Writer] = OrderedDict()
        self._untold: OrderedDict[Hashable, _Word] = OrderedDict()
        self._has_untold = threading.Condition()
        self._stopping = False
        self._threads = [
            threading.Thread(target=self._guarded, args=(run,), name=f"{name} {what}", daemon=True)
            for what, run in (("hearing", self._hear), ("telling", self._tell))
        ]
        for thread in self._threads:
            thread.start()

    def _guarded(self, run: Callable[[], None]) -> None:
        try:
            run()
        except BaseException as failure:  # noqa: BLE001 - a bridge that is cut off must not go on
            if not self._stopping:
                _log.exception("the bridge has lost its domain")
                self._on_failed(failure)

    def _hear(self) -> None:
        while not self._stopping:
            self._waiter.wait(PAUSE_S)
            heard = [message for reader in self._readers for message in reader.take()]
            if heard:
                handled = self._take(heard)
                while not handled.wait(PAUSE_S) and not self._stopping:
                    pass

    def tell(self, message: Message, to: str = "") -> None:
        """Have a message written, after what was told before."""
        self._add(_Word(message, to))

    def withdraw(self, record: DeviceRecord) -> None:
        """Have the record of a device disposed."""
        self._add(_Word(record, over=True))

    def _add(self, word: _Word) -> None:
        with self._has_untold:
            key = _subject(word)
            self._untold[key] = word
            self._untold.move_to_end(key)
            self._has_untold.notify()

    def _tell(self) -> None:
        while True:
            with self._has_untold:
                self._has_untold.wait_for(lambda: self._untold or self._stopping)
                if not self._untold:
                    return
                key, word = self._untold.popitem(last=False)
            writer = self._writer(word)
            if word.over:
                writer.dispose(word.message)
            elif not writer.write(word.message):
                with self._has_untold:
                    if not self._stopping:
                        self._untold.setdefault(key, word)

    def _writer(self, word: _Word) -> Writer:
        channel = channel_of(type(word.message))
        if not word.to:
            return self._to_all[channel.name]
        key = (channel.name, word.to)
        writer = self._to_one.get(key)
        if writer is None:
            writer = self._to_one[key] = self._participant.writer(channel, word.to)
            if len(self._to_one) > MOST_WRITERS:
                self._to_one.popitem(last=False)[1].close()
        self._to_one.move_to_end(key)
        return writer

    def close(self) -> None:
        """Tell what waits, and stop; call it before the participant is closed."""
        with self._has_untold:
            self._stopping = True
            self._has_untold.notify()
        self._waiter.wake()
        for thread in self._threads:
            thread.join()
        for reader in self._readers:
            reader.close()


def _subject(word: _Word) -> Hashable:
    """What a message is the newest word on."""
    match word.message:
        case DeviceRecord(guid=guid):
            return guid
        case SettleRequest(client=client, topic=topic) | SettleAnswer(client=client, topic=topic):
            return type(word.message).__name__, word.to, client, topic
    return type(word.message).__name__
