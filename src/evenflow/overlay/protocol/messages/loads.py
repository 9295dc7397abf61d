"""Messages about load: what brokers bear, where a topic would lie best, and who takes it over.

A `Share` floods the overlay as news of members does; the others travel in envelopes.
"""

from __future__ import annotations

from enum import IntEnum

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


def _check_spot(nodes: tuple[str, ...]) -> None:
    if not 1 <= len(nodes) <= 3 or len(set(nodes)) != len(nodes):
        raise OverlayError(f"a topic lies on one to three different brokers, not {nodes}")


class FailureLoad(Value, frozen=True):
    """What the failure of a broker would put on another one."""

    failed: Text
    load: Natural


class LoadReport(Sendable, frozen=True):
    """What a broker leads and what it bears itself, for the brokers around it."""

    share: Share
    stored: Natural
    """Bytes of the topics for which it is the closest or second-closest: equation 2."""
    failures: tuple[FailureLoad, ...]
    """What it would bear besides after each failure that concerns it: the sums of equation 3."""

    def __post_init__(self) -> None:
        failed = {failure.failed for failure in self.failures}
        if len(failed) != len(self.failures) or self.share.broker in failed:
            raise OverlayError("each other broker fails once")


class PlaceLoad(Value, frozen=True):
    """The loads that a topic meets at a coordinate, itself not counted (section IV-D)."""

    maximum: Natural
    minimum: Natural
    spare: Natural


class Place(Value, frozen=True):
    """A coordinate where a topic could lie."""

    coordinate: Coordinate
    nodes: tuple[Text, ...]
    """The brokers that it would burden there, closest first."""
    loads: PlaceLoad

    def __post_init__(self) -> None:
        _check_spot(self.nodes)


class Scope(IntEnum):
    """Of which coordinates the best one is asked for."""

    COORDINATE = 0
    """Of the one that was asked alone."""
    CELL = 1
    """Of the cell of the broker that is asked."""
    REGION = 2
    """Of its cell and those of its neighbours."""


class AskPlace(Sendable, frozen=True):
    """Which is the best of your coordinates for a topic?"""

    number: Natural
    """The asker's number for this query; it never gives one again."""
    scope: Scope
    coordinate: Coordinate
    nodes: tuple[Text, ...]
    """The spot on which the topic lies now: the loads that are asked for do not count it."""
    load: Natural
    """Its bytes."""

    def __post_init__(self) -> None:
        _check_spot(self.nodes)


class PlaceIs(Sendable, frozen=True):
    """The answer to a query."""

    number: Natural
    place: tuple[Place, ...]
    """The best coordinate; none: the loads around here are not known yet."""

    def __post_init__(self) -> None:
        if len(self.place) > 1:
            raise OverlayError("a query has one best place, or none")


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
    here: tuple[PlaceLoad, ...] = ()
    """The loads that it meets where it lies, for a broker that is not told all of them."""


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
