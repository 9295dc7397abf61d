"""What this broker itself tells of its load: the topics that it leads, and those it has accepted.

Topics that the broker has accepted and that are not here yet count, too (`Reservation`). A topic
counts at least what is expected of one (`Settings.topic_bytes`), so that new ones, which have
nothing yet, are told apart from none.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from evenflow.overlay.balancing.shares import ShareBuilder
from evenflow.overlay.protocol.messages import Share, ShelfId
from evenflow.overlay.space.coordinate import Coordinate

if TYPE_CHECKING:
    from evenflow.overlay.ports import ExchangeHost
    from evenflow.overlay.replica.copy import Copy
    from evenflow.overlay.shelf.shelf import Shelf

MOST_AHEAD_MS = 3_600_000
"""A share whose number is later than this is an error."""
REPORTS = 4
"""Times that loads are told in each interval, besides those that tell of a change."""
LONGEST_REPORT_S = 5.0
MOST_RESERVATIONS = 1024
NOWHERE = Coordinate(0.0, 0.0)
"""Where a topic lies that is on its way."""


@dataclass(frozen=True, slots=True)
class Reservation:
    """Room for a topic that was accepted and is not here yet."""

    spot: tuple[str, ...]
    load: int
    until: float
    """When it is given up."""


class OwnShare:
    """The share of one broker.

    Args:
        host: The broker.
        shelves: What it has.
    """

    def __init__(self, host: ExchangeHost, shelves: dict[ShelfId, Shelf]) -> None:
        self._host = host
        self._shelves = shelves
        self._number = 0
        self._told: frozenset[ShelfId] = frozenset()
        self._reservations: dict[str, Reservation] = {}

    @property
    def full(self) -> bool:
        """Whether no more room can be reserved."""
        return len(self._reservations) >= MOST_RESERVATIONS

    def reserved(self, topic: str) -> bool:
        """Say whether there is room for a topic that is to come."""
        return topic in self._reservations

    def reserve(self, topic: str, reservation: Reservation) -> None:
        """Keep room for a topic."""
        self._reservations[topic] = reservation

    def load_of(self, copy: Copy) -> int:
        """Return what a topic counts."""
        return max(copy.topic_load(), self._host.settings.topic_bytes)

    def led(self) -> list[Copy]:
        """Return the copies by which this broker leads topics that are delegated to it now."""
        copies = (shelf.replica.copy for shelf in self._shelves.values())
        return [copy for copy in copies if copy.leading and copy.delegated_here]

    @property
    def changed(self) -> bool:
        """Whether the broker leads other topics than those it told of last."""
        return frozenset(copy.shelf for copy in self.led()) != self._told

    def share(self) -> Share:
        """Return what to tell now, newer than all that was told before."""
        host, me, led = self._host, self._host.members.me, self.led()
        self._told = frozenset(copy.shelf for copy in led)
        self._drop_reservations(arrived={copy.shelf.topic for copy in led})
        builder = ShareBuilder()
        for copy in led:
            topic, coordinate = copy.shelf.topic, copy.shelf.coordinate
            spot = host.members.closest(coordinate, copy.label.level)
            if spot[0] == me.name:
                builder.add(spot[1:], topic, coordinate, self.load_of(copy))
        for reservation in self._reservations.values():
            builder.add(reservation.spot[1:], "", NOWHERE, reservation.load)
        self._number = max(self._number + 1, host.wall // 1_000_000)
        return Share(me.name, me.incarnation, self._number, builder.spots())

    def _drop_reservations(self, arrived: set[str]) -> None:
        """Drop those of topics that have arrived, or that have not come in time."""
        self._reservations = {
            topic: reservation
            for topic, reservation in self._reservations.items()
            if topic not in arrived and self._host.now < reservation.until
        }

    def is_from_another(self, share: Share) -> bool:
        """Say whether a share can be true, and is not ours; after one of ours the next is newer."""
        member, me = self._host.members.get(share.broker), self._host.members.me
        if member is None or not member.alive or member.incarnation != share.incarnation:
            return False
        if share.number > self._host.wall // 1_000_000 + MOST_AHEAD_MS:
            return False
        if member.name == me.name:
            self._number = max(self._number, share.number)
        return member.name != me.name

    def next_report(self) -> float:
        """Return when to tell again though nothing has changed."""
        return self._host.now + min(self._host.settings.balance_s / REPORTS, LONGEST_REPORT_S)
