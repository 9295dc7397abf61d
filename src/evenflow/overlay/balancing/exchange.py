"""Balancing of the live store: topics are born in a good place, and given away later (VI).

*Continuous* (VI-B): every so often a broker may give a topic away. *Addition* (VI-A), when it is
told what a topic is expected to take: the broker that makes a new topic, its home, has it moved to
the best place before it has grown (`births`). Both together are the paper's combined approach
(VI-C), and the same steps.

There is no centre. Every broker tells all others what it bears (`gossip`), and wakes now and then
on its own. Then it decides by algorithm 2 (`decision`) whether its smallest topic has a better
place, and has it moved::

    offer     the broker that would lead the topic is asked           Offer, OfferReply
    relieve   the topic's home moves it, as it moves any topic        Relieve, MoveDone, Failed

Brokers that decide at the same time, each by what it has heard, must not all run to the same place,
nor push a topic to and fro:

- The *taker* decides again by the shares it knows, in which each topic that it has accepted counts
  from the moment of acceptance (a `Reservation`), and tells its new share to all. So of what many
  offer one broker at a time, it accepts topics only while it is still the better place.
- *Home* moves a topic only from where the deciding broker believed it, and not again within one
  interval: of several brokers that want to be rid of the same topic, one succeeds.
- A broker has one move under way at a time, wakes at random moments, and does nothing while brokers
  come or go.
- A move must lower the highest load that the topic meets by a *margin*, so each makes the loads
  strictly more even, and the moves of a store whose topics do not change come to an end. A new
  topic is placed once and is empty: for it anything better will do, as in algorithm 1.
"""

from __future__ import annotations

import zlib
from dataclasses import dataclass
from random import Random
from typing import TYPE_CHECKING

from evenflow.overlay.balancing.births import Births
from evenflow.overlay.balancing.candidates import Candidates
from evenflow.overlay.balancing.decision import PlacedTopic, improve, smallest_of
from evenflow.overlay.balancing.gossip import Reservation, ShareGossip
from evenflow.overlay.balancing.loads import Level
from evenflow.overlay.protocol.events import LogMove
from evenflow.overlay.protocol.messages import (
    Failed,
    MoveDone,
    Offer,
    OfferReply,
    Relieve,
    ShelfId,
)
from evenflow.overlay.replica.copy import RETRY_S
from evenflow.overlay.space.coordinate import geographic_hash

if TYPE_CHECKING:
    from evenflow.overlay.balancing.loads import NodeLoads
    from evenflow.overlay.ports import ExchangeHost
    from evenflow.overlay.protocol.messages import Envelope, Share
    from evenflow.overlay.replica.copy import Copy
    from evenflow.overlay.shelf.shelf import Shelf
    from evenflow.overlay.space.coordinate import Coordinate

MARGIN = 0.01
"""Part of the mean node load by which a move must lower the highest load that it meets."""
PATIENCE_S = 12.0
"""A move that is not answered by then is given up on; home ends every move sooner."""


@dataclass(slots=True)
class Transfer:
    """A move under way that this broker wants."""

    placed: PlacedTopic[str]
    start: Coordinate
    to: Coordinate
    spot: tuple[str, ...]
    correlation: int
    deadline: float
    new: bool = False
    accepted: bool = False
    asked: float = -1.0
    seen: tuple[tuple[str, float], ...] = ()
    """Loads before and as expected after, for the history."""


class TopicExchange:
    """The balancing of one broker: topics that it gives away, and takes.

    Args:
        host: The broker.
        shelves: What it has.
    """

    def __init__(self, host: ExchangeHost, shelves: dict[ShelfId, Shelf]) -> None:
        me = host.members.me
        self._host = host
        self._interval_s = host.settings.balance_s
        self._rng = Random(zlib.crc32(me.name.encode()) ^ me.incarnation)
        self._wake = host.now + self._interval_s * (1 + self._rng.random())
        self._transfer: Transfer | None = None
        self._correlation = 0
        self._candidates: Candidates | None = None
        self._gossip = ShareGossip(host, shelves)
        self._births = Births()
        self.shares = self._gossip.shares

    @property
    def load(self) -> int:
        """Bytes that this broker must have room for: equation 4."""
        return round(self.shares.loads().load(self._host.members.me.name, Level.THREE))

    def on_members_changed(self) -> None:
        """A broker came or went."""
        self._candidates = None
        self._gossip.on_members_changed()

    def on_share(self, link: str, share: Share) -> None:
        """Another broker tells what it bears."""
        self._gossip.on_share(link, share)

    def review(self) -> None:
        """Report and decide when it is due."""
        if not self._interval_s:
            return
        self._gossip.review()
        if self._transfer is not None:
            self._advance(self._transfer)
        if self._transfer is None and self._host.settings.topic_bytes and self._host.steady:
            self._place_newborn()
        if self._host.now >= self._wake:
            self._wake = self._host.now + self._interval_s * (0.5 + self._rng.random())
            if self._transfer is None and self._host.steady:
                self._decide()

    # -- giving ---------------------------------------------------------------------------------

    def _place_newborn(self) -> None:
        """Algorithm 1: find a topic that was just made here the best place."""
        expected = self._host.settings.topic_bytes
        copy = self._births.next_of(self._gossip.led(), expected, self._spot_known)
        if copy is not None:
            load = float(self._gossip.load_of(copy))
            placed: PlacedTopic[str] = PlacedTopic(copy.shelf.topic, self._spot_of(copy), load)
            self._seek(placed, copy.shelf.coordinate, least=0.0, new=True)
            if self._transfer is None:
                self._births.is_home(copy.shelf)

    def _spot_of(self, copy: Copy) -> tuple[str, ...]:
        return self._host.members.closest(copy.shelf.coordinate, copy.label.level)

    def _spot_known(self, copy: Copy) -> bool:
        return all(name in self.shares for name in self._spot_of(copy))

    def _decide(self) -> None:
        """Algorithm 2: find the smallest topic that burdens us a better place."""
        found = list(self.shares.smallest())
        smallest = smallest_of((placed for placed, _ in found), self._host.members.me.name)
        if smallest is not None:
            start = {placed.topic: coordinate for placed, coordinate in found}[smallest.topic]
            self._seek(smallest, start, least=MARGIN * self.shares.mean())

    def _seek(
        self, placed: PlacedTopic[str], start: Coordinate, *, least: float, new: bool = False
    ) -> None:
        """Begin to move a topic, if there is a better place for it."""
        if any(name not in self.shares for name in placed.spot):
            return
        if self._candidates is None:
            seed = zlib.crc32(self._host.members.me.name.encode())
            self._candidates = Candidates(self._host.members.living, seed)
        candidates = self._candidates
        better = improve(
            self.shares.loads(without=placed),
            Level.THREE,
            placed.spot,
            candidates.spots(len(placed.spot), self.shares),
            least,
        )
        if better is None:
            return
        self._correlation += 1
        self._transfer = Transfer(
            placed,
            start,
            candidates.coordinate(better.spot, self.shares),
            better.spot,
            self._correlation,
            self._host.now + PATIENCE_S,
            new,
        )
        self._transfer.seen = self._loads_seen(self._transfer)
        self._advance(self._transfer)

    def _loads_seen(self, transfer: Transfer) -> tuple[tuple[str, float], ...]:
        """Return the loads before and as they will be, for the history."""
        me, placed = self._host.members.me.name, transfer.placed
        before, after = self.shares.loads(), self.shares.loads(without=placed)
        after.add(transfer.spot, placed.load)

        def highest(loads: NodeLoads[str], spot: tuple[str, ...]) -> float:
            return max(loads.load(name, Level.THREE) for name in spot)

        return (
            ("load_before", before.load(me, Level.THREE)),
            ("load_after", after.load(me, Level.THREE)),
            ("mean_load", self.shares.mean()),
            ("topic_load", placed.load),
            ("highest_here_before", highest(before, placed.spot)),
            ("highest_here_after", highest(after, placed.spot)),
            ("highest_there_before", highest(before, transfer.spot)),
            ("highest_there_after", highest(after, transfer.spot)),
        )

    def _advance(self, transfer: Transfer) -> None:
        """Ask what is to be asked next, or again."""
        host, topic = self._host, str(transfer.placed.topic)
        if host.now >= transfer.deadline:
            self._end(transfer, None)
            return
        if transfer.asked >= 0 and host.now < transfer.asked + RETRY_S:
            return
        transfer.asked = host.now
        if transfer.accepted:
            home, rest = geographic_hash(topic), int(self._interval_s * 1e9)
            relieve = Relieve(ShelfId(topic, home), transfer.start, transfer.to, rest)
            host.mail.send_to(home, relieve, transfer.correlation)
        else:
            placed = transfer.placed
            shelf = ShelfId(topic, transfer.to)
            offer = Offer(shelf, placed.spot, int(placed.load), transfer.new)
            host.mail.send_to(transfer.to, offer, transfer.correlation)

    def handle(self, envelope: Envelope, body: Offer | OfferReply | MoveDone | Failed) -> None:
        """Take a message about a topic that we give, or are to take."""
        transfer = self._transfer
        if isinstance(body, Offer):
            self._on_offer(envelope, body)
        elif transfer is None or envelope.correlation != transfer.correlation:
            return
        elif isinstance(body, OfferReply):
            if transfer.accepted:
                return
            if body.accepted:
                transfer.accepted, transfer.asked = True, -1.0
                self._advance(transfer)
            else:
                self._end(transfer, "the other broker bears too much by now")
        elif transfer.accepted:
            self._end(transfer, "" if isinstance(body, MoveDone) else body.reason)

    def _end(self, transfer: Transfer, refusal: str | None) -> None:
        self._transfer = None
        placed = transfer.placed
        self._host.perform(
            LogMove(
                topic=str(placed.topic),
                start=placed.spot,
                to=transfer.spot,
                seen=transfer.seen,
                refusal=refusal,
                accepted=transfer.accepted,
            )
        )

    # -- taking ---------------------------------------------------------------------------------

    def _on_offer(self, envelope: Envelope, offer: Offer) -> None:
        """Decide by the shares that we know whether we are still the better place."""
        host, me = self._host, self._host.members.me.name
        if not self._interval_s:
            return
        topic = offer.shelf.topic
        spot = host.members.closest(offer.shelf.coordinate, len(offer.nodes))
        accepted = self._gossip.reserved(topic)
        if not accepted and spot and spot[0] == me and not self._gossip.full:
            placed: PlacedTopic[str] = PlacedTopic(topic, offer.nodes, offer.load)
            known = all(name in self.shares for name in (*spot, *offer.nodes))
            least = 0.0 if offer.new else MARGIN * self.shares.mean()
            accepted = known and self._better(placed, spot, least)
            if accepted:
                self._gossip.reserve(topic, Reservation(spot, offer.load, host.now + PATIENCE_S))
        host.mail.reply(envelope, OfferReply(offer.shelf, accepted))

    def _better(self, placed: PlacedTopic[str], spot: tuple[str, ...], least: float) -> bool:
        others = self.shares.loads(without=placed)
        return improve(others, Level.THREE, placed.spot, [spot], least) is not None
