"""Which topics clients can publish to by way of a door.

A door makes units of the items of many clients, and knows of each its sender, number and time. So
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
    from collections.abc import Sequence

    from evenflow.config import Config, TopicConfig


def door_topics(config: Config, key: str, wanted: Sequence[str]) -> tuple[str, ...]:
    """Return the topics that a door serves, the default one first.

    Args:
        config: The configuration.
        key: Its key that says which topics the door shall serve: ``gateway.topics``.
        wanted: What it says; nothing: all that can be served.

    Raises:
        ConfigError: One of those that are wanted cannot be, or there is none at all.
    """
    fitting = "needs an assignment by sender, id or time: hash:sender, hash:id, modulo:id, random"
    for name in wanted:
        if not _fits(config.topic(name)):
            raise ConfigError(key, name, fitting)
    found = wanted or tuple(one.name for one in config.topics if _fits(one))
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
