"""The rules of a bridge, without socket, clock, thread or file.

Events go in, actions come out (:mod:`evenflow.bridge.events`). The parts have the paper's names:
the shell is the *Abstract Layer* (Sender and Receiver), :mod:`~.protocol_manager` relays between
devices and DDS, :mod:`~.entity_manager` has the agent entities. Besides them: who is let in
(:mod:`~.door`), devices of other bridges that become this one's (:mod:`~.adoption`,
:mod:`~.records`), items of sliced topics (:mod:`~.item_relay`), and seals (:mod:`~.speech`).

Every datagram is checked before anything is made of it: its form, its seal, its session. What is
refused is counted by reason, and changes nothing else.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from evenflow.bridge.adoption import Adoption
from evenflow.bridge.door import Door
from evenflow.bridge.entity_manager import EntityManager
from evenflow.bridge.events import (
    EntityMade,
    ItemSafe,
    ItemSettled,
    KeysChanged,
    PublishRecord,
    Received,
    RecordHeard,
    RecordWithdrawn,
    RingChanged,
    SampleRead,
    Stop,
)
from evenflow.bridge.item_relay import ItemRelay
from evenflow.bridge.protocol import datagrams as dg
from evenflow.bridge.protocol.decoding import decode
from evenflow.bridge.protocol_manager import ProtocolManager
from evenflow.bridge.records import Records, check
from evenflow.bridge.sessions import Sessions, Stage
from evenflow.bridge.shared import Shared
from evenflow.bridge.speech import Speech, fault_of_seal
from evenflow.errors import DecodeError

if TYPE_CHECKING:
    from collections.abc import Callable

    from evenflow.bridge.events import Action, Address, Event
    from evenflow.bridge.ports import AddressOf, KeyOf, Ring
    from evenflow.bridge.sessions import Session
    from evenflow.bridge.settings import BridgeSettings


class BridgeCore:
    """One bridge.

    Args:
        name: Its name, for ever: devices and other bridges settle with it by that.
        ring: Who owns what.
        settings: Bounds and times.
        draw_salt: Gives 64 bits that were never given before.
        key_of: Keys of devices.
        address_of: Where devices reach other bridges.
    """

    def __init__(
        self,
        name: str,
        ring: Ring,
        settings: BridgeSettings,
        draw_salt: Callable[[], int],
        key_of: KeyOf = lambda _: None,
        address_of: AddressOf = lambda _: None,
    ) -> None:
        self.name = name
        self._ring = ring
        self._settings = settings
        self._key_of = key_of
        self._out: list[Action] = []
        self._dirty: dict[bytes, None] = {}
        """Devices whose record may have changed."""
        self._isolated = False
        self._swept = 0.0
        self.refused: Counter[str] = Counter()
        """Datagrams, records and samples that were not taken, by reason."""
        self.sessions = Sessions(settings.most_devices)
        self.records = Records(settings.most_records)
        self._speech = Speech(self._out, self.refused)
        shared = Shared(
            name,
            ring,
            settings,
            draw_salt,
            key_of,
            address_of,
            self.sessions,
            self.records,
            self._speech,
            self.refused,
            self._out,
        )
        self.entities = EntityManager(shared)
        self.relay = ProtocolManager(shared)
        self.items = ItemRelay(shared)
        self.adoption = Adoption(shared, self.entities)
        self.door = Door(shared, self.entities, self.adoption)

    # -- events ------------------------------------------------------------------------------------

    def handle(self, event: Event, now: float) -> list[Action]:
        """Take an event; return what to do, in order."""
        match event:
            case Received(data, source):
                self._on_datagram(data, source, now)
            case SampleRead():
                self.relay.on_sample(event)
            case EntityMade():
                self._on_made(event, now)
            case ItemSafe():
                self.items.on_safe(event)
            case ItemSettled():
                self.items.on_settled(event)
            case _:
                self._on_domain(event, now)
        if now >= self._swept + self._settings.sweep_s:
            self._sweep(now)
        self._tell(now)
        done = list(self._out)
        self._out.clear()
        return done

    def deadline(self) -> float:
        """When to be called again, at the latest."""
        return self._swept + self._settings.sweep_s

    def _sweep(self, now: float) -> None:
        self._swept = now
        self.adoption.go_on(now)
        for session in self.sessions:
            silent = self._settings.silent_periods * session.heartbeat_s
            if session.stage is Stage.OFFERED:
                continue
            if now >= session.heard + silent:
                self.refused["silent"] += 1
                self._let_go(session, now)
            elif session.is_foreign and now >= session.tell_at:
                self._tell_again(session, now)

    def _tell_again(self, session: Session, now: float) -> None:
        """Another owns this device and does not offer: it may have lost the record."""
        if session.published is not None:
            self._out.append(PublishRecord(session.published))
        session.tell_wait_s = min(self._settings.offer_again_most_s, session.tell_wait_s * 2)
        session.tell_at = now + session.tell_wait_s

    def _look_at_owner(self, session: Session, now: float) -> None:
        session.is_foreign = self._ring.owner(session.guid) != self.name
        session.tell_wait_s = self._settings.offer_again_s
        session.tell_at = now + session.tell_wait_s

    def _tell(self, now: float) -> None:
        """Publish the records that have changed."""
        for guid in self._dirty:
            session = self.sessions.get(guid)
            if session is None or session.stage is Stage.OFFERED:
                continue
            self._look_at_owner(session, now)
            record = session.record(self.name)
            if record != session.published:
                session.published = record
                self._out.append(PublishRecord(record))
        self._dirty.clear()

    # -- datagrams ---------------------------------------------------------------------------------

    def _on_datagram(self, data: bytes, source: Address, now: float) -> None:
        try:
            datagram = decode(data)
        except DecodeError:
            self.refused["malformed"] += 1
            return
        body = datagram.body
        if isinstance(body, dg.Connect):
            session = self.door.connect(datagram, body, data, source, now)
            if session is not None:
                self._dirty[session.guid] = None
                self.relay.on_taken(session)
            return
        session = self.sessions.get(datagram.guid)
        if session is None:
            self._on_stranger(datagram, source)
            return
        at_door = isinstance(body, (dg.Goodbye, dg.Served))
        key = session.key if at_door else session.session_key
        only = self._settings.keyed_only
        wrong = fault_of_seal(datagram, data, key, session.floor, keyed_only=only)
        if wrong:
            self.refused[wrong] += 1
            return
        session.floor = max(session.floor, datagram.counter or 0)
        if isinstance(body, dg.Served):
            self._on_served(session, body, now)
        elif isinstance(body, dg.Goodbye):
            self._on_goodbye(session, datagram, body, now)
        elif datagram.session != session.number or (
            isinstance(body, dg.Heartbeat) and body.salt != session.salt
        ):
            self._on_other_session(datagram, source, session)
        else:
            self._on_session(session, datagram, source, now)

    def _on_session(
        self, session: Session, datagram: dg.Datagram, source: Address, now: float
    ) -> None:
        """A datagram that belongs to a session of this bridge."""
        session.heard = now
        if session.stage is Stage.OFFERED:
            session.stage = Stage.SERVED
            session.address = source
            self.adoption.on_taken(session)
            self._dirty[session.guid] = None
            self.relay.on_taken(session)
        match datagram.body:
            case dg.Data() as body:
                self.relay.on_data(session, body)
            case dg.Heartbeat() as body:
                self.sessions.confirm(session)
                if session.address != source:
                    self._dirty[session.guid] = None
                self.relay.on_heartbeat(session, body, source)
            case dg.Create() | dg.SetTopic() | dg.SetType() as body:
                self.entities.do(session, datagram.number, body)
            case dg.Item() as body:
                self.items.take(session, datagram.number, body)
            case dg.Settle() as body:
                self.items.settle(session, body)
            case _:
                self.refused["misdirected"] += 1

    def _on_stranger(self, datagram: dg.Datagram, source: Address) -> None:
        """A device that has no session here. One without a key is told so at once."""
        self.refused["no_session"] += 1
        if self._key_of(datagram.guid) is not None or datagram.counter is not None:
            return
        if isinstance(datagram.body, dg.Heartbeat):
            moved = dg.Moved("")
            self._speech.say_outside(datagram.guid, datagram.session, moved, source)
        elif isinstance(datagram.body, dg.Goodbye):
            self._speech.say_outside(datagram.guid, datagram.session, dg.Bye(), source)

    def _on_other_session(self, datagram: dg.Datagram, source: Address, session: Session) -> None:
        self.refused["other_session"] += 1
        unknown = datagram.session >= session.number
        if unknown and session.key is None and isinstance(datagram.body, dg.Heartbeat):
            moved = dg.Moved("")
            self._speech.say_outside(datagram.guid, datagram.session, moved, source)

    def _on_served(self, session: Session, body: dg.Served, now: float) -> None:
        if session.stage is Stage.OFFERED and body.bridge != self.name:
            self.adoption.on_served(session, now)
        else:
            self.refused["misdirected"] += 1

    def _on_goodbye(
        self, session: Session, datagram: dg.Datagram, body: dg.Goodbye, now: float
    ) -> None:
        if (body.run, datagram.session) < session.order:
            self.refused["other_session"] += 1
            return
        self._speech.say(session, dg.Bye(), datagram.number)
        self._let_go(session, now)

    def _let_go(self, session: Session, now: float) -> None:
        """A device has left; if another serves it, and it is this bridge's, it is offered to."""
        self.door.let_go(session)
        self.adoption.consider(session.guid, now)

    # -- the domain --------------------------------------------------------------------------------

    def _on_domain(self, event: Event, now: float) -> None:
        match event:
            case RecordHeard():
                self._on_record(event, now)
            case RecordWithdrawn(bridge, guid):
                self.records.withdraw(bridge, guid)
            case RingChanged():
                self._on_ring(now)
            case KeysChanged():
                self._on_keys(now)
            case Stop():
                self._on_stop()

    def _on_made(self, made: EntityMade, now: float) -> None:
        session = self.entities.on_made(made)
        if session is not None:
            self._dirty[session.guid] = None
            self.adoption.on_made(session, now)

    def _on_record(self, heard: RecordHeard, now: float) -> None:
        if heard.record.bridge == self.name:
            return
        try:
            known = check(heard.record)
        except ValueError:
            self.refused["bad_record"] += 1
            return
        if not self.records.hear(known):
            self.refused["records_full"] += 1
            return
        session = self.sessions.get(known.guid)
        if session is not None and self._is_newer(known.order, session):
            self._let_go(session, now)
        else:
            self.adoption.consider(known.guid, now)

    @staticmethod
    def _is_newer(order: tuple[int, int], session: Session) -> bool:
        """Whether a record makes a session void; an offer is void once its number is taken."""
        return order >= session.order if session.stage is Stage.OFFERED else order > session.order

    def _on_ring(self, now: float) -> None:
        isolated = self._ring.is_isolated
        if isolated and not self._isolated:
            for session in self.sessions:
                if session.stage is Stage.SERVED:
                    self.relay.release(session)
        self._isolated = isolated
        for session in self.sessions:
            self._look_at_owner(session, now)
        self.adoption.consider_all(now)

    def _on_keys(self, now: float) -> None:
        """A session goes by the key that it began with: one that has another now begins anew."""
        for session in self.sessions:
            if self._key_of(session.guid) != session.key:
                self.refused["other_key"] += 1
                self._let_go(session, now)

    def _on_stop(self) -> None:
        for session in self.sessions:
            if session.stage is not Stage.OFFERED:
                self.relay.release(session)
