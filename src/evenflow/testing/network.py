"""The simulated network: everything on its way, delivered, repeated and lost as a test likes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Parcel:
    """Something on its way."""

    to: str
    """Node id, writer id (16 hex digits), name of a consumer, or ``balancer``."""
    what: object
    replayed: bool = False
    certain: bool = False
    """Not a message but a fact (a death): it may be late but not lost."""


class Network:
    """Parcels between simulated processes, in the order they were posted.

    Args:
        arrive: Takes a parcel to its recipient.
    """

    def __init__(self, arrive: Callable[[Parcel], None]) -> None:
        self.parcels: list[Parcel] = []
        self._arrive = arrive

    def post(self, parcel: Parcel) -> None:
        """A parcel sets out."""
        self.parcels.append(parcel)

    def deliver(self, index: int) -> None:
        """A parcel arrives."""
        self._arrive(self.parcels.pop(index))

    def repeat(self, index: int) -> None:
        """A parcel arrives, and will arrive again."""
        self._arrive(self.parcels[index])

    def lose(self, index: int) -> None:
        """A parcel is lost, unless it is a fact."""
        if not self.parcels[index].certain:
            del self.parcels[index]
