"""Balancing of the live store: topics are born in a good place, and given away later (VI).

*Continuous* (VI-B): every so often a broker may give a topic away. *Addition* (VI-A), when it is
told what a topic is expected to take: the broker that makes a new topic, its home, has it moved to
the best place before it has grown (`births`). Both together are the paper's combined approach
(VI-C), and the same steps.

There is no centre. Every broker knows loads: those of all others, which tell it (`gossip`), or
those around it (`vicinity`), and then it asks for others (`asked_places`). Who knows all may have a
plan for new topics (`planned_places`). It wakes now and then on its own, decides by algorithm 2
(`decision`) whether its smallest topic has a better place, and has it moved::

    search    a better place is found by what is known, or asked for  AskPlace, PlaceIs
    offer     the broker that would lead the topic is asked           Offer, OfferReply
    relieve   the topic's home moves it, as it moves any topic        Relieve, MoveDone, Failed

Brokers that decide at the same time, each by what it has heard, must not all run to the same place,
nor push a topic to and fro:

- The *taker* decides again by the loads it knows, in which each topic that it has accepted counts
  from the moment of acceptance (a `Reservation`), and tells its new share. So of what many
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

from evenflow.overlay.balancing.asked_places import AskedPlaces
from evenflow.overlay.balancing.births import Births
from evenflow.overlay.balancing.decision import PlacedTopic, smallest_of
from evenflow.overlay.balancing.gossip import ShareGossip
from evenflow.overlay.balancing.known_places import KnownPlaces
from evenflow.overlay.balancing.loads import Level
from evenflow.overlay.balancing.own_share import OwnShare, Reservation
from evenflow.overlay.balancing.places import Wish, in_bytes
from evenflow.overlay.balancing.planned_places import PlannedPlaces
from evenflow.overlay.balancing.selections import GOSSIP, PLANNED, SELECTIONS
from evenflow.overlay.balancing.vicinity import Vicinity
from evenflow.overlay.members.mail import MOST_HOPS
from evenflow.overlay.protocol.events import LogMove
from evenflow.overlay.protocol.messages import (
    AskPlace,
    Failed,
    LoadReport,
    MoveDone,
    Offer,
    OfferReply,
    PlaceIs,
    Relieve,
    ShelfId,
)
from evenflow.overlay.replica.copy import RETRY_S
from evenflow.overlay.space.coordinate import geographic_hash

if TYPE_CHECKING:
    from evenflow.overlay.balancing.places import BetterPlace, PlaceSearch, SearchEnd
    from evenflow.overlay.ports import ExchangeHost
    from evenflow.overlay.protocol.messages import Envelope, Share
    from evenflow.overlay.replica.copy import Copy
    from evenflow.overlay.shelf.shelf import Shelf

PATIENCE_S = 12.0
"""A move that is not answered by then is given up on; home ends every move sooner."""


@dataclass(slots=True)
class Transfer:
    """A move under way that this broker wants."""

    wish: Wish
    to: BetterPlace
    correlation: int
    deadline: float
    accepted: bool = False
    asked: float = -1.0


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
        self._births = Births()
        self._own = OwnShare(host, shelves)
        self._telling: ShareGossip | Vicinity
        self._places: PlaceSearch
        if host.settings.selection in (GOSSIP, PLANNED):
            known = PlannedPlaces if host.settings.selection == PLANNED else KnownPlaces
            self._telling = ShareGossip(host, self._own)
            self._places = known(host, self._telling.shares)
        else:
            selection = SELECTIONS.get(host.settings.selection)
            self._telling = Vicinity(host, self._own)
            self._places = AskedPlaces(host, self._telling, selection, self._rng)
        self.shares = self._telling.shares

    @property
    def load(self) -> int:
        """Bytes that this broker must have room for: equation 4."""
        return round(self.shares.loads().load(self._host.members.me.name, Level.THREE))

    @property
    def idle(self) -> bool:
        """Whether no topic is on its way from here, and no place is looked for."""
        return self._transfer is None and not self._places.searching

    def on_members_changed(self) -> None:
        """A broker came or went."""
        self._telling.on_members_changed()
        self._places.on_members_changed()

    def on_share(self, link: str, share: Share) -> None:
        """Another broker tells all what it bears."""
        if isinstance(self._telling, ShareGossip):
            self._telling.on_share(link, share)

    def review(self) -> None:
        """Report and decide when it is due."""
        if not self._interval_s:
            return
        self._telling.review()
        self._places.review()
        if self._transfer is not None:
            self._advance(self._transfer)
        if self.idle and self._host.settings.topic_bytes and self._host.steady:
            self._place_newborn()
        if self._host.now >= self._wake:
            self._wake = self._host.now + self._interval_s * (0.5 + self._rng.random())
            if self.idle and self._host.steady:
                self._decide()

    # -- giving ---------------------------------------------------------------------------------

    def _place_newborn(self) -> None:
        """Algorithm 1: find a topic that was just made here the best place."""
        expected = self._host.settings.topic_bytes
        copy = self._births.next_of(self._own.led(), expected, self._spot_known)
        if copy is not None:
            load = float(self._own.load_of(copy))
            placed: PlacedTopic[str] = PlacedTopic(copy.shelf.topic, self._spot_of(copy), load)
            self._places.search(Wish(placed, copy.shelf.coordinate, new=True), self._on_searched)

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
            self._places.search(Wish(smallest, start), self._on_searched)

    def _on_searched(self, end: SearchEnd) -> None:
        """Begin to move a topic, if there is a better place for it."""
        wish, better = end.wish, end.better
        if better is not None:
            # Not a number of an earlier life, whose answers may still be on their way.
            self._correlation = max(self._correlation + 1, self._host.wall // 1_000_000)
            deadline = self._host.now + PATIENCE_S
            self._transfer = Transfer(wish, better, self._correlation, deadline)
            self._advance(self._transfer)
        elif wish.new and end.complete:
            self._births.is_home(ShelfId(str(wish.placed.topic), wish.start))

    def _advance(self, transfer: Transfer) -> None:
        """Ask what is to be asked next, or again."""
        host, placed = self._host, transfer.wish.placed
        topic, to = str(placed.topic), transfer.to
        if host.now >= transfer.deadline:
            self._end(transfer, None)
            return
        if transfer.asked >= 0 and host.now < transfer.asked + RETRY_S:
            return
        transfer.asked = host.now
        if transfer.accepted:
            home, rest = geographic_hash(topic), int(self._interval_s * 1e9)
            relieve = Relieve(ShelfId(topic, home), transfer.wish.start, to.coordinate, rest)
            host.mail.send_to(home, relieve, transfer.correlation)
        else:
            shelf, here = ShelfId(topic, to.coordinate), (in_bytes(to.here),)
            offer = Offer(shelf, placed.spot, int(placed.load), transfer.wish.new, here)
            host.mail.send_to(to.coordinate, offer, transfer.correlation)

    def on_told(self, envelope: Envelope, body: LoadReport | AskPlace | PlaceIs) -> None:
        """Take a message about loads around a broker that asks; others take no notice of it."""
        counters, links = self._host.counters, max(0, MOST_HOPS - envelope.hops)
        if isinstance(body, LoadReport):
            counters.told += links
        else:
            counters.asked += links
        if not isinstance(self._places, AskedPlaces) or not isinstance(self._telling, Vicinity):
            return
        if isinstance(body, LoadReport):
            self._telling.on_report(body)
        elif isinstance(body, PlaceIs):
            self._places.on_answer(body)
        elif self._interval_s:
            self._places.on_ask(envelope, body)

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
        placed = transfer.wish.placed
        self._host.perform(
            LogMove(
                topic=str(placed.topic),
                start=placed.spot,
                to=transfer.to.spot,
                seen=transfer.to.seen,
                refusal=refusal,
                accepted=transfer.accepted,
            )
        )

    # -- taking ---------------------------------------------------------------------------------

    def _on_offer(self, envelope: Envelope, offer: Offer) -> None:
        """Decide by the loads that we know whether we are still the better place."""
        host, me = self._host, self._host.members.me.name
        if not self._interval_s:
            return
        topic = offer.shelf.topic
        spot = host.members.closest(offer.shelf.coordinate, len(offer.nodes))
        accepted = self._own.reserved(topic)
        if not accepted and spot and spot[0] == me and not self._own.full:
            accepted = self._places.accepts(offer, spot)
            if accepted:
                until = host.now + PATIENCE_S
                self._own.reserve(topic, Reservation(spot, offer.load, until))
                self._telling.tell()
        host.mail.reply(envelope, OfferReply(offer.shelf, accepted))
