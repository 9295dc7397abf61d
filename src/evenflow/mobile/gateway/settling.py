"""How far another gateway has accepted a node's items: asked for nodes here, answered for others.

An item that was sent to one gateway and is not safe may have been accepted there, so it goes to no
other before that one has said how far it is (:doc:`docs/mobile.md`, rule 3). The node asks by way
of the gateway it is attached to now.

**Asking.** A question stands until it is answered, the node leaves, or an operator has given the
other gateway up (``forgotten``). The request is repeated, and sent at once when the other gateway
is heard again: it may be dead for long.

**Answering.** Who asks has a newer connection of the node. So first every older one is ended: from
now on nothing of it is taken. What was taken before may still be on its way to the disk; the answer
waits for that. It says what is on disk, and it holds for good.

An answer about an older connection than the newest that is known is not given, and one that comes
late is not passed on: after it the node may have come back and sent more.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from evenflow.mobile.gateway.events import Remember, Send, Write
from evenflow.mobile.gateway.sessions import Stage
from evenflow.mobile.link.frames import Settled
from evenflow.model.messages import SettleAnswer, SettleRequest

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from evenflow.mobile.gateway.events import Action
    from evenflow.mobile.gateway.sessions import Session, Sessions
    from evenflow.mobile.gateway.uplink import Uplink
    from evenflow.mobile.link.frames import Settle

    MarksOf = Callable[[str, str], Mapping[str, int]]

MOST_QUESTIONS: Final = 64
"""Questions of one node at a time."""


class Settling:
    """Questions of nodes, and of other gateways.

    Args:
        name: This gateway.
        sessions: The clients.
        uplink: What is on its way to the disk.
        marks: How far a node's run is accepted in each topic, as it is on disk.
        is_known: Whether another gateway is there.
        forgotten: Gateways that were given up.
        ask_s: How often a question is repeated.
        out: Where actions go.
    """

    def __init__(
        self,
        name: str,
        sessions: Sessions,
        uplink: Uplink,
        marks: MarksOf,
        is_known: Callable[[str], bool],
        *,
        forgotten: Iterable[str],
        ask_s: float,
        out: list[Action],
    ) -> None:
        self._name = name
        self._sessions = sessions
        self._uplink = uplink
        self._marks = marks
        self._is_known = is_known
        self.forgotten = set(forgotten)
        self._ask_s = ask_s
        self._out = out
        self._waiting: dict[tuple[str, str, str], SettleRequest] = {}
        """Requests that wait for the disk, by node, run and topic."""
        self.answered = 0
        self.awaited: frozenset[str] = frozenset()
        """Gateways that have not answered, at the last look."""

    # -- asking ------------------------------------------------------------------------------------

    def ask(self, session: Session, frame: Settle, now: float) -> str:
        """A node asks; return what is wrong with that, in words, or nothing."""
        other, topic = frame.gateway, frame.topic
        if other == self._name:
            number = session.welcomed.get(topic, 0)
            self._out.append(Send(session.link, Settled(other, topic, number)))
        elif other in self.forgotten:
            self._out.append(Send(session.link, Settled(other, topic, 0)))
        elif (other, topic) not in session.questions:
            if len(session.questions) >= MOST_QUESTIONS:
                return f"more than {MOST_QUESTIONS} questions about other gateways"
            session.questions[other, topic] = now
            self._repeat(session, now)
        return ""

    def _repeat(self, session: Session, now: float) -> None:
        for (other, topic), due in session.questions.items():
            if now >= due and self._is_known(other):
                session.questions[other, topic] = now + self._ask_s
                request = SettleRequest(
                    self._name, session.node, session.run, session.connection, topic
                )
                self._out.append(Write(request, other))

    @property
    def is_idle(self) -> bool:
        """Whether no answer waits for the disk."""
        return not self._waiting

    def repeat(self, now: float) -> bool:
        """Ask again what is not answered; return whether others are awaited than before."""
        awaited: set[str] = set()
        for session in self._sessions:
            if session.questions:
                self._repeat(session, now)
                awaited.update(other for other, _ in session.questions)
        before, self.awaited = self.awaited, frozenset(awaited)
        return before != self.awaited

    def on_gateway_heard(self, other: str, now: float) -> None:
        """A gateway is there, or is there again: ask it at once."""
        for session in self._sessions:
            for question in session.questions:
                if question[0] == other:
                    session.questions[question] = now
            if session.questions:
                self._repeat(session, now)

    def on_answer(self, answer: SettleAnswer) -> None:
        """Another gateway has answered; only the connection that asked is told."""
        session = self._sessions.of_node(answer.node)
        if session is None or session.stage is not Stage.ATTACHED:
            return
        asked = (session.run, session.connection) == (answer.run, answer.connection)
        if asked and session.questions.pop((answer.gateway, answer.topic), None) is not None:
            settled = Settled(answer.gateway, answer.topic, answer.number)
            self._out.append(Send(session.link, settled))

    def forget(self, gateways: Iterable[str]) -> None:
        """Gateways were given up: what nodes sent them is sent again."""
        news = set(gateways) - self.forgotten
        if not news:
            return
        self.forgotten |= news
        self._out.append(Remember(tuple(sorted(self.forgotten))))
        for session in self._sessions:
            for other, topic in [one for one in session.questions if one[0] in news]:
                del session.questions[other, topic]
                self._out.append(Send(session.link, Settled(other, topic, 0)))

    # -- answering ---------------------------------------------------------------------------------

    def on_request(self, request: SettleRequest) -> Session | None:
        """Another gateway asks; return the session that is over by it."""
        node = request.node
        if request.connection < self._sessions.newest(node, request.run):
            return None
        session = self._sessions.of_node(node)
        self._sessions.fence(node, request.run, request.connection)
        if self._is_ready(request):
            self._answer(request)
        else:
            self._waiting[node, request.run, request.topic] = request
        if session is not None and session.connection < request.connection:
            return session
        return None

    def answer_ready(self, node: str, run: str) -> None:
        """Answer what is asked about a client, as far as all it sent is on disk."""
        for topic in self._uplink.topics if self._waiting else ():
            request = self._waiting.get((node, run, topic))
            if request is not None and self._is_ready(request):
                del self._waiting[node, run, topic]
                self._answer(request)

    def _is_ready(self, request: SettleRequest) -> bool:
        return not self._uplink.has(request.node, request.run, request.topic)

    def _answer(self, request: SettleRequest) -> None:
        node, run, topic = request.node, request.run, request.topic
        if request.connection < self._sessions.newest(node, run):
            return
        number = self._marks(node, run).get(topic, 0)
        self.answered += 1
        answer = SettleAnswer(self._name, node, run, request.connection, topic, number)
        self._out.append(Write(answer, request.gateway))
