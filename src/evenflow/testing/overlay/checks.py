"""What must hold in a cluster of overlay brokers, looked up in their cores.

`settled` says whether all has come to rest. Then, by `check_copies`, each shelf has exactly the
copies that its level asks for, on the brokers closest to it, with the same label, and every time of
a topic has one responsible coordinate with a shelf: nobody holds a stale copy.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec.structs import replace

from evenflow.overlay.protocol.messages import ShelfId
from evenflow.overlay.replica.states import State

if TYPE_CHECKING:
    from collections.abc import Mapping

    from evenflow.overlay.broker.core import BrokerCore
    from evenflow.overlay.ports import Store
    from evenflow.overlay.protocol.messages import Config
    from evenflow.overlay.replica.copy import Copy
    from evenflow.overlay.replica.record import Vote
    from evenflow.overlay.replica.replica import Replica


FOREVER = 1 << 62


class Violation(AssertionError):
    """Something happened that must never happen."""


def settled(cores: Mapping[str, BrokerCore]) -> bool:
    """Say whether all know one another and every copy is as it should be."""
    alike = len({core.members.digest() for core in cores.values()}) <= 1
    return (
        alike
        and not denied(cores)
        and all(
            set(core.members.living) == set(cores)
            and all(_at_rest(name, shelf.replica) for shelf in core.shelves.values())
            and all(_led(cores, shelf.replica.copy) for shelf in core.shelves.values())
            for name, core in cores.items()
        )
    )


def _led(cores: Mapping[str, BrokerCore], copy: Copy) -> bool:
    """Say whether the primary that a copy leads or follows is there and has the shelf."""
    primary = cores.get(copy.config.primary)
    return primary is not None and copy.shelf in primary.shelves


def denied(cores: Mapping[str, BrokerCore]) -> list[str]:
    """Return the times of topics whose delegates have not heard yet that these are theirs."""
    copies = copies_of(cores)
    found = []
    for shelf, by_broker in copies.items():
        leaders = [copy for copy in by_broker.values() if copy.leading]
        for tenure in leaders[0].label.delegates.tenures() if shelf.at_home and leaders else ():
            there = copies.get(ShelfId(shelf.topic, tenure.coordinate), {})
            lists = [copy.label.delegates for copy in there.values()]
            if any(each.responsible(tenure.start) != tenure.coordinate for each in lists):
                found.append(f"{shelf.topic}: {tenure}")
    return found


def _at_rest(name: str, replica: Replica) -> bool:
    """Say whether a broker's copy leads or follows as it should, and nothing is under way."""
    copy = replica.copy
    if not (replica.settled or copy.state is State.FOLLOWING):
        return False
    if name not in copy.wanted() or copy.label.ticket:
        return False
    if name not in copy.config.members:
        return False
    kept = copy.committed == copy.last and replica.replication.label_kept
    return kept or not copy.leading


def in_sync_disks(stores: Mapping[str, Store]) -> dict[ShelfId, list[Store]]:
    """Return the disks of the copies in sync, by the newest configuration that is written down.

    One that is lost is not among them, nor the empty one that its broker has now.
    """
    present = {
        (member.name, member.disk)
        for name, store in stores.items()
        for member in store.members()
        if member.name == name
    }
    newest: dict[ShelfId, Config] = {}
    for store in stores.values():
        for vote in store.votes():
            known = newest.get(vote.shelf)
            if vote.known.term and (known is None or vote.known.age > known.age):
                newest[vote.shelf] = vote.known
    return {
        shelf: [stores[name] for name in config.in_sync if (name, config.disk(name)) in present]
        for shelf, config in newest.items()
        if config.primary
    }


def spared_by(stores: Mapping[str, Store], name: str) -> bool:
    """Say whether every shelf has a copy in sync on another disk than this broker's.

    It must be known to others, too: what only this broker has written down is lost with its disk.
    """
    others = {other: store for other, store in stores.items() if other != name}
    votes, left = _open_votes(stores), _open_votes(others)
    known = {vote.shelf for vote in votes} == {vote.shelf for vote in left}
    return known and _has_others(votes, name) and _has_others(left, name)


def _open_votes(stores: Mapping[str, Store]) -> list[Vote]:
    """Return what is written down about shelves that are not deleted."""
    return [vote for store in stores.values() for vote in store.votes() if not vote.known.ended]


def _has_others(votes: list[Vote], name: str) -> bool:
    """Say whether every shelf has another copy in sync than this broker's, as voters know.

    What was accepted may be decided, though nobody has written that down yet.
    """
    newest: dict[ShelfId, tuple[int, int]] = {}
    for vote in votes:
        newest[vote.shelf] = max(newest.get(vote.shelf, (0, 0)), vote.known.age)
    possible = [
        config
        for vote in votes
        for config in (vote.known, *(each.config for each in vote.accepted))
        if config.term and config.age >= newest[vote.shelf]
    ]
    return all(set(config.in_sync) - {name} for config in possible)


def stored_on(disk: Store, shelf: ShelfId) -> set[tuple[int, int]]:
    """Return publisher and sequence of all messages of a shelf on a disk."""
    try:
        found = disk.read(shelf, 0, FOREVER, FOREVER, FOREVER)
    except KeyError:
        return set()
    return {(message.publisher, message.sequence) for message in found}


def copies_of(cores: Mapping[str, BrokerCore]) -> dict[ShelfId, dict[str, Copy]]:
    """Return all copies, by shelf and broker."""
    copies: dict[ShelfId, dict[str, Copy]] = {}
    for name, core in cores.items():
        for shelf_id, shelf in core.shelves.items():
            copies.setdefault(shelf_id, {})[name] = shelf.replica.copy
    return copies


def check_copies(cores: Mapping[str, BrokerCore]) -> None:
    """Check that a cluster at rest has the copies it should have, and no others."""
    copies = copies_of(cores)
    for shelf, by_broker in copies.items():
        some = next(iter(by_broker.values()))
        if set(by_broker) != set(some.wanted()):
            raise Violation(f"{shelf} lies on {set(by_broker)}, not on {some.wanted()}")
        labels = {replace(copy.label, revision=0, floor=0) for copy in by_broker.values()}
        if len(labels) != 1:
            raise Violation(f"{shelf} has labels {labels}")
        if shelf.at_home:
            _check_delegates(shelf, some, copies)


def _check_delegates(home: ShelfId, copy: Copy, copies: dict[ShelfId, dict[str, Copy]]) -> None:
    """Check that every time of a topic has one responsible coordinate, and a shelf lies there."""
    delegates = copy.label.delegates
    for tenure in delegates.tenures():
        there = copies.get(ShelfId(home.topic, tenure.coordinate))
        if there is None:
            raise Violation(f"{home.topic}: nobody has {tenure}")
        theirs = next(iter(there.values())).label.delegates
        if theirs.responsible(tenure.start) != tenure.coordinate:
            raise Violation(f"{home.topic}: {tenure} is denied by its delegate")
    open_at = [
        other.coordinate
        for other, by_broker in copies.items()
        if other.topic == home.topic and next(iter(by_broker.values())).delegated_here
    ]
    if open_at != [delegates.current]:
        raise Violation(f"{home.topic} is open at {open_at}, not {delegates.current}")


def picture(cores: Mapping[str, BrokerCore], topic: str | None = None, start: int = 0) -> str:
    """Describe all copies, or those of a topic, for the message of a violation.

    Args:
        cores: The brokers.
        topic: The topic; None: all.
        start: Time of day from which times are told, in nanoseconds.
    """
    lines = []
    for name, core in sorted(cores.items()):
        links = sorted(core.neighbours.links)
        lines.append(f"{name} alive={sorted(core.members.living)} links={links}")
        lines.extend(
            _line(shelf.replica, start)
            for shelf_id, shelf in core.shelves.items()
            if topic is None or shelf_id.topic == topic
        )
    return "\n".join(lines)


def _line(replica: Replica, start: int) -> str:
    copy, record = replica.copy, replica.copy.record
    delegates = [
        (entry.start - start, round(entry.coordinate.x, 2))
        for entry in copy.label.delegates.entries
    ]
    return (
        f"   {copy.shelf.topic}@{copy.shelf.coordinate.x:.2f} {copy.state.value}"
        f" term={copy.config.term} {copy.config.primary} of {copy.config.members}"
        f" in_sync={copy.config.in_sync} voters={copy.config.voters}"
        f" since={record.since - start} last={copy.last - start}"
        f" committed={copy.committed - start} fetching={replica.catch_up.fetching}"
        f" wanted={copy.wanted()} ticket={copy.label.ticket} settled={replica.settled}"
        f" delegates={delegates}"
    )
