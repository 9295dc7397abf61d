"""The table of arcs that were given away: which of two is newer, and what is of use in one.

A table is planned by a leading balancer and is whole: it stands in the place of the one before.
Terms of balancers only grow, and under one term tables are numbered, so the newer of two is the one
with the larger term, then the larger number. Two that are equal in both and differ all the same
(two balancers that did not hear one another) are told apart by what they say: everybody keeps the
same one.

An entry has a use only if somebody else would own the arc without it. Others are left out when the
next table is planned, so a table does not grow with its age.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final

from evenflow.bridge.ring.circle import Circle
from evenflow.model.bounds import MOST_ARCS
from evenflow.model.messages import ArcTable

if TYPE_CHECKING:
    from collections.abc import Mapping

    from evenflow.bridge.ring.identifiers import Identifiers

NO_ARCS: Final = ArcTable("", 0, 0, (), (), ())
"""Nothing was given away; older than all tables."""


def arc_table(given: Mapping[int, str], term: int, number: int) -> ArcTable:
    """A table: for each arc, by its end, whose it is."""
    bridges = sorted(set(given.values()))
    place = {name: at for at, name in enumerate(bridges)}
    arcs = sorted(given)
    takers = tuple(place[given[end]] for end in arcs)
    return ArcTable("", term, number, tuple(arcs), takers, tuple(bridges))


def given_by(table: ArcTable) -> dict[int, str]:
    """For each arc of a table, by its end, whose it is."""
    takers = (table.bridges[taker] for taker in table.takers)
    return dict(zip(table.arcs, takers, strict=True))


def told_by(table: ArcTable, bridge: str) -> ArcTable:
    """The same table, as a bridge tells it."""
    return replace(table, bridge=bridge)


def is_newer(table: ArcTable, other: ArcTable) -> bool:
    """Whether a table counts and not the other; neither does if they are the same."""
    return _order(table) > _order(other)


def _order(table: ArcTable) -> tuple[object, ...]:
    return table.term, table.number, table.arcs, table.takers, table.bridges


def of_use(
    places: Mapping[str, Identifiers], given: Mapping[int, str], bits: int
) -> dict[int, str]:
    """The entries without which somebody else would own something; the first ones if too many."""
    wanted = {end: taker for end, taker in given.items() if taker in places}
    plain = Circle(places, bits=bits)
    owns = plain.arcs()
    found: dict[int, str] = {}
    held = Circle(places, wanted, bits).arcs()
    ends = sorted(held)
    after = ends[1:] + ends[:1]
    for end, following in zip(ends, after, strict=True):
        if end not in wanted:
            continue
        # Where a bridge has a point of its own the entry says who holds that; where none has, it
        # cuts an arc in two, which has a use only if the parts belong to two.
        needless = owns[end] if end in owns else held[following]
        if wanted[end] != needless:
            found[end] = wanted[end]
    return dict(list(found.items())[:MOST_ARCS])
