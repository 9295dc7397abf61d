"""Connections to nodes by Arrow Flight, kept for the next question.

They are shared by all threads of a process, and bounded: the one that was not used for longest is
let go. None is closed by hand, because another thread may be reading by it; it ends when the last
one that uses it lets go of it.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from typing import TYPE_CHECKING, Any, Final

from pyarrow import flight

if TYPE_CHECKING:
    from collections.abc import Callable

MOST_CLIENTS: Final = 64
"""Nodes that are connected at most; addresses change whenever a node begins anew."""


class FlightClients:
    """Clients by address. Any thread may call.

    Args:
        connect: Makes a client of an address.
    """

    def __init__(self, connect: Callable[[str], Any] = flight.FlightClient) -> None:
        self._connect = connect
        self._lock = threading.Lock()
        self._kept: OrderedDict[str, Any] = OrderedDict()

    def get(self, address: str) -> Any:
        """The client of an address; a new one if none is kept."""
        with self._lock:
            client = self._kept.get(address)
            if client is None:
                client = self._kept[address] = self._connect(address)
            self._kept.move_to_end(address)
            while len(self._kept) > MOST_CLIENTS:
                self._kept.popitem(last=False)
        return client

    def drop(self, address: str) -> None:
        """It did not answer: who asks there next connects anew."""
        with self._lock:
            self._kept.pop(address, None)
