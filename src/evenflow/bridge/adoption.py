"""Devices of other bridges that are this one's to serve: offers, and who takes them.

The ring says who *should* serve a device, its record who *does*. Where that is another, dead or
alive, the owner makes the entities of the record and then offers itself (ADOPT), a few times. The
device is the judge: it takes the offer if its own bridge has released it, or is silent; otherwise
it answers SERVED, and the owner withdraws and asks again later, ever more seldom. So no bridge
takes a device from one that serves it, whatever it believes of that one. An isolated bridge offers
nothing.

The record of a dead bridge's device that does not answer is forgotten: a device that lives comes by
itself.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from evenflow.bridge.protocol import datagrams as dg
from evenflow.bridge.protocol.keys import session_key
from evenflow.bridge.protocol.kinds import MOST_SESSION
from evenflow.bridge.sessions import Session, Setup, Stage

if TYPE_CHECKING:
    from evenflow.bridge.entity_manager import EntityManager
    from evenflow.bridge.records import Known
    from evenflow.bridge.shared import Shared


@dataclass(slots=True)
class Offer:
    """An offer that stands."""

    session: Session
    said: int = 0
    """How often."""
    due: float = 0.0


@dataclass(slots=True)
class Pause:
    """When a device is offered to again."""

    until: float
    wait_s: float


class Adoption:
    """Offers to devices of other bridges.

    Args:
        shared: What all parts share.
        entities: Makes agents.
    """

    def __init__(self, shared: Shared, entities: EntityManager) -> None:
        self._shared = shared
        self._name = shared.name
        self._ring = shared.ring
        self._sessions = shared.sessions
        self._records = shared.records
        self._speech = shared.speech
        self._settings = shared.settings
        self._counts = shared.refused
        self._entities = entities
        self._offers: dict[bytes, Offer] = {}
        self._pauses: dict[bytes, Pause] = {}

    # -- whom to offer to --------------------------------------------------------------------------

    def consider(self, guid: bytes, now: float) -> None:
        """Offer to a device if it should be this bridge's and is not."""
        known = self._records.get(guid)
        if known is None or known.bridge == self._name or self._sessions.get(guid) is not None:
            return
        pause = self._pauses.get(guid)
        if pause is not None and now < pause.until:
            return
        if self._ring.is_isolated or self._ring.owner(guid) != self._name:
            return
        key = self._shared.key_of(guid)
        if key is None and self._settings.keyed_only:
            return
        if len(self._sessions) >= self._settings.most_devices:
            self._counts["full"] += 1
            self._pause(guid, now)
            return
        self._begin(known, key, now)

    def consider_all(self, now: float) -> None:
        """The ring has changed: offers that are not ours end, others begin."""
        self._pauses.clear()
        for guid, offer in list(self._offers.items()):
            if self._ring.is_isolated or self._ring.owner(guid) != self._name:
                self._end(offer)
        if not self._ring.is_isolated:
            for guid in self._records:
                self.consider(guid, now)

    def _begin(self, known: Known, key: bytes | None, now: float) -> None:
        record = known.record
        number = min(record.session + 1, MOST_SESSION)
        salt = self._shared.draw_salt()
        session = Session(
            known.guid,
            record.name,
            record.run,
            number,
            known.address,
            record.heartbeat_ms / 1000,
            salt,
            now,
            Stage.OFFERED,
            key,
            key and session_key(key, known.guid, record.run, number, salt),
            record.counter,
        )
        self._sessions.add(session)
        offer = self._offers[known.guid] = Offer(session, due=now)
        self._entities.restore(session, known.entities()[: self._settings.most_entities])
        self._say(offer, now)

    # -- offering ----------------------------------------------------------------------------------

    def on_made(self, session: Session, now: float) -> None:
        """An entity of a session is made: offer when all are."""
        offer = self._offers.get(session.guid)
        if offer is not None and not offer.said:
            self._say(offer, now)

    def _say(self, offer: Offer, now: float) -> None:
        session = offer.session
        if any(entity.setup is Setup.MAKING for entity in session.entities):
            return
        offer.said += 1
        offer.due = now + self._settings.offer_s
        adopt = dg.Adopt(self._name, session.run, session.salt, session.ready)
        self._speech.say(session, adopt)

    def go_on(self, now: float) -> None:
        """Repeat offers that are due, end those that nobody takes, begin those that waited."""
        for offer in [one for one in self._offers.values() if one.said and now >= one.due]:
            if offer.said < self._settings.most_offers:
                self._say(offer, now)
                continue
            guid = offer.session.guid
            self._end(offer)
            self._counts["offer_unanswered"] += 1
            known = self._records.get(guid)
            if known is not None and known.bridge not in self._ring.members:
                self._records.withdraw(known.bridge, guid)
            else:
                self._pause(guid, now)
        for guid in [guid for guid, pause in self._pauses.items() if now >= pause.until]:
            self.consider(guid, now)
            if guid not in self._offers and now >= self._pauses[guid].until:
                del self._pauses[guid]  # it is nobody's to offer to any more

    def _pause(self, guid: bytes, now: float) -> None:
        former = self._pauses.get(guid)
        first, most = self._settings.offer_again_s, self._settings.offer_again_most_s
        wait_s = first if former is None else min(most, former.wait_s * 2)
        self._pauses[guid] = Pause(now + wait_s, wait_s)

    def _end(self, offer: Offer) -> None:
        del self._offers[offer.session.guid]
        self._entities.drop_all(offer.session)
        self._sessions.remove(offer.session)

    # -- what devices and bridges say to it --------------------------------------------------------

    def on_taken(self, session: Session) -> None:
        """The device goes on here."""
        self._offers.pop(session.guid, None)
        self._pauses.pop(session.guid, None)

    def on_served(self, session: Session, now: float) -> None:
        """The device says that another serves it: that one lives."""
        offer = self._offers.get(session.guid)
        if offer is not None and offer.session is session:
            self._counts["offer_declined"] += 1
            self._end(offer)
            self._pause(session.guid, now)

    def abandon(self, session: Session) -> None:
        """The session that was offered is void: another record counts, or the device left."""
        offer = self._offers.get(session.guid)
        if offer is not None:
            self._end(offer)
