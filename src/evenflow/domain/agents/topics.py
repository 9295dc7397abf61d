"""The DDS topics of the agents of one process.

A topic has one type while an agent uses it, and a type's name means one declaration while a topic
has it: who comes with another is refused, in words. What nobody uses any more is dropped, so that
devices that come and go leave nothing behind.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from evenflow.domain.agents.declaration import topic_fault
from evenflow.domain.agents.plan import Plan
from evenflow.domain.agents.types import dds_type
from evenflow.domain.endpoints import delete
from evenflow.errors import TypeRefused

if TYPE_CHECKING:
    from cyclonedds.topic import Topic

    from evenflow.domain.agents.declaration import Declaration
    from evenflow.domain.cyclone import Participant


@dataclass(slots=True)
class _Type:
    declaration: Declaration
    struct: Any
    plan: Plan
    users: int = 0


@dataclass(slots=True)
class AgentTopic:
    """A topic that agents use."""

    name: str
    type: _Type
    entity: Topic[Any]
    """Cyclone's own topic; for :mod:`evenflow.domain` alone."""
    users: int = 0

    @property
    def plan(self) -> Plan:
        """The bytes of its samples."""
        return self.type.plan


class AgentTopics:
    """Topics and types that are in use. One thread at a time may call it."""

    def __init__(self, participant: Participant) -> None:
        self._participant = participant
        self._topics: dict[str, AgentTopic] = {}
        self._types: dict[str, _Type] = {}

    def use(self, name: str, declaration: Declaration) -> AgentTopic:
        """Use a topic, until it is given back.

        Raises:
            TypeRefused: The name cannot be, or is in use with another type.
            DomainError: Cyclone failed.
        """
        topic = self._topics.get(name)
        if topic is None:
            topic = self._topics[name] = self._open(name, declaration)
        elif topic.type.declaration != declaration:
            raise TypeRefused(name, f"the topic is in use with another type: {_said(topic.type)}")
        topic.users += 1
        return topic

    def _open(self, name: str, declaration: Declaration) -> AgentTopic:
        if fault := topic_fault(name):
            raise TypeRefused(name, fault)
        type_ = self._types.get(declaration.name)
        if type_ is None:
            type_ = _Type(declaration, dds_type(declaration), Plan(declaration))
        elif type_.declaration != declaration:
            raise TypeRefused(declaration.name, f"the type is declared otherwise: {_said(type_)}")
        entity = self._participant.make_topic(name, type_.struct)
        self._types[declaration.name] = type_
        type_.users += 1
        return AgentTopic(name, type_, entity)

    def give_back(self, topic: AgentTopic) -> None:
        """It is used no more by one of its users; call it when that one's entity is deleted."""
        topic.users -= 1
        if topic.users:
            return
        del self._topics[topic.name]
        delete(topic.entity)
        topic.type.users -= 1
        if not topic.type.users:
            del self._types[topic.type.declaration.name]

    def __len__(self) -> int:
        return len(self._topics)


def _said(type_: _Type) -> str:
    fields = ", ".join(
        f"{field.kind}{f'<{field.bound}>' if field.bound else ''} {field.name}"
        for field in type_.declaration.fields
    )
    return f"{type_.declaration.name} {{{fields}}}"
