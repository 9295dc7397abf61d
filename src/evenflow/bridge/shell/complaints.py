"""Logs why entities of devices cannot be made: seldom, because a device asks again and again.

Each reason is told once in `AGAIN_S`, and no more than `MOST` reasons are: what devices say must
not fill a log.
"""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Final

from evenflow.bridge.protocol.guid import guid_text

if TYPE_CHECKING:
    from collections.abc import Callable

AGAIN_S: Final = 60.0
MOST: Final = 20
_log = logging.getLogger(__name__)


class Complaints:
    """Of one thread of a bridge.

    Args:
        clock: The time in seconds.
    """

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._told: set[str] = set()
        self._until = 0.0

    def tell(self, guid: bytes, entity: int, fault: str) -> None:
        """Log why an entity of a device is not made, unless that was told."""
        now = self._clock()
        if now >= self._until:
            self._told.clear()
            self._until = now + AGAIN_S
        if fault not in self._told and len(self._told) < MOST:
            self._told.add(fault)
            _log.warning("entity %d of device %s is refused: %s", entity, guid_text(guid), fault)
