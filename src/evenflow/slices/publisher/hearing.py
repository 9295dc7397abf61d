"""What a publisher hears: readers for all that concerns it, under whatever id it has.

A publisher whose stream was cut has another id (:mod:`evenflow.slices.publisher.renewal`); what is
said to the old one still concerns it.
"""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Any

from evenflow.domain import channels

if TYPE_CHECKING:
    from collections.abc import Iterator

    from evenflow.domain.cyclone import Participant, Waiter
    from evenflow.model.messages import (
        Beat,
        Commit,
        ConsumerCommit,
        Ledger,
        MapPage,
        Progress,
        ReplayRequest,
        WriterCut,
    )
    from evenflow.slices.publisher.core import PublisherCore

    Heard = Commit | ReplayRequest | ConsumerCommit | Progress | MapPage | Beat | Ledger | WriterCut


_log = logging.getLogger(__name__)


class Hearing:
    """The readers of one publisher.

    Args:
        participant: Where they are opened.
        waiter: Wakes the publisher.
        core: The publisher.
    """

    def __init__(self, participant: Participant, waiter: Waiter, core: PublisherCore) -> None:
        self._writer = core.writer
        """The id that it has now."""
        self._participant, self._waiter = participant, waiter
        told = [channels.MAPS, channels.BEATS, channels.CUTS, channels.LEDGERS]
        if core.consumers is not None:
            # In this order: who is told of a consumer before a commit keeps what it needs.
            told += [channels.PROGRESS, channels.CONSUMERS]
        self._readers = [participant.reader(channel) for channel in told]
        for reader in self._readers:
            waiter.attach(reader)
        self._listen()

    def follow(self, core: PublisherCore) -> bool:
        """Listen under another id, when the publisher has one now; return whether it has."""
        if core.writer == self._writer:
            return False
        _log.warning(
            "nobody heard this publisher of topic %r for long: its stream was cut, and it goes on"
            " as writer %016x", core.topic, core.writer,
        )  # fmt: skip
        self._writer = core.writer
        self._listen()
        return True

    def _listen(self) -> None:
        partition = [channels.writer_partition(self._writer)]
        for channel in (channels.REQUESTS, channels.COMMITS):
            reader = self._participant.reader(channel, partition)
            self._waiter.attach(reader)
            self._readers.insert(0, reader)

    def take(self) -> Iterator[Any]:
        """What has arrived."""
        for reader in list(self._readers):
            yield from reader.take()

    def close(self) -> None:
        """Hear nothing more."""
        for reader in self._readers:
            reader.close()
