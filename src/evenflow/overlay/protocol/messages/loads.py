"""Messages about load: what every broker bears, and whether one would take a topic over.

A `Share` floods the overlay like news of members do; the others are letters.
"""

from __future__ import annotations

from dataclasses import dataclass

from evenflow.errors import OverlayError
from evenflow.overlay.protocol.messages.vocabulary import Shelf
from evenflow.overlay.space.coordinate import Coordinate


@dataclass(frozen=True, slots=True)
class Portion:
    """The topics that a broker leads on one spot."""

    others: tuple[str, ...]
    """The second and third broker of the spot, as far as the topics' level uses them."""
    load: int
    """Octets of all these topics, those that are on their way here included."""
    topic: str
    """The smallest of them; empty: all are on their way."""
    coordinate: Coordinate
    """Where the smallest lies."""
    size: int
    """Octets of the smallest."""

    def __post_init__(self) -> None:
        if len(self.others) > 2 or len(set(self.others)) != len(self.others):
            raise OverlayError(f"a spot has two or fewer other brokers, not {self.others}")


@dataclass(frozen=True, slots=True)
class Share:
    """What a broker leads, and where else that lies; replaces all it said before."""

    broker: str
    incarnation: int
    number: int
    """Grows with every share of one incarnation."""
    portions: tuple[Portion, ...]

    def __post_init__(self) -> None:
        if any(self.broker in portion.others for portion in self.portions):
            raise OverlayError(f"{self.broker} is another broker than itself")
        if len({portion.others for portion in self.portions}) != len(self.portions):
            raise OverlayError("a spot is named twice")


@dataclass(frozen=True, slots=True)
class Offer:
    """Would you take this topic over?"""

    shelf: Shelf
    """The topic at the new coordinate."""
    nodes: tuple[str, ...]
    """The spot on which it lies now, the broker that leads it first."""
    load: int
    """Its octets."""


@dataclass(frozen=True, slots=True)
class Verdict:
    """The answer to an offer."""

    shelf: Shelf
    accepted: bool
    """Yes: room is kept for it, for a while."""


@dataclass(frozen=True, slots=True)
class Relieve:
    """Move a topic to relieve a broker, if it still lies where that broker believes."""

    shelf: Shelf
    """The home shelf."""
    start: Coordinate
    """Where the topic lies now."""
    to: Coordinate
    rest: int
    """A topic that was moved less than these nanoseconds ago stays."""
