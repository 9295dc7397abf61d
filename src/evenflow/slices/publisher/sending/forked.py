"""A publisher in a child that was forked from the process that opened it.

It has no threads there, and its endpoints in the domain are the parent's. So it says nothing:
whoever publishes is told what to do instead, and leaving it leaves it to the parent.
"""

from __future__ import annotations

from threading import Event, Lock
from typing import TYPE_CHECKING, Never, cast

from evenflow.forking import in_parent

if TYPE_CHECKING:
    from evenflow.slices.publisher.shell import PublisherShell


class InParent:
    """Stands in a child where the shell of its parent's publisher was.

    Args:
        topic: What it publishes to.
    """

    def __init__(self, topic: str) -> None:
        self._topic = topic

    def __getattr__(self, _: str) -> Never:
        raise in_parent(f"the publisher of topic {self._topic!r}", "open a Publisher")

    def finish(self, _: float) -> bool:
        """Nothing of this process is uncommitted: it has published nothing."""
        return True

    def close(self) -> None:
        """The parent does that."""


class StaysWithParent:
    """Of a publisher: it is left to the process that opened it."""

    topic: str
    _shell: PublisherShell
    _own: bool

    def _leave_to_parent(self) -> None:
        """This is a child: say nothing here that others would take for the parent's word."""
        self._shell = cast("PublisherShell", InParent(self.topic))
        self._own = False  # nor leave its domain
        self._leaving, self._left = Lock(), Event()  # who had them is not here
