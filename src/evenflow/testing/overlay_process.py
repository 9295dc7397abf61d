"""A broker of a simulated cluster as a process: what it is connected to, and how it will end."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from evenflow.overlay.ports import Store

if TYPE_CHECKING:
    from evenflow.overlay.broker.core import BrokerCore


class Disk(Store, Protocol):
    """A disk that can be full, and that forgets in a crash what was not committed."""

    @property
    def dirty(self) -> bool:
        """Whether there is something to commit."""
        ...

    def abandon(self) -> None:
        """Go back to what was committed, as a crash does."""
        ...

    def limit(self, pages: int) -> None:
        """Let the disk take no more (0), or have room again."""
        ...


@dataclass(slots=True)
class RunningBroker:
    """A broker that was started and not killed."""

    core: BrokerCore
    wanted: set[str]
    """Brokers that it keeps a connection to."""
    stopped: bool = False
    """Whether its process does not run, as after SIGSTOP."""
    dying: str = ""
    """Whether it is killed ``before`` or ``after`` its next commit."""
    sent: int = 0
    """Messages that it sent in this second."""
