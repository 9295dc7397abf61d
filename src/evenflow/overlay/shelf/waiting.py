"""Requests that wait at a broker: each once, however often it is repeated, and bounded.

A client that has no answer asks again under the same number. While its request still waits here the
repeat changes nothing: it is dropped, and costs no more than a look. So a broker that is slow does
not get slower because it is asked more often. With no room left a request is dropped, too, and its
sender repeats it.
"""

from __future__ import annotations

from itertools import count
from typing import TYPE_CHECKING, Any, Generic, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from evenflow.overlay.protocol.messages import Envelope

Item = TypeVar("Item")


class WaitingRequests(Generic[Item]):
    """Requests in the order in which they came, with what is known of each.

    Args:
        most: How many there is room for.
    """

    def __init__(self, most: int) -> None:
        self._most = most
        self._items: dict[object, Item] = {}
        self._numbers = count()

    def __len__(self) -> int:
        return len(self._items)

    def __iter__(self) -> Iterator[Item]:
        return iter(self._items.values())

    def add(self, envelope: Envelope, body: Any, item: Item) -> bool:
        """Keep a request; return False when it waits already, or there is no room."""
        # Brokers do not number what they say; what they repeat is bounded by their own pauses.
        key = self._key(envelope, body) if envelope.client else next(self._numbers)
        if key in self._items or len(self._items) >= self._most:
            return False
        self._items[key] = item
        return True

    def has(self, envelope: Envelope, body: Any) -> bool:
        """Say whether a client's request waits already."""
        return bool(envelope.client) and self._key(envelope, body) in self._items

    @staticmethod
    def _key(envelope: Envelope, body: Any) -> tuple[object, ...]:
        return envelope.origin, envelope.client, envelope.correlation, type(body)

    def take_all(self) -> list[Item]:
        """Return all, and keep none."""
        items, self._items = list(self._items.values()), {}
        return items

    def take(self, ready: Callable[[Item], bool]) -> list[Item]:
        """Return those of which ``ready`` says so, and keep the others."""
        found = {key: item for key, item in self._items.items() if ready(item)}
        if found:
            self._items = {key: item for key, item in self._items.items() if key not in found}
        return list(found.values())

    def clear(self) -> None:
        """Forget all."""
        if self._items:
            self._items = {}
