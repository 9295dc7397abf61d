"""Items of devices on their way into sliced topics.

What is promised is that of docs/mobile.md, rules 1 to 4, with the device's session as connection.
Here only this is kept: items of an entity are passed on in the order of their numbers, without
gaps, and no more than a few that are not safe. Datagrams may be lost or overtaken, so each item
says how far it is from the newest that the device knows to be safe (the header's number); the first
of a session begins there. What comes again is answered again; what comes too early is dropped, and
the device repeats it.

Acceptance itself (disk, marks, what other bridges have accepted) is behind the actions
:class:`~evenflow.bridge.events.TakeItem` and :class:`~evenflow.bridge.events.AskSettled`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from evenflow.bridge.events import AskSettled, TakeItem
from evenflow.bridge.protocol import datagrams as dg
from evenflow.bridge.protocol.kinds import Role
from evenflow.bridge.sessions import Setup, Stage

if TYPE_CHECKING:
    from evenflow.bridge.events import ItemSafe, ItemSettled
    from evenflow.bridge.sessions import Entity, Session
    from evenflow.bridge.shared import Shared


class ItemRelay:
    """Passes items on, and tells devices what became of them.

    Args:
        shared: What all parts share.
    """

    def __init__(self, shared: Shared) -> None:
        self._sessions = shared.sessions
        self._speech = shared.speech
        self._most_items = shared.settings.most_items
        self._counts = shared.refused
        self._out = shared.out
        self.items = 0
        """Items passed on."""

    def take(self, session: Session, distance: int, item: dg.Item) -> None:
        """An item came."""
        entity = self._entity(session, item.entity)
        if entity is None:
            return
        if item.salt != session.salt:
            self._counts["other_session"] += 1
            return
        if entity.taken is None:
            if not 1 <= distance <= item.number:
                self._counts["malformed"] += 1
                return
            entity.taken = entity.safe = item.number - distance
        if item.number <= entity.taken:
            self._counts["repeated"] += 1
            if item.number <= entity.safe:
                self._speech.say(session, dg.Safe(item.entity, entity.safe))
            return
        if item.number != entity.taken + 1 or item.number - entity.safe > self._most_items:
            self._counts["early"] += 1
            return
        entity.taken = item.number
        self.items += 1
        taken = TakeItem(
            session.guid,
            session.name,
            session.run,
            session.number,
            entity.topic,
            item.number,
            item.time,
            item.payload,
        )
        self._out.append(taken)

    def settle(self, session: Session, question: dg.Settle) -> None:
        """The device asks how far another bridge, or this one, is."""
        entity = self._entity(session, question.entity)
        if entity is not None:
            ask = AskSettled(
                session.guid, session.run, session.number, entity.topic, question.bridge
            )
            self._out.append(ask)

    def _entity(self, session: Session, index: int) -> Entity | None:
        if index < len(session.entities):
            entity = session.entities[index]
            if entity.role is Role.ITEMS and entity.setup is Setup.READY:
                return entity
        self._counts["not_ready"] += 1
        return None

    # -- answers -----------------------------------------------------------------------------------

    def on_safe(self, safe: ItemSafe) -> None:
        """Items are on disk."""
        session = self._sessions.get(safe.guid)
        if session is None or session.run != safe.run or session.stage is Stage.OFFERED:
            return
        for index, entity in self._of_topic(session, safe.topic):
            # Only what this session has sent: of an earlier one the device asks (SETTLE).
            if entity.taken is not None and entity.safe < safe.number:
                entity.safe = min(safe.number, entity.taken)
                self._speech.say(session, dg.Safe(index, entity.safe))

    def on_settled(self, settled: ItemSettled) -> None:
        """A bridge has said how far it is; only the session that asked is told."""
        session = self._sessions.get(settled.guid)
        if session is None or session.order != (settled.run, settled.session):
            return
        for index, _ in self._of_topic(session, settled.topic):
            self._speech.say(session, dg.Settled(index, settled.bridge, settled.number))

    @staticmethod
    def _of_topic(session: Session, topic: str) -> list[tuple[int, Entity]]:
        return [
            (index, entity)
            for index, entity in enumerate(session.entities)
            if entity.role is Role.ITEMS and entity.topic == topic
        ]
