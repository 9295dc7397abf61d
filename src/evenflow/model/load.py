"""Load: what one slice costs, and how that is expressed as a single number.

The papers count slices; their future work asks for "statistical data about the data items
received in each Slice" (MAPE-SDDL, section VIII). A node measures three things of each slice:
items, bytes and the seconds its application worked on them. The balancing algorithms compare
single numbers, so :class:`LoadWeights` says what one item, one byte and one second are worth.
Any unit will do as long as all slices and all node capacities of a snapshot share it.

An :class:`Outlook` says what the load of a slice will be at a later time: a level, a trend and a
season, as learned by :mod:`evenflow.balance.load_outlook`.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum
from math import floor
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence


@dataclass(frozen=True, slots=True)
class SliceLoad:
    """What one slice asked of its node, per second of the measuring period."""

    items: float
    """Items per second."""
    octets: float = 0.0
    """Payload bytes per second."""
    busy: float = 0.0
    """Seconds of the application's work per second."""


def offered(done: SliceLoad, arrived: float, usual: SliceLoad | None = None) -> SliceLoad:
    """What a slice asks of its node: what arrives, at the cost of what was done.

    A node that keeps up does what arrives. One that does not does less, and one that works off what
    has piled up does more; neither is what the slice will cost in the long run.

    Args:
        done: What the node did.
        arrived: Items per second that came in.
        usual: What the slice asked before, for its costs when nothing at all was done.
    """
    known = done if done.items > 0 or usual is None else usual
    if known.items <= 0:
        return SliceLoad(arrived)
    each = arrived / known.items
    return SliceLoad(arrived, known.octets * each, known.busy * each)


@dataclass(frozen=True, slots=True)
class LoadWeights:
    """What an item, a byte and a second of work add to a load. By default an item counts 1."""

    item: float = 1.0
    octet: float = 0.0
    busy: float = 0.0

    def weigh(self, load: SliceLoad) -> float:
        """The load as one number."""
        return self.item * load.items + self.octet * load.octets + self.busy * load.busy


@dataclass(frozen=True, slots=True)
class Outlook:
    """The expected course of a slice's load: ``level + trend * (t - since) + season(t)``."""

    since: float
    """Time of the last measurement that is part of it."""
    level: float
    """Load at ``since``, without the season."""
    trend: float = 0.0
    """Change of the level per second."""
    season: tuple[float, ...] = ()
    """Deviation from the level in each of the equal parts of a period; empty without a season."""
    period_s: float = 0.0
    """Length of the season in seconds; its first part starts at time 0, and again each period."""

    def at(self, time: float) -> float:
        """The load expected at ``time``; never below zero."""
        expected = self.level + self.trend * (time - self.since)
        return max(0.0, expected + season_at(time, self.period_s, self.season))


def season_part(time: float, period_s: float, parts: int) -> int:
    """Which of the equally long parts of a period ``time`` falls into."""
    return int((time % period_s) / period_s * parts) % parts


def season_at(time: float, period_s: float, season: Sequence[float]) -> float:
    """The season at a time, in a straight line from the middle of one part to that of the next."""
    if not season:
        return 0.0
    parts = len(season)
    place = (time % period_s) / period_s * parts - 0.5
    before = floor(place)
    share = place - before
    return (1 - share) * season[before % parts] + share * season[(before + 1) % parts]


class NodeState(IntEnum):
    """How a node fares, by the operation ranges of its readings (MAPE-SDDL, III.B.1)."""

    UNDERLOADED = 0
    """Everything is in its lowest range."""
    NORMAL = 1
    OVERLOADED = 2
    """Something is in its highest range."""


def node_state(
    percents: Mapping[str, float], bounds: Mapping[str, tuple[float, float]]
) -> NodeState:
    """The state of a node that measures these percentages.

    Args:
        percents: What is measured, by name.
        bounds: Where the lowest range ends and the highest begins, for each of them.
    """
    if any(percents[name] > high for name, (_, high) in bounds.items() if name in percents):
        return NodeState.OVERLOADED
    if all(percents[name] < low for name, (low, _) in bounds.items() if name in percents):
        return NodeState.UNDERLOADED
    return NodeState.NORMAL
