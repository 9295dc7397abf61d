"""Greedy forwarding: every hop brings a letter closer to its coordinate (section I-A).

A letter has a target coordinate, and the name of a broker when it is for that one alone; then the
target is that broker's own coordinate. A broker hands it to the linked neighbour that is closest to
the target, if that is closer than itself; on a Delaunay triangulation the last one is the closest
of all. Distances fall strictly, so no letter goes in circles, whatever the links are.
"""

from __future__ import annotations

from enum import Enum
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

    from evenflow.overlay.members.table import Membership
    from evenflow.overlay.protocol.messages import Routed
    from evenflow.overlay.space.coordinate import Coordinate

MOST_HOPS = 64
"""Links a letter may take; a greedy path is far shorter."""


class Fate(Enum):
    """What happens to a letter that does not go on."""

    HERE = "here"
    """It has arrived."""
    LOST = "lost"
    """There is no way on: the one it is for is not linked yet, or dead."""


def next_hop(letter: Routed, members: Membership, links: Iterable[str]) -> str | Fate:
    """Return the neighbour a letter goes to, or its fate."""
    me = members.me.name
    if letter.node == me:
        return Fate.HERE
    if letter.node in links and members.alive(letter.node):
        return letter.node
    mine = distance(members[me].coordinate, letter.target), me
    best = mine
    for name in links:
        member = members.get(name)
        if member is not None and member.alive:
            best = min(best, (distance(member.coordinate, letter.target), name))
    if best is not mine:
        return best[1] if letter.hops > 0 else Fate.LOST
    closest = not letter.node and members.closest(letter.target, 1) == (me,)
    return Fate.HERE if closest else Fate.LOST


def distance(one: Coordinate, other: Coordinate) -> float:
    """Return the square of the distance of two coordinates."""
    return (one.x - other.x) ** 2 + (one.y - other.y) ** 2
