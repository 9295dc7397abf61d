"""The Entity Manager: the agent entities that a bridge has in DDS for its devices.

A device sets an entity up by requests: CREATE (its role), SET_TOPIC, SET_TYPE; those for items need
no type. With the last of them the agent is made, and the answer waits for that. Each request may
come again: one that says what is known already is answered as before, one that says something else
is refused. A bridge that goes on with another's device makes all its entities from the record.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from evenflow.bridge.events import DropEntity, MakeEntity
from evenflow.bridge.protocol import datagrams as dg
from evenflow.bridge.protocol.kinds import Fault, Role
from evenflow.bridge.sessions import Entity, Setup

if TYPE_CHECKING:
    from collections.abc import Sequence

    from evenflow.bridge.events import EntityMade
    from evenflow.bridge.sessions import Session
    from evenflow.bridge.shared import Shared

Request = dg.Create | dg.SetTopic | dg.SetType


class EntityManager:
    """Makes and drops agent entities.

    Args:
        shared: What all parts share.
    """

    def __init__(self, shared: Shared) -> None:
        self._sessions = shared.sessions
        self._speech = shared.speech
        self._most_entities = shared.settings.most_entities
        self._counts = shared.refused
        self._out = shared.out

    # -- requests of devices -----------------------------------------------------------------------

    def do(self, session: Session, number: int, request: Request) -> None:
        """Do what a device asks, and answer; the answer to what makes an agent comes later."""
        match request:
            case dg.Create():
                fault: Fault | None = self._create(session, request)
            case dg.SetTopic():
                fault = self._set_topic(session, number, request)
            case dg.SetType():
                fault = self._set_type(session, number, request)
        if fault is not None:
            self._speech.say(session, dg.Done(fault), number)

    def _create(self, session: Session, request: dg.Create) -> Fault:
        entities = session.entities
        if request.entity < len(entities):
            same = entities[request.entity].role is request.role
            return Fault.NONE if same else Fault.DIFFERENT
        if request.entity >= self._most_entities:
            return Fault.TOO_MANY
        if request.entity > len(entities):
            return Fault.NO_SUCH_ENTITY
        entities.append(Entity(request.role))
        return Fault.NONE

    def _set_topic(self, session: Session, number: int, request: dg.SetTopic) -> Fault | None:
        entity = self._find(session, request.entity)
        if entity is None:
            return Fault.NO_SUCH_ENTITY
        if entity.setup is Setup.CREATED:
            if entity.role is Role.ITEMS and self._has_items(session, request.topic):
                return Fault.DIFFERENT
            entity.topic, entity.reliable = request.topic, request.reliable
            entity.setup = Setup.NAMED
        elif (entity.topic, entity.reliable) != (request.topic, request.reliable):
            return Fault.DIFFERENT
        if entity.role is Role.ITEMS:
            return self._make(session, request.entity, number)
        return Fault.NONE

    def _set_type(self, session: Session, number: int, request: dg.SetType) -> Fault | None:
        entity = self._find(session, request.entity)
        if entity is None or entity.setup is Setup.CREATED:
            return Fault.NO_SUCH_ENTITY
        if entity.role is Role.ITEMS or entity.type not in (None, request.type):
            return Fault.DIFFERENT
        entity.type = request.type
        return self._make(session, request.entity, number)

    @staticmethod
    def _has_items(session: Session, topic: str) -> bool:
        """Whether items of the device go to a topic already.

        A second entity would count from 1, too, and its items be taken for those of the first.
        """
        return any(one.role is Role.ITEMS and one.topic == topic for one in session.entities)

    @staticmethod
    def _find(session: Session, entity: int) -> Entity | None:
        return session.entities[entity] if entity < len(session.entities) else None

    def _make(self, session: Session, index: int, number: int | None) -> Fault | None:
        """Make the agent, unless it is there or on its way; return the answer if it is known."""
        entity = session.entities[index]
        if entity.setup is Setup.READY:
            return Fault.NONE
        entity.request = number
        if entity.setup is not Setup.MAKING:
            entity.setup = Setup.MAKING
            make = MakeEntity(
                session.guid, index, entity.role, entity.topic, entity.reliable, entity.type
            )
            self._out.append(make)
        return None

    def on_made(self, made: EntityMade) -> Session | None:
        """An agent is there, or is not; return the session that it belongs to."""
        session = self._sessions.get(made.guid)
        entity = self._find(session, made.entity) if session else None
        if session is None or entity is None or entity.setup is not Setup.MAKING:
            return None
        entity.setup = Setup.FAILED if made.error else Setup.READY
        if made.error:
            self._counts["not_made"] += 1
        if entity.request is not None:
            fault = Fault.NOT_MADE if made.error else Fault.NONE
            self._speech.say(session, dg.Done(fault), entity.request)
            entity.request = None
        return session

    # -- as a whole --------------------------------------------------------------------------------

    def restore(self, session: Session, entities: Sequence[Entity]) -> None:
        """Make the agents of a device that another bridge has served."""
        session.entities = list(entities)
        for index in range(len(session.entities)):
            self._make(session, index, None)

    def drop_all(self, session: Session) -> None:
        """End all agents of a device."""
        for index, entity in enumerate(session.entities):
            if entity.setup in (Setup.MAKING, Setup.READY):
                self._out.append(DropEntity(session.guid, index))
        session.entities = []
