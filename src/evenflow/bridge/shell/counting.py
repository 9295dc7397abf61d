"""How many messages each device has sent and got, told to whoever looks.

Nobody needs these figures but who asks for them (``evenflow devices``), and there may be thousands;
so they are told once a second, a page of devices a message, while there is a reader, and not else.
"""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Final

from evenflow.bridge.protocol.guid import guid_text
from evenflow.closing import Closing
from evenflow.domain.channels import DEVICE_COUNTS
from evenflow.model.messages import DeviceCounts

if TYPE_CHECKING:
    from collections.abc import Iterator

    from evenflow.bridge.shell.bridge import Bridge
    from evenflow.domain.cyclone import Participant

PAUSE_S: Final = 0.5
PAGE: Final = 500
"""Devices in a message."""


class CountTeller(Closing):
    """Tells the counts of a bridge's devices until it is closed."""

    def __init__(self, bridge: Bridge, participant: Participant) -> None:
        self._bridge = bridge
        self._writer = participant.writer(DEVICE_COUNTS)
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._run, name="device counts", daemon=True)
        self._thread.start()

    def _run(self) -> None:
        while not self._stopping.wait(PAUSE_S):
            if self._writer.matched():
                for page in self._pages():
                    self._writer.write(page)

    def _pages(self) -> Iterator[DeviceCounts]:
        sessions = list(self._bridge.core.sessions)
        for first in range(0, len(sessions), PAGE):
            some = sessions[first : first + PAGE]
            yield DeviceCounts(
                self._bridge.name,
                tuple(guid_text(one.guid) for one in some),
                tuple(one.received for one in some),
                tuple(one.sent for one in some),
                tuple(one.lost_up + one.lost_down for one in some),
            )

    def close(self) -> None:
        """Stop; call it before the participant is closed."""
        self._stopping.set()
        self._thread.join()
        self._writer.close()
