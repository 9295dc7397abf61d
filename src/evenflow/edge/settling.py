"""How far another door has accepted a client's items: asked for clients here, answered for others.

An item that was sent to one door and is not safe may have been accepted there, so it goes to no
other before that one has said how far it is (:doc:`docs/mobile.md`, rule 3). The client asks by way
of the door it is attached to now.

**Asking.** A question stands until it is answered, the client leaves, or an operator has given the
other door up (``forgotten``). The request is repeated, and sent at once when the other door is
heard again: it may be dead for long. That there is such a door is the client's claim: nobody is
written to who is not heard, and what else follows from the name is for the door to say.

**Answering.** Who asks has a newer connection of the client's run. So first every older one is
ended: from now on nothing of it is taken. What was taken before may still be on its way to the
disk; the answer waits for that. It says what is on disk, and it holds for good.

An answer about an older connection than the newest that is known is not given, and one that comes
late is not passed on: after it the client may have come back and sent more.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Final, Generic

from evenflow.edge.actions import Remember, TellSettled, Write
from evenflow.edge.sessions import CLOSED, S
from evenflow.model.messages import SettleAnswer, SettleRequest

if TYPE_CHECKING:
    from collections.abc import Iterable

    from evenflow.edge.actions import Out
    from evenflow.edge.sessions import Sessions
    from evenflow.edge.uplink import Uplink

MarksOf = Callable[[str, str], Mapping[str, int]]
"""How far a client's run is accepted in each topic, as it is on disk."""
MOST_QUESTIONS: Final = 64
"""Questions of one client at a time."""
MOST_DOORS: Final = 16
"""Doors that they are about. A client needs one for each topic, and as a rule one in all."""


class Settling(Generic[S]):
    """Questions of clients, and of other doors.

    Args:
        name: This door.
        sessions: The clients.
        uplink: What is on its way to the disk.
        marks: How far a client's run is accepted in each topic, as it is on disk.
        is_known: Whether another door is there.
        forgotten: Doors that were given up.
        ask_s: How often a question is repeated.
        out: Where actions go.
    """

    def __init__(
        self,
        name: str,
        sessions: Sessions[S],
        uplink: Uplink,
        marks: MarksOf,
        is_known: Callable[[str], bool],
        *,
        forgotten: Iterable[str],
        ask_s: float,
        out: Out,
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
        """Requests that wait for the disk, by client, run and topic."""
        self.answered = 0
        self.awaited: frozenset[str] = frozenset()
        """Doors that had not answered at the last look. Clients name them, and may name any."""

    # -- asking ------------------------------------------------------------------------------------

    def ask(self, session: S, other: str, topic: str, now: float) -> str:
        """A client asks about another door; return what is wrong with it, in words, or nothing."""
        if session.stage in CLOSED:
            return f"this client {session.stage.value}"
        if other == self._name:
            number = session.welcomed.get(topic, 0)
            self._out.append(TellSettled(session.link, other, topic, number))
        elif other in self.forgotten:
            self._out.append(TellSettled(session.link, other, topic, 0))
        elif (other, topic) not in session.questions:
            if len(session.questions) >= MOST_QUESTIONS:
                return f"more than {MOST_QUESTIONS} questions at a time"
            if len({other, *(one for one, _ in session.questions)}) > MOST_DOORS:
                return f"questions about more than {MOST_DOORS} doors at a time"
            session.questions[other, topic] = now
            self._repeat(session, now)
        return ""

    def _repeat(self, session: S, now: float) -> None:
        for (other, topic), due in session.questions.items():
            if now >= due and self._is_known(other):
                session.questions[other, topic] = now + self._ask_s
                request = SettleRequest(
                    self._name, session.client, session.run, session.connection, topic
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

    def on_door_heard(self, other: str, now: float) -> None:
        """A door is there, or is there again: ask it at once."""
        for session in self._sessions:
            for question in session.questions:
                if question[0] == other:
                    session.questions[question] = now
            if session.questions:
                self._repeat(session, now)

    def on_answer(self, answer: SettleAnswer) -> None:
        """Another door has answered; only the connection that asked is told."""
        session = self._sessions.attached(answer.client)
        if session is None:
            return
        asked = (session.run, session.connection) == (answer.run, answer.connection)
        if asked and session.questions.pop((answer.door, answer.topic), None) is not None:
            settled = TellSettled(session.link, answer.door, answer.topic, answer.number)
            self._out.append(settled)

    def forget(self, doors: Iterable[str]) -> None:
        """Doors were given up: what clients sent them is sent again."""
        news = set(doors) - self.forgotten
        if not news:
            return
        self.forgotten |= news
        self._out.append(Remember(tuple(sorted(self.forgotten))))
        for session in self._sessions:
            for other, topic in [one for one in session.questions if one[0] in news]:
                del session.questions[other, topic]
                self._out.append(TellSettled(session.link, other, topic, 0))

    # -- answering ---------------------------------------------------------------------------------

    def on_request(self, request: SettleRequest) -> S | None:
        """Another door asks; return the session that is over by it."""
        client, run = request.client, request.run
        if request.connection < self._sessions.newest(client, run):
            return None
        session = self._sessions.by_client.get(client)
        self._sessions.fence(client, run, request.connection)
        if self._is_ready(request):
            self._answer(request)
        else:
            self._waiting[client, run, request.topic] = request
        if session is None or session.run != run or session.connection >= request.connection:
            return None
        return session

    def answer_ready(self, client: str, run: str) -> None:
        """Answer what is asked about a client, as far as all it sent is on disk."""
        for topic in self._uplink.topics if self._waiting else ():
            request = self._waiting.get((client, run, topic))
            if request is not None and self._is_ready(request):
                del self._waiting[client, run, topic]
                self._answer(request)

    def _is_ready(self, request: SettleRequest) -> bool:
        return not self._uplink.has(request.client, request.run, request.topic)

    def _answer(self, request: SettleRequest) -> None:
        client, run, topic = request.client, request.run, request.topic
        if request.connection < self._sessions.newest(client, run):
            return
        number = self._marks(client, run).get(topic, 0)
        self.answered += 1
        answer = SettleAnswer(self._name, client, run, request.connection, topic, number)
        self._out.append(Write(answer, request.door))
