"""The clients of a door: who is behind which link, and which connection of a client counts.

A client numbers its connections. Of two the larger counts, wherever they are: one with a smaller
number than is known is refused, and a session with a smaller one is ended. What is known of
connections that are not here (*fences*) holds for the run of their client: it is there so that
nothing of an older connection is accepted, and another run has other items. A process that has lost
its memory, and whose clock was put back, would else be refused until its clock is as late. Fences
are kept for the newest ``MOST_FENCES``; an older one is not needed, because whoever was fenced has
long lost its link.
"""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import KW_ONLY, dataclass, field
from enum import Enum
from typing import TYPE_CHECKING, Final, Generic, TypeVar

if TYPE_CHECKING:
    from collections.abc import Iterator

MOST_FENCES: Final = 100_000


class Stage(Enum):
    """How far a client has come."""

    GREETING = "has not said yet who it is"
    ARRIVING = "is let in when its former items are settled"
    ATTACHED = "is served"
    ELSEWHERE = "is attached to another door and leaves this one"
    GONE = "is here no more"


CLOSED: Final = (Stage.GREETING, Stage.ARRIVING, Stage.GONE)
"""Nothing of a client is taken: what it sent before is not settled, or was settled for good."""


@dataclass(slots=True, eq=False)
class Session:
    """One link and who is behind it, as far as its items go; a door adds what else it knows."""

    link: int
    """Number of the link, never used again by this process."""
    _: KW_ONLY
    client: str = ""
    """Name of the client; empty before it has said who it is."""
    run: str = ""
    """One life of the client's memory: its items are numbered anew in the next."""
    connection: int = 0
    """The number that the client gave this connection."""
    sender: str = ""
    """What its items say they are from; as a rule its name."""
    topics: tuple[str, ...] = ()
    """Topics that it may publish to, the default one first."""
    stage: Stage = Stage.GREETING
    accepted: dict[str, int] = field(default_factory=dict)
    """For each topic: how far its items are accepted."""
    welcomed: dict[str, int] = field(default_factory=dict)
    """The same when it was let in."""
    taken: dict[str, int] = field(default_factory=dict)
    """For each topic it has published to on this link: the newest item."""
    held: int = 0
    """Bytes of its items that are not safe yet."""
    paused: bool = False
    """Whether it is not read from."""
    questions: dict[tuple[str, str], float] = field(default_factory=dict)
    """Doors and topics it has asked about, and when to ask again."""


S = TypeVar("S", bound=Session)


class Sessions(Generic[S]):
    """All links, and of each client the session that counts."""

    def __init__(self) -> None:
        self.by_link: dict[int, S] = {}
        self.by_client: dict[str, S] = {}
        """The session that counts, in whatever stage."""
        self._fences: OrderedDict[tuple[str, str], int] = OrderedDict()
        self._elsewhere: set[int] = set()

    def __iter__(self) -> Iterator[S]:
        return iter(list(self.by_link.values()))

    @property
    def clients(self) -> int:
        """Clients that are here, or are being let in."""
        return len(self.by_client) - len(self._elsewhere)

    @property
    def is_empty(self) -> bool:
        """Whether no client is here, nor about to leave."""
        return not self.by_client

    def open(self, session: S) -> None:
        """A link is there."""
        self.by_link[session.link] = session

    def attached(self, client: str) -> S | None:
        """The session of a client that is served here."""
        session = self.by_client.get(client)
        return session if session is not None and session.stage is Stage.ATTACHED else None

    def enter(self, session: S) -> S | None:
        """A session counts for its client from now on; return the one that did before."""
        former = self.by_client.get(session.client)
        self.by_link[session.link] = self.by_client[session.client] = session
        session.stage = Stage.ARRIVING
        if former is not None:
            self._elsewhere.discard(former.link)
        return former

    def send_elsewhere(self, session: S) -> None:
        """A session's client is attached to another door; here it only finishes."""
        session.stage = Stage.ELSEWHERE
        self._elsewhere.add(session.link)

    def remove(self, session: S) -> bool:
        """A session is over; return whether it counted for its client."""
        session.stage = Stage.GONE
        self.by_link.pop(session.link, None)
        self._elsewhere.discard(session.link)
        if self.by_client.get(session.client) is not session:
            return False
        del self.by_client[session.client]
        self.fence(session.client, session.run, session.connection)
        return True

    # -- fences ------------------------------------------------------------------------------------

    def newest(self, client: str, run: str) -> int:
        """The largest connection of a client's run that is known."""
        session = self.by_client.get(client)
        here = 0 if session is None or session.run != run else session.connection
        return max(here, self._fences.get((client, run), 0))

    def why_old(self, client: str, run: str, connection: int) -> str:
        """Why a new connection counts no more; in words, or nothing."""
        known = self.newest(client, run)
        if connection < known:
            return f"connection {connection} is not newer than {known}"
        here = self.by_client.get(client)
        if here is not None and connection <= here.connection:
            return f"a newer connection of {client} is here: there may be two of that name"
        return ""

    def fence(self, client: str, run: str, connection: int) -> None:
        """Smaller connections of this client's run count no more."""
        key = (client, run)
        if connection < self._fences.get(key, 0):
            return
        self._fences[key] = connection
        self._fences.move_to_end(key)
        while len(self._fences) > MOST_FENCES:
            self._fences.popitem(last=False)
