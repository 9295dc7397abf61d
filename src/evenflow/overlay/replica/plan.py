"""Which configuration a shelf should have next, as the broker that would lead it sees it.

The brokers that should have a shelf are the living ones closest to it (section III-C). A member
that is in sync leaves only when it is dead, when it has lost its disk, or when all that should have
the shelf have it; so the set of copies that are in sync grows before it shrinks, whenever there is
a choice.

Who decides on the next configuration: one copy alone decides alone; two have a witness, a third
broker that only votes, so that either can go on with it when the other is gone, and never both;
three or more decide among themselves. A dead witness is replaced.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec.structs import replace

from evenflow.overlay.protocol.messages import Config

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Set

    from evenflow.overlay.members.table import MemberTable
    from evenflow.overlay.replica.copy import Copy
    from evenflow.overlay.space.coordinate import Coordinate


def next_config(copy: Copy, caught_up: Set[str], done: Callable[[str], bool]) -> Config:
    """Return the configuration that we would lead next.

    Args:
        copy: Our copy.
        caught_up: Members that have all that was acknowledged, besides those of the configuration.
        done: Says whether a member has as much as it is to have.
    """
    me, base, wanted = copy.me, copy.config, copy.wanted()
    alive, disk = copy.host.members.alive, copy.host.members.disk
    kept = {name for name in base.in_sync if alive(name) and copy.holds(name)}
    in_sync = {me} | kept | {name for name in caught_up if alive(name)}
    members = {me, *wanted}
    if not all(name == me or name in in_sync or done(name) for name in wanted):
        members |= in_sync
    if len(members) < copy.disks and base.primary == me:
        # Too few live for anything to be acknowledged: wait with what we have.
        return replace(base, term=base.term + 1)
    in_sync &= members
    order = [name for name in (*base.members, *wanted) if name in members]
    everyone = tuple(dict.fromkeys((me, *order)))
    synced = tuple(name for name in everyone if name in in_sync)
    voters = _voters(synced, base.voters, copy.host.members, copy.shelf.coordinate)
    disks = tuple(map(disk, voters))
    return Config(base.birth, base.term + 1, me, everyone, synced, voters, disks)


def _voters(
    in_sync: tuple[str, ...], before: Iterable[str], members: MemberTable, place: Coordinate
) -> tuple[str, ...]:
    """Return who decides: those in sync, with a witness when they are two."""
    if len(in_sync) != 2:
        return in_sync
    known = (*before, *members.closest_known(place, 5))
    living = (name for name in (*before, *members.closest(place, 4)) if members.alive(name))
    witness = next((name for name in (*living, *known) if name not in in_sync), None)
    return in_sync if witness is None else (*in_sync, witness)


def same(one: Config, other: Config) -> bool:
    """Say whether two configurations differ in nothing but their term."""
    return (
        one.primary == other.primary
        and set(one.members) == set(other.members)
        and set(one.in_sync) == set(other.in_sync)
        and set(one.voters) == set(other.voters)
        and all(one.disk(name) == other.disk(name) for name in one.voters)
    )
