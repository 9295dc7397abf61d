"""What the rules of a door want done; the door performs it, in this order."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Mapping

    from evenflow.model.wire import Message

Client = tuple[str, str]
"""A client and its run."""

# -- the disk --------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Chunk:
    """Items that came together, as far as they are news."""

    client: str
    run: str
    sender: str
    link: int
    first: int
    """Number of the first item."""
    times: tuple[int, ...]
    payloads: tuple[bytes, ...]
    size: int
    """Bytes that are held for it."""
    headers: tuple[bytes, ...] = ()
    """Of each item, as a sample of it alone has them; none when there are none."""

    @property
    def last(self) -> int:
        """Number of the last item."""
        return self.first + len(self.payloads) - 1


@dataclass(frozen=True, slots=True)
class Mark:
    """How far the items of a client's run are accepted, and how far they were before."""

    number: int
    before: int


@dataclass(frozen=True, slots=True)
class Accept:
    """Write the marks down, then the unit; tell when it is synced."""

    topic: str
    unit: int
    chunks: tuple[Chunk, ...]
    marks: Mapping[Client, Mark]


@dataclass(frozen=True, slots=True)
class Remember:
    """Write down which doors were given up."""

    forgotten: tuple[str, ...]


# -- the client ------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class TellSafe:
    """Tell a client that its items of a topic are accepted up to a number."""

    link: int
    topic: str
    number: int


@dataclass(frozen=True, slots=True)
class TellSettled:
    """Tell a client how far another door has accepted its items, and will accept no more."""

    link: int
    door: str
    topic: str
    number: int


@dataclass(frozen=True, slots=True)
class Pause:
    """Do not read from this link: there is no room for what it sends."""

    link: int


@dataclass(frozen=True, slots=True)
class Resume:
    """Read from this link again."""

    link: int


# -- others ----------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Write:
    """A message to the domain."""

    message: Message
    to: str = ""
    """Partition: whom it is for; empty for everybody."""


@dataclass(frozen=True, slots=True)
class Complain:
    """Something is wrong that an operator must mend."""

    what: str


@dataclass(frozen=True, slots=True)
class GiveUp:
    """This process must not go on."""

    why: str


EdgeAction = (
    Accept | Remember | TellSafe | TellSettled | Pause | Resume | Write | Complain | GiveUp
)  # fmt: skip


class Out(Protocol):
    """Where actions go: a list of a door's, which may hold others too."""

    def append(self, action: EdgeAction, /) -> None:
        """Add one."""
        ...
