"""Continuous balancing of the live store: every so often a broker may give a topic away (VI-B).

There is no centre. Every broker tells all others what it bears (`ledger`), and wakes now and then
on its own. Then it decides by algorithm 2 (`relief`) whether its smallest topic has a better place,
and has it moved::

    offer     the broker that would lead the topic is asked           Offer, Verdict
    relieve   the topic's home moves it, as it moves any topic        Relieve, Done, Failed

Brokers that decide at the same time, each by what it has heard, must not all run to the same place,
nor push a topic to and fro:

- The *taker* decides again by its own books, in which each topic that it has accepted counts from
  the moment of acceptance, and tells the new books to all. So what many offer one broker at a time,
  it accepts as long as it is still the better place, and no longer.
- *Home* moves a topic only from where the deciding broker believed it, and not again within one
  interval: of several brokers that want to be rid of the same topic, one succeeds.
- A broker has one move under way at a time, wakes at random moments, and does nothing while brokers
  come or go.
- A move must lower the highest load that the topic meets by a *margin*, so each makes the loads
  strictly more even, and the moves of a store whose topics do not change come to an end.
"""

from __future__ import annotations

import zlib
from dataclasses import dataclass
from random import Random
from typing import TYPE_CHECKING, Any

from evenflow.overlay.balancing.candidates import Candidates
from evenflow.overlay.balancing.decision import Weight, improve, smallest_of
from evenflow.overlay.balancing.loads import Level
from evenflow.overlay.balancing.shares import Ledger, Pile
from evenflow.overlay.protocol.events import Balanced, Transmit
from evenflow.overlay.protocol.messages import Done, Failed, Offer, Relieve, Share, Shelf, Verdict
from evenflow.overlay.replica.copy import RETRY_S
from evenflow.overlay.space.coordinate import Coordinate, geographic_hash

if TYPE_CHECKING:
    from evenflow.overlay.broker.core import BrokerCore
    from evenflow.overlay.protocol.messages import Routed
    from evenflow.overlay.replica.replica import Replica

MARGIN = 0.01
"""Part of the mean node load by which a move must lower the highest load that it meets."""
REPORTS = 4
"""Shares told in each interval, besides those that tell of a change."""
LONGEST_REPORT_S = 5.0
PATIENCE_S = 12.0
"""A move that is not answered by then is given up on; home ends every move sooner."""
MOST_ROOMS = 1024


@dataclass(slots=True)
class Room:
    """Room kept for a topic that was accepted and is not here yet."""

    spot: tuple[str, ...]
    load: int
    until: float


@dataclass(slots=True)
class Errand:
    """A move under way that this broker wants."""

    weight: Weight[str]
    start: Coordinate
    to: Coordinate
    spot: tuple[str, ...]
    request: int
    deadline: float
    accepted: bool = False
    asked: float = -1.0
    seen: tuple[tuple[str, float], ...] = ()
    """Loads before and as expected after, for the history."""


class Balancing:
    """The balancing of one broker."""

    def __init__(self, broker: BrokerCore) -> None:
        me = broker.members.me
        self._broker = broker
        self._every_s = broker.settings.balance_s
        self._rng = Random(zlib.crc32(me.name.encode()) ^ me.incarnation)
        self._wake = broker.now + self._every_s * (1 + self._rng.random())
        self._report = broker.now
        self._number = 0
        self._told: frozenset[Shelf] = frozenset()
        self._rooms: dict[str, Room] = {}
        self._errand: Errand | None = None
        self._requests = 0
        self._candidates: Candidates | None = None
        self.ledger = Ledger()

    @property
    def load(self) -> int:
        """What this broker must have room for: equation 4."""
        return round(self.ledger.loads().load(self._broker.members.me.name, Level.THREE))

    def members_changed(self) -> None:
        """A broker came or went."""
        self._candidates = None
        self.ledger.keep(self._broker.members)
        self._report = self._broker.now

    def review(self) -> None:
        """Report and decide when it is due."""
        now = self._broker.now
        if not self._every_s:
            return
        led = self._led()
        shelves = frozenset(replica.shelf for replica in led)
        if now >= self._report or shelves != self._told:
            self._told = shelves
            self._tell(led)
        if self._errand is not None:
            self._go_on(self._errand)
        if now >= self._wake:
            self._wake = now + self._every_s * (0.5 + self._rng.random())
            if self._errand is None and self._broker.steady:
                self._decide()

    # -- the books ------------------------------------------------------------------------------

    def _led(self) -> list[Replica]:
        """Return the copies by which this broker leads topics that are delegated to it now."""
        replicas = (keeper.replica for keeper in self._broker.keepers.values())
        return [
            replica
            for replica in replicas
            if replica.leading and replica.label.delegates.current == replica.shelf.coordinate
        ]

    def _tell(self, led: list[Replica]) -> None:
        """Tell all what we bear."""
        broker, me = self._broker, self._broker.members.me
        self._report = broker.now + min(self._every_s / REPORTS, LONGEST_REPORT_S)
        pile = Pile()
        here = {replica.shelf.topic for replica in led}
        self._rooms = {
            topic: room
            for topic, room in self._rooms.items()
            if topic not in here and broker.now < room.until
        }
        for replica in led:
            spot = broker.members.closest(replica.shelf.coordinate, replica.label.level)
            if spot[0] == me.name:
                load = broker.weigh(replica)
                pile.add(spot[1:], replica.shelf.topic, replica.shelf.coordinate, load)
        for room in self._rooms.values():
            pile.add(room.spot[1:], "", Coordinate(0.0, 0.0), room.load)
        self._number += 1
        self._flood(Share(me.name, me.incarnation, self._number, pile.portions()), "")

    def on_share(self, link: str, share: Share) -> None:
        """Another tells what it bears: note it and pass it on."""
        member = self._broker.members.get(share.broker)
        if member is not None and member.alive and member.incarnation == share.incarnation:
            self._flood(share, link)

    def _flood(self, share: Share, source: str) -> None:
        if self.ledger.take(share):
            for link in sorted(self._broker.links - {source}):
                self._broker.perform(Transmit(link, share))

    # -- giving ---------------------------------------------------------------------------------

    def _decide(self) -> None:
        """Algorithm 2: find the smallest topic that burdens us a better place."""
        broker, me = self._broker, self._broker.members.me.name
        places = dict[str, Coordinate]()
        weights = []
        for weight, coordinate in self.ledger.smallest():
            places[weight.topic] = coordinate
            weights.append(weight)
        smallest = smallest_of(weights, me)
        if smallest is None or any(name not in self.ledger for name in smallest.spot):
            return
        if self._candidates is None:
            seed = zlib.crc32(me.encode())
            self._candidates = Candidates(broker.members.living, seed)
        level, found = len(smallest.spot), self._candidates
        better = improve(
            self.ledger.loads(without=smallest),
            Level.THREE,
            smallest.spot,
            found.spots(level, self.ledger),
            MARGIN * self.ledger.mean(),
        )
        if better is None:
            return
        self._requests += 1
        self._errand = Errand(
            smallest,
            places[smallest.topic],
            found.coordinate(better.spot, self.ledger),
            better.spot,
            self._requests,
            broker.now + PATIENCE_S,
        )
        self._errand.seen = self._seen(self._errand)
        self._go_on(self._errand)

    def _seen(self, errand: Errand) -> tuple[tuple[str, float], ...]:
        """Return the loads before and as they will be, for the history."""
        me, weight = self._broker.members.me.name, errand.weight
        before, after = self.ledger.loads(), self.ledger.loads(without=weight)
        after.add(errand.spot, weight.load)

        def highest(loads: Any, spot: tuple[str, ...]) -> float:
            return max(float(loads.load(name, Level.THREE)) for name in spot)

        return (
            ("load_before", before.load(me, Level.THREE)),
            ("load_after", after.load(me, Level.THREE)),
            ("mean_load", self.ledger.mean()),
            ("topic_load", weight.load),
            ("highest_here_before", highest(before, weight.spot)),
            ("highest_here_after", highest(after, weight.spot)),
            ("highest_there_before", highest(before, errand.spot)),
            ("highest_there_after", highest(after, errand.spot)),
        )

    def _go_on(self, errand: Errand) -> None:
        """Ask what is to be asked next, or again."""
        broker, topic = self._broker, str(errand.weight.topic)
        if broker.now >= errand.deadline:
            self._end(errand, None)
            return
        if errand.asked >= 0 and broker.now < errand.asked + RETRY_S:
            return
        errand.asked = broker.now
        if errand.accepted:
            home, rest = geographic_hash(topic), int(self._every_s * 1e9)
            relieve = Relieve(Shelf(topic, home), errand.start, errand.to, rest)
            broker.mail(home, relieve, errand.request)
        else:
            offer = Offer(Shelf(topic, errand.to), errand.weight.spot, int(errand.weight.load))
            broker.mail(errand.to, offer, errand.request)

    def handle(self, letter: Routed, body: Offer | Verdict | Done | Failed) -> None:
        """Take a letter about a topic that we give, or are to take."""
        errand = self._errand
        if isinstance(body, Offer):
            self._on_offer(letter, body)
        elif errand is None or letter.request != errand.request:
            return
        elif isinstance(body, Verdict):
            if errand.accepted:
                return
            if body.accepted:
                errand.accepted, errand.asked = True, -1.0
                self._go_on(errand)
            else:
                self._end(errand, "the other broker bears too much by now")
        elif errand.accepted:
            self._end(errand, "" if isinstance(body, Done) else body.reason)

    def _end(self, errand: Errand, refusal: str | None) -> None:
        self._errand = None
        weight = errand.weight
        self._broker.perform(
            Balanced(
                str(weight.topic), weight.spot, errand.spot, errand.seen, refusal, errand.accepted
            )
        )

    # -- taking ---------------------------------------------------------------------------------

    def _on_offer(self, letter: Routed, offer: Offer) -> None:
        """Decide by our own books whether we are still the better place."""
        broker, me = self._broker, self._broker.members.me.name
        if not self._every_s:
            return
        topic = offer.shelf.topic
        spot = broker.members.closest(offer.shelf.coordinate, len(offer.nodes))
        accepted = topic in self._rooms
        if not accepted and spot and spot[0] == me and len(self._rooms) < MOST_ROOMS:
            weight: Weight[str] = Weight(topic, offer.nodes, offer.load)
            known = all(name in self.ledger for name in (*spot, *offer.nodes))
            accepted = known and self._better(weight, spot)
            if accepted:
                until = broker.now + PATIENCE_S
                self._rooms[topic] = Room(spot, offer.load, until)
                self._tell(self._led())
        broker.answer(letter, Verdict(offer.shelf, accepted))

    def _better(self, weight: Weight[str], spot: tuple[str, ...]) -> bool:
        others, least = self.ledger.loads(without=weight), MARGIN * self.ledger.mean()
        return improve(others, Level.THREE, weight.spot, [spot], least) is not None
