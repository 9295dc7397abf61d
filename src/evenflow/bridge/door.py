"""CONNECT: who is let in, and how a device leaves.

The owner alone answers. To a device that asked one bridge alone (it has no multicast) a bridge that
does not own it says where the owner is. An isolated bridge owns everything, as far as it knows, so
it only answers a device that has tried a few times: that is the witness that nobody else does.

Of two sessions of a device the larger ``(run, session)`` counts. A CONNECT that is known is
answered as before; an earlier one is refused, with the floor above which the device may go on.

Anybody can send a CONNECT in any name. So a session is *half open* until the device has repeated
the salt of the answer, which it does at once (HEARTBEAT); a bridge that is full lets the longest
half open go for the next that comes.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from evenflow.bridge.events import WithdrawRecord
from evenflow.bridge.protocol import datagrams as dg
from evenflow.bridge.protocol.keys import session_key
from evenflow.bridge.protocol.kinds import Refusal
from evenflow.bridge.sessions import Session, Stage
from evenflow.bridge.speech import fault_of_seal

if TYPE_CHECKING:
    from evenflow.bridge.adoption import Adoption
    from evenflow.bridge.entity_manager import EntityManager
    from evenflow.bridge.events import Address
    from evenflow.bridge.shared import Shared


def _echo(datagram: dg.Datagram) -> int:
    """By what a device knows that its own CONNECT is answered, and no earlier one."""
    assert isinstance(datagram.body, dg.Connect)
    return datagram.body.run if datagram.counter is None else datagram.counter


class Door:
    """Lets devices in and out.

    Args:
        shared: What all parts share.
        entities: Makes and drops agents.
        adoption: Offers to devices.
    """

    def __init__(self, shared: Shared, entities: EntityManager, adoption: Adoption) -> None:
        self._shared = shared
        self._name = shared.name
        self._ring = shared.ring
        self._sessions = shared.sessions
        self._records = shared.records
        self._speech = shared.speech
        self._settings = shared.settings
        self._counts = shared.refused
        self._out = shared.out
        self._entities = entities
        self._adoption = adoption
        self.accepted = 0
        """Sessions that began by a CONNECT."""

    # -- in ----------------------------------------------------------------------------------------

    def connect(
        self, datagram: dg.Datagram, body: dg.Connect, data: bytes, source: Address, now: float
    ) -> Session | None:
        """A device asks to be served; return its session if it is."""
        owner = self._ring.owner(datagram.guid)
        if owner != self._name and not body.direct:
            self._counts["not_owned"] += 1
            return None
        if self._ring.is_isolated and body.tried < self._settings.isolated_tries:
            self._counts["isolated"] += 1
            return None
        key = self._shared.key_of(datagram.guid)
        floor = self._floor(datagram.guid)
        keyed_only = self._settings.keyed_only
        wrong = fault_of_seal(datagram, data, key, floor, keyed_only=keyed_only)
        if owner != self._name and wrong != "forged":
            self._redirect(datagram, owner, source, key)
            return None
        if wrong:
            self._refuse_unsealed(wrong, datagram, source, key, floor)
            return None
        newest = self._newest(datagram.guid)
        session = self._sessions.get(datagram.guid)
        order = (body.run, datagram.session)
        if body.run < newest[0]:
            self._refuse(Refusal.EARLIER, datagram, source, key, newest[0])
        elif order < newest:
            self._counts["stale"] += 1
        elif session is None and not self._has_room():
            self._refuse(Refusal.FULL, datagram, source, key)
        else:
            return self._accept(datagram, body, key, source, now)
        return None

    def _has_room(self) -> bool:
        """Whether one more can be served; who was never heard after its CONNECT gives way."""
        if len(self._sessions) < self._settings.most_devices:
            return True
        longest = self._sessions.half_open
        if longest is None:
            return False
        self._counts["half_open"] += 1
        self.let_go(longest)
        return True

    def _floor(self, guid: bytes) -> int:
        """The largest counter of a device that anybody has told of."""
        session, known = self._sessions.get(guid), self._records.get(guid)
        memory = self._sessions.memory(guid)
        return max(
            session.floor if session else 0,
            known.record.counter if known else 0,
            memory.floor if memory else 0,
        )

    def _newest(self, guid: bytes) -> tuple[int, int]:
        """The newest session of a device that the device itself has begun, or taken."""
        session, known = self._sessions.get(guid), self._records.get(guid)
        memory = self._sessions.memory(guid)
        newest = (0, 0)
        if session is not None and session.stage is not Stage.OFFERED:
            newest = session.order
        if known is not None:
            newest = max(newest, known.order)
        return max(newest, (memory.run, memory.number)) if memory else newest

    def _accept(
        self,
        datagram: dg.Datagram,
        body: dg.Connect,
        key: bytes | None,
        source: Address,
        now: float,
    ) -> Session:
        session = self._sessions.get(datagram.guid)
        order = (body.run, datagram.session)
        if session is None or session.order != order:
            session = self._begin(datagram, body, key, source, now)
        elif session.stage is Stage.OFFERED:
            self._adoption.on_taken(session)
        session.stage = Stage.SERVED
        session.address, session.heard = source, now
        session.floor = max(session.floor, datagram.counter or 0)
        echo = _echo(datagram)
        self._speech.say(session, dg.Accepted(self._name, echo, session.salt, session.ready))
        return session

    def _begin(
        self,
        datagram: dg.Datagram,
        body: dg.Connect,
        key: bytes | None,
        source: Address,
        now: float,
    ) -> Session:
        """A new session; entities of the same run are kept, or made from another's record."""
        guid, number = datagram.guid, datagram.session
        former, known = self._sessions.get(guid), self._records.get(guid)
        salt = self._shared.draw_salt()
        session = Session(
            guid,
            body.name,
            body.run,
            number,
            source,
            body.heartbeat_ms / 1000,
            salt,
            now,
            Stage.SERVED,
            key,
            key and session_key(key, guid, body.run, number, salt),
            datagram.counter or 0,
        )
        if former is not None:
            self._replace(former, session)
        self._sessions.add(session)
        self._sessions.doubt(session)
        self.accepted += 1
        if not session.entities and known is not None and known.record.run == body.run:
            self._entities.restore(session, known.entities()[: self._settings.most_entities])
        return session

    def _replace(self, former: Session, session: Session) -> None:
        self._adoption.on_taken(former)
        self._sessions.count_lost(former)
        if former.run != session.run:
            self._entities.drop_all(former)
            return
        session.entities, former.entities = former.entities, []
        session.published = former.published
        for entity in session.entities:
            entity.taken = None
            entity.request = None

    # -- not in ------------------------------------------------------------------------------------

    def _redirect(
        self, datagram: dg.Datagram, owner: str, source: Address, key: bytes | None
    ) -> None:
        """Tell a device that asked this bridge alone where its owner is."""
        self._counts["not_owned"] += 1
        address = self._shared.address_of(owner)
        if address is not None:
            host = f"{address[0]}:{address[1]}"
            refused = dg.Refused(Refusal.ELSEWHERE, _echo(datagram), 0, 0, host)
            self._speech.say_outside(datagram.guid, datagram.session, refused, source, key)

    def _refuse_unsealed(
        self, wrong: str, datagram: dg.Datagram, source: Address, key: bytes | None, floor: int
    ) -> None:
        if wrong == "replayed":
            self._refuse(Refusal.REPLAYED, datagram, source, key, floor)
        elif wrong == "no_key" and key is None:
            self._refuse(Refusal.NO_KEY, datagram, source, None)
        else:
            self._counts[wrong] += 1

    def _refuse(
        self,
        reason: Refusal,
        datagram: dg.Datagram,
        source: Address,
        key: bytes | None,
        floor: int = 0,
    ) -> None:
        self._counts[reason.name.lower()] += 1
        wait_ms = round(self._settings.full_wait_s * 1000) if reason is Refusal.FULL else 0
        refused = dg.Refused(reason, _echo(datagram), floor, wait_ms)
        self._speech.say_outside(datagram.guid, datagram.session, refused, source, key)

    # -- out ---------------------------------------------------------------------------------------

    def let_go(self, session: Session) -> None:
        """A device is not this bridge's any more."""
        if session.stage is Stage.OFFERED:
            self._adoption.abandon(session)
            return
        self._entities.drop_all(session)
        self._sessions.remove(session)
        if session.published is not None:
            self._out.append(WithdrawRecord(session.published))
