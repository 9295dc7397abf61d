"""Gossip of loads: every broker tells all others what it bears, and passes on what it hears.

A share floods the overlay: whoever has not seen it passes it on to all links but its source. It is
told a few times in each interval, and at once when the topics that a broker leads have changed.
Topics that the broker has accepted and that are not here yet count in it, too (`Reservation`). A
topic counts at least what is expected of one (`Settings.topic_bytes`), so that new ones, which have
nothing yet, are told apart from none.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from evenflow.overlay.balancing.shares import ShareBuilder, Shares
from evenflow.overlay.protocol.events import Transmit
from evenflow.overlay.protocol.messages import Share, ShelfId
from evenflow.overlay.space.coordinate import Coordinate

if TYPE_CHECKING:
    from evenflow.overlay.ports import ExchangeHost
    from evenflow.overlay.replica.copy import Copy
    from evenflow.overlay.shelf.shelf import Shelf

MOST_AHEAD_MS = 3_600_000
"""A share whose number is later than this is an error."""
REPORTS = 4
"""Shares told in each interval, besides those that tell of a change."""
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


class ShareGossip:
    """What one broker tells of its load, and hears of the others'.

    Args:
        host: The broker.
        shelves: What it has.
    """

    def __init__(self, host: ExchangeHost, shelves: dict[ShelfId, Shelf]) -> None:
        self._host = host
        self._shelves = shelves
        self._interval_s = host.settings.balance_s
        self._next_report = host.now
        self._number = 0
        self._reported: frozenset[ShelfId] = frozenset()
        self._reservations: dict[str, Reservation] = {}
        self.shares = Shares()

    @property
    def full(self) -> bool:
        """Whether no more room can be reserved."""
        return len(self._reservations) >= MOST_RESERVATIONS

    def reserved(self, topic: str) -> bool:
        """Say whether there is room for a topic that is to come."""
        return topic in self._reservations

    def reserve(self, topic: str, reservation: Reservation) -> None:
        """Keep room for a topic, and tell all."""
        self._reservations[topic] = reservation
        self._report(self.led())

    def on_members_changed(self) -> None:
        """A broker came or went: forget the dead, and report soon."""
        self.shares.keep_living(self._host.members)
        self._next_report = self._host.now

    def on_share(self, link: str, share: Share) -> None:
        """Another broker tells what it bears: note it and pass it on."""
        member, me = self._host.members.get(share.broker), self._host.members.me
        if member is None or not member.alive or member.incarnation != share.incarnation:
            return
        if share.number > self._newest_number():
            return
        if member.name == me.name:
            self._number = max(self._number, share.number)  # never ours: the next is newer
        else:
            self._flood(share, link)

    def _newest_number(self) -> int:
        """Return the highest number that a share can have: it counts, from the time of day on."""
        return self._host.wall // 1_000_000 + MOST_AHEAD_MS

    def review(self) -> None:
        """Report when it is due, or when what this broker leads has changed."""
        led = self.led()
        shelves = frozenset(copy.shelf for copy in led)
        if self._host.now >= self._next_report or shelves != self._reported:
            self._reported = shelves
            self._report(led)

    def load_of(self, copy: Copy) -> int:
        """Return what a topic counts."""
        return max(copy.topic_load(), self._host.settings.topic_bytes)

    def led(self) -> list[Copy]:
        """Return the copies by which this broker leads topics that are delegated to it now."""
        copies = (shelf.replica.copy for shelf in self._shelves.values())
        return [copy for copy in copies if copy.leading and copy.delegated_here]

    def _report(self, led: list[Copy]) -> None:
        host, me = self._host, self._host.members.me
        self._next_report = host.now + min(self._interval_s / REPORTS, LONGEST_REPORT_S)
        self._drop_reservations(arrived={copy.shelf.topic for copy in led})
        builder = ShareBuilder()
        for copy in led:
            topic, coordinate = copy.shelf.topic, copy.shelf.coordinate
            spot = host.members.closest(coordinate, copy.label.level)
            if spot[0] == me.name:
                builder.add(spot[1:], topic, coordinate, self.load_of(copy))
        for reservation in self._reservations.values():
            builder.add(reservation.spot[1:], "", NOWHERE, reservation.load)
        self._number = max(self._number + 1, self._host.wall // 1_000_000)
        self._flood(Share(me.name, me.incarnation, self._number, builder.spots()), "")

    def _drop_reservations(self, arrived: set[str]) -> None:
        """Drop those of topics that have arrived, or that have not come in time."""
        self._reservations = {
            topic: reservation
            for topic, reservation in self._reservations.items()
            if topic not in arrived and self._host.now < reservation.until
        }

    def _flood(self, share: Share, source: str) -> None:
        if self.shares.add(share):
            for link in sorted(self._host.neighbours.links - {source}):
                self._host.perform(Transmit(link, share))
