"""What a publisher hears: commits and requests for its writer, the map, beats, and of consumers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from evenflow.domain import channels

if TYPE_CHECKING:
    from collections.abc import Iterator

    from evenflow.domain.cyclone import Participant


class Inbox:
    """The readers of one publisher.

    Args:
        participant: Where they are opened.
        writer: The publisher's writer.
        served: Whether its topic has consumers.
    """

    def __init__(self, participant: Participant, writer: int, *, served: bool) -> None:
        partition = channels.writer_partition(writer)
        self._readers = [
            participant.reader(channel, [partition])
            for channel in (channels.COMMITS, channels.REQUESTS)
        ]
        self._readers += map(participant.reader, (channels.MAPS, channels.BEATS))
        if served:
            # In this order: who is told of a consumer before a commit keeps what it needs.
            self._readers += map(participant.reader, (channels.PROGRESS, channels.CONSUMERS))
        self._waiter = participant.waiter()
        for reader in self._readers:
            self._waiter.attach(reader)

    def wait(self, timeout_s: float) -> None:
        """Wait until there is something to hear, or somebody wakes."""
        self._waiter.wait(timeout_s)

    def wake(self) -> None:
        """End a wait; any thread may."""
        self._waiter.wake()

    def take(self) -> Iterator[Any]:
        """Everything that has come."""
        for reader in self._readers:
            yield from reader.take()

    def close(self) -> None:
        """Close the readers."""
        self._waiter.close()
        for reader in self._readers:
            reader.close()
