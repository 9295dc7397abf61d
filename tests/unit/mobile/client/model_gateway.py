"""A gateway as the rules of docs/mobile.md have it, reduced to what a client sees of it.

It crashes and comes back: what it had accepted it still has, the rest is gone. Whether items that
were on their way into its outbox are accepted when it crashes, when a newer connection comes, or
when it is asked to settle, is chance.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from evenflow.mobile.link.frames import (
    Attributes,
    Bye,
    Hello,
    Items,
    Outcome,
    Position,
    Received,
    Safe,
    Settle,
    Welcome,
)

if TYPE_CHECKING:
    from collections.abc import Callable
    from random import Random

    from evenflow.mobile.link.frames import FromGateway, FromNode

TOPICS = ("traffic", "weather")
WINDOW = 4_096


@dataclass
class Attached:
    """A connection of a node, as its gateway sees it."""

    hello: Hello
    pending: list[tuple[str, int, bytes]] = field(default_factory=list)
    expected: dict[str, int] = field(default_factory=dict)


class ModelGateway:
    def __init__(self, name: str, random: Random, world: World) -> None:
        self.name = name
        self.address = f"quic://{name}:1"
        self.up = True
        self.draining = False
        self.marks: dict[tuple[str, str], int] = {}
        self.fence = 0
        self.attached: dict[int, Attached] = {}
        self.outcomes: list[Outcome] = []
        self._random = random
        self._world = world

    def on_frame(self, link: int, frame: FromNode) -> None:
        if isinstance(frame, Hello):
            self._greet(link, frame)
            return
        session = self.attached[link]
        match frame:
            case Items():
                self._take(session, frame)
            case Settle(gateway, topic):
                assert gateway != self.name
                self._world.ask(self, session.hello, gateway, topic)
            case Received(mailbox, number):
                self._world.on_received(mailbox, number)
            case Outcome():
                self.outcomes.append(frame)
            case Attributes() | Position():
                pass
            case _:
                raise AssertionError(frame)

    def _greet(self, link: int, hello: Hello) -> None:
        assert link not in self.attached, "greeted twice"
        if self.draining or hello.connection <= self.fence:
            self._world.reply(link, Bye("draining, or an old connection"))
            self._world.hang_up(link)
            return
        self.fence_off(hello.connection)
        self.attached[link] = Attached(hello)
        others = tuple(one.address for one in self._world.gateways.values() if one is not self)
        accepted = {
            topic: number for (run, topic), number in self.marks.items() if run == hello.run
        }
        welcome = Welcome(self.name, accepted, others, TOPICS, WINDOW, 5.0)
        self._world.reply(link, welcome)
        for mailbox, number in hello.received.items():
            self._world.on_received(mailbox, number)
        self._world.on_attached(self, hello)

    def _take(self, session: Attached, frame: Items) -> None:
        expected = session.expected.get(frame.topic)
        mark = self.marks.get((session.hello.run, frame.topic), 0)
        if expected is None:
            assert frame.first > mark, "what is accepted here was sent again"
        else:
            assert frame.first == expected, "a gap in the numbers of a connection"
        for number, payload in enumerate(frame.payloads, frame.first):
            session.pending.append((frame.topic, number, payload))
        session.expected[frame.topic] = frame.first + len(frame.payloads)
        size = sum(len(payload) for _, _, payload in session.pending)
        assert size <= WINDOW, "more in flight than the gateway takes"

    def fence_off(self, connection: int) -> None:
        """Accept nothing more of older connections; what they had sent, perhaps."""
        self.fence = max(self.fence, connection)
        for link, session in list(self.attached.items()):
            if session.hello.connection < connection:
                if self._random.random() < 0.5:
                    self.accept(link, tell=self._random.random() < 0.5)
                del self.attached[link]
                self._world.reply(link, Bye("a newer connection"))
                self._world.hang_up(link)

    def accept(self, link: int, *, tell: bool = True) -> None:
        """Sync what has come of a connection."""
        session = self.attached[link]
        for topic, number, payload in session.pending:
            self._world.accepted(self.name, topic, payload)
            self.marks[session.hello.run, topic] = number
        topics = {topic for topic, _, _ in session.pending}
        session.pending.clear()
        for topic in sorted(topics) if tell else ():
            self._world.reply(link, Safe(topic, self.marks[session.hello.run, topic]))

    def crash(self) -> None:
        self.up = False
        for link in list(self.attached):
            if self._random.random() < 0.5:
                self.accept(link, tell=False)
        self.attached.clear()

    def session_of(self, connection: int) -> int | None:
        for link, session in self.attached.items():
            if session.hello.connection == connection:
                return link
        return None


class World:
    """What a gateway needs of the world; the schedule implements it."""

    gateways: dict[str, ModelGateway]
    reply: Callable[[int, FromGateway], None]
    hang_up: Callable[[int], None]
    accepted: Callable[[str, str, bytes], None]
    ask: Callable[[ModelGateway, Hello, str, str], None]
    on_received: Callable[[str, int], None]
    on_attached: Callable[[ModelGateway, Hello], None]
