"""The Protocol Manager: relays between devices and their agent entities.

Data are best effort both ways. Each side counts what it sent and got in the session and says so in
HEARTBEAT and ALIVE; so what was lost on the way is known one heartbeat later, and what a bridge
took with it when it died is known as far as it can be: the device counts what it sent to it after
its last answer (*unsure*).

A giver lets its device go to the bridge that offers, if the ring says so: the device asks, by the
name in its heartbeat, and is told MOVED. Samples that come for a device while the offer stands are
kept, a few, and sent when it takes the offer; the device drops what it has had from its former
bridge, by the mark that both give to a sample.
"""

from __future__ import annotations

from struct import Struct
from typing import TYPE_CHECKING, Final
from zlib import crc32

from evenflow.bridge.events import WriteSample
from evenflow.bridge.protocol import datagrams as dg
from evenflow.bridge.protocol.kinds import Role
from evenflow.bridge.sessions import Setup, Stage
from evenflow.errors import DecodeError

if TYPE_CHECKING:
    from evenflow.bridge.events import Address, SampleRead
    from evenflow.bridge.sessions import Session
    from evenflow.bridge.shared import Shared

_TIME: Final = Struct(">q")
_WRAP: Final = 1 << 32


def difference(newer: int, older: int) -> int:
    """How far a count of 32 bits is ahead of another; negative when it is behind."""
    return (newer - older + (_WRAP >> 1)) % _WRAP - (_WRAP >> 1)


class ProtocolManager:
    """Relays data and answers heartbeats.

    Args:
        shared: What all parts share.
    """

    def __init__(self, shared: Shared) -> None:
        self._name = shared.name
        self._ring = shared.ring
        self._sessions = shared.sessions
        self._speech = shared.speech
        self._most_buffered = shared.settings.most_buffered
        self._counts = shared.refused
        self._out = shared.out
        self.relayed_up = 0
        self.relayed_down = 0
        self.heartbeats = 0

    # -- from the device ---------------------------------------------------------------------------

    def on_data(self, session: Session, data: dg.Data) -> None:
        """A sample of a device, for DDS."""
        entity = session.entities[data.entity] if data.entity < len(session.entities) else None
        if entity is None or entity.role is not Role.PUBLISHER or entity.setup is not Setup.READY:
            self._counts["not_ready"] += 1
            return
        if entity.mark is not None and difference(data.mark, entity.mark) <= 0:
            self._counts["repeated"] += 1
            return
        entity.mark = data.mark
        session.received = (session.received + 1) % _WRAP
        assert entity.type is not None
        try:
            values = entity.type.unpack(data.payload)
        except DecodeError:
            self._counts["malformed"] += 1
            return
        self.relayed_up += 1
        self._out.append(WriteSample(session.guid, data.entity, values))

    def on_heartbeat(self, session: Session, beat: dg.Heartbeat, source: Address) -> None:
        """The device is there; tell it that the bridge is, or to whom to go."""
        self.heartbeats += 1
        session.address = source
        session.lost_up = max(0, difference(beat.sent, session.received))
        session.lost_down = max(0, difference(session.sent_before, beat.received))
        session.sent_before = session.sent
        session.unsure = beat.unsure
        if beat.offer and self._ring.owner(session.guid) != self._name:
            session.stage = Stage.RELEASED
            self._speech.say(session, dg.Moved(beat.offer, session.received))
        elif session.stage is Stage.RELEASED and self._ring.is_isolated:
            self._speech.say(session, dg.Moved("", session.received))
        else:
            session.stage = Stage.SERVED
            self._speech.say(session, dg.Alive(session.received, session.sent, session.ready))

    # -- to the device -----------------------------------------------------------------------------

    def on_sample(self, sample: SampleRead) -> None:
        """A sample of DDS, for a device."""
        session = self._sessions.get(sample.guid)
        if session is None or sample.entity >= len(session.entities):
            return
        entity = session.entities[sample.entity]
        if entity.role is not Role.SUBSCRIBER or entity.type is None:
            return
        try:
            payload = entity.type.pack(sample.values)
        except ValueError:
            self._counts["unfit"] += 1
            return
        mark = crc32(payload, crc32(_TIME.pack(sample.time)))
        if session.stage is Stage.OFFERED:
            if len(session.waiting) >= self._most_buffered:
                session.waiting.popleft()
                self._counts["buffer_full"] += 1
            session.waiting.append((sample.entity, mark, payload))
        else:
            self._deliver(session, sample.entity, mark, payload)

    def _deliver(self, session: Session, entity: int, mark: int, payload: bytes) -> None:
        if self._speech.say(session, dg.Data(entity, mark, payload)):
            session.sent = (session.sent + 1) % _WRAP
            self.relayed_down += 1

    def on_taken(self, session: Session) -> None:
        """The device has taken the offer: send what has come for it meanwhile."""
        while session.waiting:
            self._deliver(session, *session.waiting.popleft())

    def release(self, session: Session) -> None:
        """Tell a device to look for another bridge."""
        session.stage = Stage.RELEASED
        self._speech.say(session, dg.Moved("", session.received))
