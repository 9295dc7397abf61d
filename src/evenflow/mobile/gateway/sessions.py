"""The clients of a gateway: who is behind which link, and which connection of a node counts.

A node numbers its connections. Of two the larger counts, wherever they are: a ``Hello`` with a
smaller number than one that is known is refused, and a session with a smaller one is ended. What is
known of connections that are not here (*fences*) holds for the run of their client: it is there so
that nothing of an older connection is accepted, and another run has other items. A process that has
lost its memory, and whose clock was put back, would else be refused until its clock is as late.
Fences are kept for the newest ``MOST_FENCES``; an older one is not needed, because whoever was
fenced has long lost its link.
"""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import dataclass, field
from enum import Enum
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterator

    from evenflow.mobile.link.frames import Hello

MOST_FENCES: Final = 100_000


class Stage(Enum):
    """How far a client has come."""

    GREETING = "has said nothing yet"
    ARRIVING = "is let in when its former items are settled"
    ATTACHED = "is served"
    ELSEWHERE = "is attached to another gateway and leaves this one"


@dataclass(slots=True, eq=False)
class Session:
    """One link and who is behind it."""

    link: int
    transport: str
    peer: str
    opened: float
    heard: float
    stage: Stage = Stage.GREETING
    hello: Hello | None = None
    token_id: str = ""
    expires: float = 0.0
    topics: tuple[str, ...] = ()
    """Topics that it may publish to, the default one first."""
    receives: bool = True
    """Whether messages to it are passed on."""
    attributes: str = "{}"
    place: tuple[float, float] | None = None
    accepted: dict[str, int] = field(default_factory=dict)
    """For each topic: how far its items are accepted."""
    welcomed: dict[str, int] = field(default_factory=dict)
    """The same when it was let in."""
    taken: dict[str, int] = field(default_factory=dict)
    """For each topic it has published to on this link: the newest item."""
    held: int = 0
    """Bytes of its items that are not safe yet."""
    paused: bool = False
    mail: dict[str, dict[int, int]] = field(default_factory=dict)
    """Bytes of the messages it has not acknowledged, by mailbox and number."""
    mail_bytes: int = 0
    received: dict[str, int] = field(default_factory=dict)
    """For each mailbox: everything up to this number is had."""
    questions: dict[tuple[str, str], float] = field(default_factory=dict)
    """Gateways and topics it has asked about, and when to ask again."""
    announced: bool = False
    """Whether everybody was told that the node is attached here."""
    leaves_at: float = 0.0
    """When an ``ELSEWHERE`` session is ended."""

    @property
    def node(self) -> str:
        """Name of the node; empty before its ``Hello``."""
        return "" if self.hello is None else self.hello.node

    @property
    def run(self) -> str:
        """The run of its client."""
        return "" if self.hello is None else self.hello.run

    @property
    def connection(self) -> int:
        """The number that the node gave this connection."""
        return 0 if self.hello is None else self.hello.connection


class Sessions:
    """All links, and of each node the session that counts."""

    def __init__(self) -> None:
        self.by_link: dict[int, Session] = {}
        self._by_node: dict[str, Session] = {}
        self._fences: OrderedDict[tuple[str, str], int] = OrderedDict()
        self._elsewhere: set[int] = set()

    def __iter__(self) -> Iterator[Session]:
        return iter(list(self.by_link.values()))

    @property
    def nodes(self) -> int:
        """Nodes that are here, or are being let in."""
        return len(self._by_node) - len(self._elsewhere)

    @property
    def is_empty(self) -> bool:
        """Whether no node is here, nor about to leave."""
        return not self._by_node

    def open(self, session: Session) -> None:
        """A link is there."""
        self.by_link[session.link] = session

    def of_node(self, node: str) -> Session | None:
        """The session of a node that counts, in whatever stage."""
        return self._by_node.get(node)

    def attached(self, node: str) -> Session | None:
        """The session of a node that is served here."""
        session = self._by_node.get(node)
        return session if session is not None and session.stage is Stage.ATTACHED else None

    def enter(self, session: Session) -> Session | None:
        """A session counts for its node from now on; return the one that did before."""
        former = self._by_node.get(session.node)
        self._by_node[session.node] = session
        if former is not None:
            self._elsewhere.discard(former.link)
            session.announced = former.announced
        return former

    def send_elsewhere(self, session: Session, leaves_at: float) -> None:
        """A session's node is attached to another gateway; it may finish here until then."""
        session.stage, session.leaves_at = Stage.ELSEWHERE, leaves_at
        self._elsewhere.add(session.link)

    def remove(self, session: Session) -> bool:
        """A session is over; return whether it counted for its node."""
        self.by_link.pop(session.link, None)
        self._elsewhere.discard(session.link)
        if self._by_node.get(session.node) is not session:
            return False
        del self._by_node[session.node]
        self.fence(session.node, session.run, session.connection)
        return True

    # -- fences ------------------------------------------------------------------------------------

    def newest(self, node: str, run: str) -> int:
        """The largest connection of a node's run that is known."""
        session = self._by_node.get(node)
        here = 0 if session is None or session.run != run else session.connection
        return max(here, self._fences.get((node, run), 0))

    def fence(self, node: str, run: str, connection: int) -> None:
        """Smaller connections of this node's run count no more."""
        key = (node, run)
        if connection < self._fences.get(key, 0):
            return
        self._fences[key] = connection
        self._fences.move_to_end(key)
        while len(self._fences) > MOST_FENCES:
            self._fences.popitem(last=False)
