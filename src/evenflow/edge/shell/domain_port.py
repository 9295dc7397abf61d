"""The place of a door process in the domain: what it hears, and what it tells.

Two threads, because a write may wait for a slow reader. *Hearing* hands messages to the process's
loop and takes no more before they are handled: what comes meanwhile waits in DDS, within its
bounds. *Telling* writes in order. A word on a *subject* takes the place of an older one that still
waits, and if DDS does not take it it is told later, unless there is news; when DDS takes none of
those that wait, a moment later. Of words without a
subject at most ``MOST_UNTOLD`` wait; what is beyond that is dropped and counted, because whoever
needs it repeats it.
"""

from __future__ import annotations

import logging
import threading
from collections import OrderedDict
from dataclasses import dataclass
from enum import Enum, auto
from itertools import count
from typing import TYPE_CHECKING, Any, Final

from evenflow.closing import Closing
from evenflow.domain.channels import channel_of

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Iterable, Sequence

    from evenflow.domain.channels import Channel
    from evenflow.domain.cyclone import Participant, Writer
    from evenflow.model.wire import Message

    Take = Callable[[list[Any]], threading.Event]

PAUSE_S: Final = 0.5
RETRY_S: Final = 0.05
"""How long it waits when DDS has taken nothing of all that is to be told."""
MOST_UNTOLD: Final = 20_000
MOST_WRITERS: Final = 256
"""Writers to single processes; beyond it the one not used for longest is closed."""
_log = logging.getLogger(__name__)


class How(Enum):
    """What is done with a message of a keyed channel."""

    WRITE = auto()
    WITHDRAW = auto()
    DISPOSE = auto()


@dataclass(frozen=True, slots=True)
class Word:
    """What is to be told."""

    message: Message
    to: str = ""
    """Partition: who it is for; empty for everybody."""
    how: How = How.WRITE


class DomainPort(Closing):
    """Hears and tells from ``start`` until it is closed.

    Args:
        name: The process, for the names of its threads and for the log.
        participant: Its place in the domain.
        heard: What it reads: channels, and of each the partitions.
        take: Hands messages, and what is gone, to the process; returns what is set when they are
            handled.
        on_failed: Told what ended a thread.
    """

    def __init__(
        self,
        name: str,
        participant: Participant,
        heard: Iterable[tuple[Channel, Sequence[str]]],
        take: Take,
        on_failed: Callable[[BaseException], object],
    ) -> None:
        self._name = name
        self._participant = participant
        self._take = take
        self._on_failed = on_failed
        self._readers = [participant.reader(*one) for one in heard]
        self._waiter = participant.waiter(*self._readers)
        self._to_all: dict[str, Writer] = {}
        self._to_one: OrderedDict[tuple[str, str], Writer] = OrderedDict()
        self._writers_lock = threading.Lock()
        self._untold: OrderedDict[Hashable, Word] = OrderedDict()
        self._numbers = count()
        self._has_untold = threading.Condition()
        self._stopping = False
        self.dropped = 0
        """Words that were not told because too many waited."""
        self._threads = [
            threading.Thread(target=self._guarded, args=(run,), name=f"{name} {what}", daemon=True)
            for what, run in (("hearing", self._hear), ("telling", self._tell))
        ]

    def start(self) -> None:
        """Begin to hear and to tell."""
        for thread in self._threads:
            thread.start()

    def _guarded(self, run: Callable[[], None]) -> None:
        try:
            run()
        except BaseException as failure:  # noqa: BLE001 - who is cut off must not go on
            if not self._stopping:
                _log.exception("%s has lost its domain", self._name)
                self._on_failed(failure)

    def _hear(self) -> None:
        while not self._stopping:
            self._waiter.wait(PAUSE_S)
            heard = [message for reader in self._readers for message in reader.take()]
            if heard:
                handled = self._take(heard)
                while not handled.wait(PAUSE_S) and not self._stopping:
                    pass

    def tell(self, word: Word, subject: Hashable | None = None) -> None:
        """Have a word told, after what was told before; with a subject it is the newest on it."""
        with self._has_untold:
            if subject is None:
                if len(self._untold) >= MOST_UNTOLD:
                    self.dropped += 1
                    return
                subject = next(self._numbers)
            self._untold[subject] = word
            self._untold.move_to_end(subject)
            self._has_untold.notify()

    def meet(self, channel: Channel, to: str = "") -> None:
        """Be found by readers before the first word to them."""
        self._writer(channel, to)

    def _tell(self) -> None:
        refused = 0
        """Words in a row that DDS did not take, and that wait again."""
        while True:
            with self._has_untold:
                self._has_untold.wait_for(lambda: self._untold or self._stopping)
                if not self._untold:
                    return
                subject, word = self._untold.popitem(last=False)
            self._close_unused_writers()
            if self._write(word) or isinstance(subject, int):
                refused = 0
                continue
            with self._has_untold:
                if not self._stopping:
                    self._untold.setdefault(subject, word)
                refused += 1
                if refused >= len(self._untold):  # else it would try them again without a rest
                    self._has_untold.wait_for(lambda: self._stopping, RETRY_S)
                    refused = 0

    def _write(self, word: Word) -> bool:
        """Say it in the domain; False when DDS does not take it now."""
        writer = self._writer(channel_of(type(word.message)), word.to)
        match word.how:
            case How.WITHDRAW:
                writer.withdraw(word.message)
            case How.DISPOSE:
                writer.dispose(word.message)
            case How.WRITE:
                return writer.write(word.message)
        return True

    def _writer(self, channel: Channel, to: str) -> Writer:
        with self._writers_lock:
            if not to:
                # Never closed: with it would go what everybody is told.
                if channel.name not in self._to_all:
                    self._to_all[channel.name] = self._participant.writer(channel)
                return self._to_all[channel.name]
            key = (channel.name, to)
            writer = self._to_one.get(key)
            if writer is None:
                writer = self._to_one[key] = self._participant.writer(channel, to)
            self._to_one.move_to_end(key)
            return writer

    def _close_unused_writers(self) -> None:
        """Only by who writes: another thread might close the one that is in use."""
        with self._writers_lock:
            while len(self._to_one) > MOST_WRITERS:
                self._to_one.popitem(last=False)[1].close()

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
