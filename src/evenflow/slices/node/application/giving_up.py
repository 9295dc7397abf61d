"""What becomes of an item that the application cannot process: ``topics.NAME.on_error``."""

from __future__ import annotations

import enum
import logging
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from evenflow.config import TopicConfig
    from evenflow.model.batch import Batch

_LOG = logging.getLogger(__name__)


class GivenUp(enum.Enum):
    """What becomes of it."""

    STOP = enum.auto()
    """It stays uncommitted and the worker ends."""
    DEAD = enum.auto()
    """It is put aside."""
    SKIPPED = enum.auto()
    """Nothing; it was asked for."""


class PutsAside(Protocol):
    """Where items go that are put aside."""

    def put_aside(self, batch: Batch, error: Exception, tries: int) -> None:
        """Put one item aside; it is on disk when this returns."""
        ...


def give_up(
    topic: TopicConfig, office: PutsAside | None, item: Batch, error: Exception, tries: int
) -> GivenUp:
    """Decide on an item that the application has failed on often enough.

    Args:
        topic: The topic.
        office: Where it is put aside; None: nowhere.
        item: The item.
        error: What the application raised.
        tries: How often it was tried.
    """
    if topic.on_error == "skip":
        return GivenUp.SKIPPED
    if office is None:
        _LOG.error(
            "the application cannot process item %d of slice %d: the node stops and leaves it "
            'to another (topics.%s.on_error = "dead" puts such items aside)',
            item.first,
            item.slice,
            topic.name,
        )
        return GivenUp.STOP
    office.put_aside(item, error, tries)
    return GivenUp.DEAD
