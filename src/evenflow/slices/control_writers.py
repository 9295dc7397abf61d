"""Where a process's messages leave: one DDS writer for each channel and recipient.

Writers are opened when they are needed. Most addressed channels keep their newest messages for
readers that are found late, so the first message through a new writer is not lost. The cache of a
handover is too large to be kept: its writer is opened when the session begins
(:meth:`ControlWriters.prepare`) and waits for its reader before it writes.
"""

from __future__ import annotations

import threading
import time
from typing import TYPE_CHECKING

from evenflow.domain.channels import Channel, channel_of

if TYPE_CHECKING:
    from collections.abc import Iterable

    from evenflow.domain.cyclone import Participant, Writer
    from evenflow.slices.actions import Send

MEET_S = 0.5
"""How long a message that nobody keeps waits for its reader to be found."""
FAREWELL_S = 1.0
"""How long a process that leaves waits until others have its last messages."""


class ControlWriters:
    """The control writers of one process. Any thread may send."""

    def __init__(self, participant: Participant) -> None:
        self._participant = participant
        self._lock = threading.Lock()
        self._writers: dict[tuple[str, str], Writer] = {}

    def prepare(self, channel: Channel, to: str) -> Writer:
        """Open the writer to a recipient, so that its reader is found before it is needed."""
        with self._lock:
            key = (channel.name, to)
            writer = self._writers.get(key)
            if writer is None:
                writer = self._writers[key] = self._participant.writer(channel, to)
            return writer

    def send(self, send: Send) -> bool:
        """Write a message to its recipient; False when there was no room for it."""
        channel = channel_of(type(send.message))
        writer = self.prepare(channel, send.to)
        if send.to and not channel.kept:
            deadline = time.monotonic() + MEET_S
            while not writer.matched() and time.monotonic() < deadline:
                time.sleep(0.001)
        return writer.write(send.message)

    def forget(self, to: str) -> None:
        """A recipient is gone: close its writers."""
        with self._lock:
            gone = [key for key in self._writers if key[1] == to]
            writers = [self._writers.pop(key) for key in gone]
        for writer in writers:
            writer.close()

    def close(self, farewell_s: float = 0.0) -> None:
        """Close all writers; before that nobody may be sending.

        Args:
            farewell_s: How long their newest messages may take to arrive.
        """
        with self._lock:
            writers = list(self._writers.values())
            self._writers.clear()
        close_writers(writers, farewell_s)


def close_writers(writers: Iterable[Writer], farewell_s: float) -> None:
    """Close writers when what they wrote has arrived, or the time for all of them is up."""
    deadline = time.monotonic() + farewell_s
    for writer in writers:
        writer.is_acked(max(0.0, deadline - time.monotonic()))
        writer.close()
