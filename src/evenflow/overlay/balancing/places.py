"""Places for topics: what a search for a better one ends with, whoever searches it and how."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from evenflow.overlay.balancing.decision import PlacedTopic
from evenflow.overlay.balancing.preference import CoordinateLoad
from evenflow.overlay.protocol.messages import PlaceLoad

if TYPE_CHECKING:
    from evenflow.overlay.protocol.messages import Offer
    from evenflow.overlay.space.coordinate import Coordinate

MARGIN = 0.01
"""Part of the mean node load by which a move must lower the highest load that it meets."""


@dataclass(frozen=True, slots=True)
class BetterPlace:
    """Where a topic would lie better."""

    coordinate: Coordinate
    spot: tuple[str, ...]
    """The brokers that it will burden."""
    here: CoordinateLoad
    """The loads that it meets where it lies, itself not counted."""
    there: CoordinateLoad
    """Those it would meet."""
    seen: tuple[tuple[str, float], ...]
    """Loads before and as expected after, for the history."""


@dataclass(frozen=True, slots=True)
class Wish:
    """A topic for which a better place is wanted."""

    placed: PlacedTopic[str]
    start: Coordinate
    """Where it lies."""
    new: bool = False
    """It was just made: anything better will do, as in algorithm 1."""


@dataclass(frozen=True, slots=True)
class SearchEnd:
    """How a search has ended."""

    wish: Wish
    better: BetterPlace | None
    """None: the topic stays where it lies."""
    complete: bool
    """Whether all that was asked for is known."""


Found = Callable[[SearchEnd], None]
"""Takes the end of a search."""


class PlaceSearch(Protocol):
    """How a broker finds better places, and judges those that others have found with it."""

    @property
    def searching(self) -> bool:
        """Whether a search is under way."""
        ...

    def search(self, wish: Wish, found: Found) -> None:
        """Look for a better place for a topic; ``found`` is called once, now or later."""
        ...

    def accepts(self, offer: Offer, spot: tuple[str, ...]) -> bool:
        """Say whether a topic that this broker is offered lies better on a spot of its own."""
        ...

    def review(self) -> None:
        """End what takes too long."""
        ...

    def on_members_changed(self) -> None:
        """A broker came or went."""
        ...


def burdens_alike(one: tuple[str, ...], other: tuple[str, ...]) -> bool:
    """Say whether a topic costs the same brokers the same on two spots; who leads it may differ."""
    return set(one[:2]) == set(other[:2]) and one[2:] == other[2:]


def in_bytes(load: CoordinateLoad) -> PlaceLoad:
    """Return loads as they are sent."""
    return PlaceLoad(round(load.maximum), round(load.minimum), max(0, round(load.spare)))


def from_bytes(load: PlaceLoad) -> CoordinateLoad:
    """Return loads as they are compared."""
    return CoordinateLoad(float(load.maximum), float(load.minimum), float(load.spare))
