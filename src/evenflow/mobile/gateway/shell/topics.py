"""Which topics mobile nodes can publish to by way of a gateway.

A gateway makes units of the items of many nodes, and knows of each its sender, number and time. So
the slice of an item must follow from those: an assignment that looks into the payload, or that may
refuse an item, would hold up everybody else's.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from evenflow.errors import ConfigError
from evenflow.slices.assignment import (
    HashAssignment,
    ModuloAssignment,
    RandomAssignment,
    assignment_of,
)

if TYPE_CHECKING:
    from evenflow.config import Config, TopicConfig


def gateway_topics(config: Config) -> tuple[str, ...]:
    """Return the topics that a gateway serves, the default one first.

    Raises:
        ConfigError: One of ``gateway.topics`` cannot be, or there is none at all.
    """
    fitting = "needs an assignment by sender, id or time: hash:sender, hash:id, modulo:id, random"
    for name in config.gateway.topics:
        if not _fits(config.topic(name)):
            raise ConfigError("gateway.topics", name, fitting)
    found = config.gateway.topics or tuple(one.name for one in config.topics if _fits(one))
    if not found:
        raise ConfigError(
            "topics", [one.name for one in config.topics], f"none fits: one {fitting}"
        )
    return tuple(dict.fromkeys(found))


def _fits(topic: TopicConfig) -> bool:
    match assignment_of(topic.assignment):
        case HashAssignment(field):
            return field in {"sender", "id", "time"}
        case ModuloAssignment(field):
            return field in {"id", "time"}
        case RandomAssignment():
            return True
    return False
