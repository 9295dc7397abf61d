"""Messages about load: what every broker bears, and whether one would take a topic over.

A `Share` floods the overlay as news of members does; the others travel in envelopes.
"""

from __future__ import annotations

from evenflow.errors import OverlayError
from evenflow.overlay.protocol.messages.vocabulary import ShelfId
from evenflow.overlay.space.coordinate import Coordinate
from evenflow.overlay.values import Natural, Sendable, Text, Value


class SpotLoad(Value, frozen=True):
    """The topics that a broker leads on one spot."""

    others: tuple[Text, ...]
    """The second and third broker of the spot, as far as the topics' level uses them."""
    load: Natural
    """Bytes of all these topics, those that are on their way here included."""
    topic: Text
    """The smallest of them; empty: all are on their way."""
    coordinate: Coordinate
    """Where the smallest lies."""
    size: Natural
    """Bytes of the smallest."""

    def __post_init__(self) -> None:
        if len(self.others) > 2 or len(set(self.others)) != len(self.others):
            raise OverlayError(f"a spot has two or fewer other brokers, not {self.others}")


class Share(Sendable, frozen=True):
    """What a broker leads, and where else that lies; replaces all it said before."""

    broker: Text
    incarnation: Natural
    number: Natural
    """Grows with every share of one incarnation."""
    spots: tuple[SpotLoad, ...]

    def __post_init__(self) -> None:
        if any(self.broker in spot.others for spot in self.spots):
            raise OverlayError(f"{self.broker} is another broker than itself")
        if len({spot.others for spot in self.spots}) != len(self.spots):
            raise OverlayError("a spot is named twice")


class Offer(Sendable, frozen=True):
    """Would you take this topic over?"""

    shelf: ShelfId
    """The topic at the new coordinate."""
    nodes: tuple[Text, ...]
    """The spot on which it lies now, the broker that leads it first."""
    load: Natural
    """Its bytes."""
    new: bool = False
    """It was just made: any better place will do, moving it costs nothing."""


class OfferReply(Sendable, frozen=True):
    """The answer to an offer."""

    shelf: ShelfId
    accepted: bool
    """Yes: room is reserved for it, for a while."""


class Relieve(Sendable, frozen=True):
    """Move a topic to relieve a broker, if it still lies where that broker believes."""

    shelf: ShelfId
    """The home shelf."""
    start: Coordinate
    """Where the topic lies now."""
    to: Coordinate
    rest: Natural
    """A topic that was moved less than these nanoseconds ago stays."""
