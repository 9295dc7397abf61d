"""What a publisher hears: readers for all that concerns it, under whatever id it has.

A publisher whose stream was cut has another id (:mod:`evenflow.slices.publisher.renewal`); what is
said to the old one still concerns it.
"""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Any

from evenflow.domain import channels
from evenflow.errors import WriterEnded

if TYPE_CHECKING:
    from collections.abc import Iterator

    from evenflow.domain.cyclone import Participant
    from evenflow.model.messages import (
        Beat,
        Commit,
        ConsumerCommit,
        Ledger,
        MapPage,
        Progress,
        ReplayRequest,
        RoomWanted,
        WriterCut,
    )
    from evenflow.slices.publisher.core import PublisherCore

    FromNode = Commit | ReplayRequest | Progress | RoomWanted
    Heard = FromNode | ConsumerCommit | MapPage | Beat | Ledger | WriterCut


_log = logging.getLogger(__name__)


class ControlReaders:
    """The readers of one publisher.

    Args:
        participant: Where they are opened.
        core: The publisher.
    """

    def __init__(self, participant: Participant, core: PublisherCore) -> None:
        self._writer = core.writer
        """The id that it has now."""
        self._participant, self._waiter = participant, participant.waiter()
        told = [channels.MAPS, channels.BEATS, channels.CUTS, channels.LEDGERS]
        if core.consumers is not None:
            # In this order: who is told of a consumer before a commit keeps what it needs.
            told += [channels.PROGRESS, channels.CONSUMERS]
        if core.forgetting.keeps:
            told.append(channels.ROOM)
        self._readers = [participant.reader(channel) for channel in told]
        for reader in self._readers:
            self._waiter.attach(reader)
        self._listen()

    def follow(self, core: PublisherCore) -> bool:
        """Listen under another id, when the publisher has one now; return whether it has.

        Raises:
            WriterEnded: It was ended, and cannot go on.
        """
        if core.refused:
            raise WriterEnded(core.topic, core.refused)
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

    def wait(self, timeout_s: float) -> None:
        """Wait until there is something to hear, or somebody wakes."""
        self._waiter.wait(timeout_s)

    def wake(self) -> None:
        """End a wait; any thread may."""
        self._waiter.wake()

    def take(self) -> Iterator[Any]:
        """What has arrived."""
        for reader in list(self._readers):
            yield from reader.take()

    def close(self) -> None:
        """Hear nothing more."""
        self._waiter.close()
        for reader in self._readers:
            reader.close()
