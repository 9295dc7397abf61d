"""The consumers of a topic that are there without a word of their own.

Of a durable topic one consumer is known from the start: `ARCHIVE`, who writes it to the store; of a
topic of dead letters `DEAD`, who replays or drops them. The file may name others.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from evenflow.config import TopicConfig

ARCHIVE: Final = "archive"
"""Name of the consumer that writes a durable topic to the overlay store."""

DEAD: Final = "dead"
"""Name of the consumer that replays or drops dead letters."""


def expected_consumers(topic: TopicConfig) -> tuple[str, ...]:
    """The consumers of a topic that follow from what it is."""
    return (ARCHIVE,) * topic.archived + (DEAD,) * topic.is_dead


def declared_consumers(topic: TopicConfig) -> tuple[str, ...]:
    """All consumers of a topic for whom everything is kept though they have never run.

    The balancer names them in its ledger. Nobody else goes by his own file: so one that is taken
    out of the file is released for everybody when the balancer has read it.
    """
    expected = expected_consumers(topic)
    return (*expected, *(name for name in topic.consumers if name not in expected))
