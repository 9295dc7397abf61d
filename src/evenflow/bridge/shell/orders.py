"""What is to be made and dropped: of each entity of a device only the newest order waits.

A device may begin a new run as often as it likes, and each time its entities are dropped and made
anew, faster than DDS can. An order that nobody has taken yet is void when the next one for the same
entity comes; so what waits is bounded by the entities of devices, and not by what devices say.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from evenflow.bridge.events import DropEntity, MakeEntity

    Order = MakeEntity | DropEntity


class Orders:
    """Orders from one thread to another."""

    def __init__(self) -> None:
        self._waiting: OrderedDict[tuple[bytes, int], Order] = OrderedDict()
        self._changed = threading.Condition()
        self._closed = False

    def __len__(self) -> int:
        return len(self._waiting)

    def put(self, order: Order) -> None:
        """Order something, after what was ordered before."""
        key = (order.guid, order.entity)
        with self._changed:
            self._waiting.pop(key, None)
            self._waiting[key] = order
            self._changed.notify()

    def get(self) -> Order | None:
        """Wait for an order and take it; None: there are to be no more."""
        with self._changed:
            self._changed.wait_for(lambda: self._waiting or self._closed)
            return None if self._closed else self._waiting.popitem(last=False)[1]

    def close(self) -> None:
        """What waits is void."""
        with self._changed:
            self._closed = True
            self._changed.notify()
