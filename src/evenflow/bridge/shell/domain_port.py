"""A bridge's place in the domain: what it hears of other bridges, and what it tells them.

Two threads, because a write may wait for a slow reader. *Hearing* hands messages to the bridge's
loop and takes no more before they are handled: what comes meanwhile waits in DDS, within its
bounds. *Telling* writes in order. All that a bridge tells is the newest word on something (its
report, its table of arcs, one of its devices), so of each only the newest waits, and what waits is
bounded by the devices. What DDS did not take is told later, unless there is news.
"""

from __future__ import annotations

import logging
import threading
from collections import OrderedDict
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from evenflow.closing import Closing
from evenflow.domain.channels import ARCS, BRIDGES, DEVICES, channel_of
from evenflow.model.messages import ArcTable, BridgeReport, DeviceRecord

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable

    from evenflow.domain.cyclone import Participant

    Told = BridgeReport | ArcTable | DeviceRecord
    Take = Callable[[list[Any]], threading.Event]

PAUSE_S: Final = 0.5
CHANNELS: Final = (BRIDGES, ARCS, DEVICES)
_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class _Word:
    message: Told
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
        self._waiter = participant.waiter()
        self._readers = [participant.reader(channel) for channel in CHANNELS]
        for reader in self._readers:
            self._waiter.attach(reader)
        self._writers = {channel.name: participant.writer(channel) for channel in CHANNELS}
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

    def tell(self, message: Told) -> None:
        """Have a message written, after what was told before."""
        self._add(_Word(message))

    def withdraw(self, record: DeviceRecord) -> None:
        """Have the record of a device disposed."""
        self._add(_Word(record, over=True))

    def _add(self, word: _Word) -> None:
        with self._has_untold:
            key = _subject(word.message)
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
            writer = self._writers[channel_of(type(word.message)).name]
            if word.over:
                writer.dispose(word.message)
            elif not writer.write(word.message):
                with self._has_untold:
                    if not self._stopping:
                        self._untold.setdefault(key, word)

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


def _subject(message: Told) -> Hashable:
    """What a message is the newest word on."""
    if isinstance(message, DeviceRecord):
        return message.guid
    return type(message).__name__
