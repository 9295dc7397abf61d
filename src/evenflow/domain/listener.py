"""Taking in what some channels say, for a while: for commands that look at a domain.

Channels keep their newest messages, so who listens for a second or two knows the present state.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from evenflow.domain.channels import Channel
    from evenflow.domain.cyclone import Participant


PIECE_S: Final = 0.1
"""The longest wait without hearing signals."""


class Listener:
    """Readers of some channels. Used by one thread.

    Args:
        participant: Where to read.
        channels: What to read.
        hear: Called with each message, and with `Gone`.
    """

    def __init__(
        self, participant: Participant, channels: Iterable[Channel], hear: Callable[[Any], None]
    ) -> None:
        self._hear = hear
        self._waiter = participant.waiter()
        self._readers = [participant.reader(channel) for channel in channels]
        for reader in self._readers:
            self._waiter.attach(reader)

    def listen(self, seconds: float) -> None:
        """Hear what arrives within this time."""
        deadline = time.monotonic() + seconds
        while (left := deadline - time.monotonic()) > 0:
            # In pieces: a signal is heard by Python between two of them, not within one.
            self._waiter.wait(min(left, PIECE_S))
            for reader in self._readers:
                for message in reader.take():
                    self._hear(message)
