"""The subscriber: a program that receives the items of a topic without owning slices.

>>> with Subscriber("items", senders=["car-7"]) as subscriber:  # doctest: +SKIP
...     for batch in subscriber:
...         print(batch.slice, batch.ids, len(batch))

It reads what publishers send to any node, and what they send again
(:mod:`evenflow.slices.subscriber.core` says what comes of that). A thread takes everything at once
and puts it where the program finds it; when the program does not fetch it, the oldest items are
dropped and counted (:mod:`~evenflow.slices.subscriber.waiting_items`). So a slow program costs
nobody anything but itself.

Unless told otherwise it reads *best effort*: what the network loses is missing, and counted, and no
publisher waits for it. A *reliable* subscriber is sent again what was lost. Publishers then wait
for its acknowledgements as for a node's: one that is stopped slows them down, until DDS takes it
for gone (``domain.liveliness_s``).
"""

from __future__ import annotations

from collections.abc import Collection
from contextlib import ExitStack
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, TypeGuard

import numpy as np

from evenflow.config import Config
from evenflow.domain import enter
from evenflow.domain.channels import ANYBODY, CUTS, EPOCHS, LEDGERS, Gone, passing
from evenflow.errors import ConfigError
from evenflow.model.batch import Batch
from evenflow.model.messages import EpochClose
from evenflow.slices.subscriber.core import SubscriberCore
from evenflow.slices.subscriber.reception import Reception
from evenflow.slices.subscriber.waiting_items import WaitingItems

if TYPE_CHECKING:
    from evenflow.domain.cyclone import Participant

QUEUE_BYTES: Final = 16 << 20


@dataclass(frozen=True, slots=True)
class SubscriberStats:
    """What a subscriber has received, and what not."""

    received: int
    """Items that came and were wanted."""
    waiting_bytes: int
    """Bytes of samples whose items the program has not fetched."""
    dropped: int
    """Items that were dropped because the program did not fetch them."""
    missing: int
    """Items published since it is there that have not come; those on their way count too."""
    repeated: int
    """Items that came again and were not given again."""
    damaged: int
    """Samples that could not be decoded."""


class Subscriber(Reception[Batch]):
    """Receives the items of one topic; use it as a context manager.

    Args:
        topic: Name of the topic.
        senders: Items of these senders alone.
        slices: Items of these slices alone.
        reliable: Whether publishers send again what the network loses, and wait for this program.
        queue_bytes: Bytes of samples that may wait for the program; then the oldest are dropped.
        config: The configuration; ``evenflow.toml`` when none is given.
        participant: The process's place in the domain; None: one of its own.
    """

    def __init__(
        self,
        topic: str = "items",
        *,
        senders: Collection[str] = (),
        slices: Collection[int] = (),
        reliable: bool = False,
        queue_bytes: int = QUEUE_BYTES,
        config: Config | None = None,
        participant: Participant | None = None,
    ) -> None:
        self.config = Config.of(config)
        self.topic = self.config.topic(topic)
        _check(senders, slices, self.topic.slices, queue_bytes)
        self._core = SubscriberCore(topic, slices=slices, senders=senders)
        self._waiting = WaitingItems(queue_bytes)
        own = participant is None
        domain = participant or enter(self.config.domain)
        super().__init__(f"subscriber of topic {topic!r}", domain, own=own)
        self._received = 0
        with ExitStack() as opened:
            opened.callback(self.close)
            # Epochs first: of a writer that is met at its beginning everything counts.
            self._epochs = self._read(domain.reader(EPOCHS))
            # Of a served topic a cut names an epoch, and no numbers.
            told = () if self.topic.served else (CUTS, LEDGERS)
            self._ends = [self._read(domain.reader(channel)) for channel in told]
            self._items = [
                self._read(domain.reader(channel, [ANYBODY]))
                for channel in passing(topic, best_effort=not reliable)
            ]
            self._start()
            opened.pop_all()

    @property
    def publishers(self) -> int:
        """DDS writers of items that are connected: for each publisher, one for each node."""
        return self._items[0].matched()

    @property
    def stats(self) -> SubscriberStats:
        """What has come so far, and what has not."""
        with self._arrived:
            return SubscriberStats(
                self._received,
                self._waiting.size,
                self._waiting.dropped,
                self._core.missing,
                self._core.repeated,
                sum(reader.damaged for reader in self._items),
            )

    def _fetch(self) -> Batch | None:
        return self._waiting.take()

    def _take_in(self) -> bool:
        self._hear_of_ends()
        told = self._epochs.take()
        ended = [one for one in told if isinstance(one, EpochClose) and one.closing]
        for message in told:
            if isinstance(message, EpochClose) and not message.closing:
                self._core.on_epoch_closed(message)
            elif isinstance(message, Gone):
                self._core.on_writer_gone(message.key[0])
        before = self._received
        for reader in self._items:
            for sample in reader.take():
                batches = self._core.receive(sample)
                if batches:
                    self._waiting.add(sample.size, batches)
                    self._received += sum(batch.count for batch in batches)
        for close in ended:  # after its items
            self._core.on_epoch_closed(close)
        return self._received > before

    def _hear_of_ends(self) -> None:
        for reader in self._ends:
            for message in reader.take():
                if not isinstance(message, Gone):
                    self._core.on_ledger(message)


def _check(senders: object, slices: object, slice_count: int, queue_bytes: object) -> None:
    if not _is_list(senders) or not all(isinstance(one, str) for one in senders):
        raise ConfigError("senders", senders, "must be a list of names")
    if not _is_list(slices):
        raise ConfigError("slices", slices, "must be a list of numbers")
    for one in slices:
        if not isinstance(one, int | np.integer) or not 0 <= one < slice_count:
            raise ConfigError("slices", one, f"must be whole numbers below {slice_count}")
    if not isinstance(queue_bytes, int) or queue_bytes < 1:
        raise ConfigError("queue_bytes", queue_bytes, "must be a whole number of at least 1")


def _is_list(given: object) -> TypeGuard[Collection[object]]:
    """Whether it has many, and is not one that was taken for many by mistake."""
    return isinstance(given, Collection) and not isinstance(given, str | bytes)
