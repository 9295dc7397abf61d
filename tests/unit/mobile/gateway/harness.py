"""A gateway core with a disk that syncs when told, and clients that say what a test wants."""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING, Any

from evenflow.edge.actions import Accept, Write
from evenflow.mobile.gateway.admission import Verdict
from evenflow.mobile.gateway.core import GatewayCore
from evenflow.mobile.gateway.events import (
    CloseLink,
    FrameCame,
    Heard,
    LinkLost,
    LinkOpened,
    Send,
    TimeOfDay,
    Timer,
    UnitSynced,
)
from evenflow.mobile.gateway.settings import GatewaySettings
from evenflow.mobile.link import frames

if TYPE_CHECKING:
    from collections.abc import Iterable

    from evenflow.edge.twins import Life
    from evenflow.mobile.gateway.events import Action, Event

RUN = "0123456789abcdef"
OTHER_RUN = "fedcba9876543210"
WALL = 1_700_000_000.0


class Doorman:
    """Lets in who has the token ``good``, or one that begins so."""

    def __init__(self) -> None:
        self.expires = float("inf")

    def check(self, hello: frames.Hello, topics: Iterable[str]) -> Verdict:
        if not hello.token.startswith("good"):
            return Verdict(denied=f"token {hello.token!r} is no good")
        return Verdict(topics=tuple(topics), token_id=hello.token, expires=self.expires)


class Harness:
    """One gateway."""

    def __init__(
        self,
        name: str = "g1",
        topics: tuple[str, ...] = ("items", "logs"),
        *,
        life: Life | None = None,
        retiring: bool = False,
        **settings: Any,
    ) -> None:
        self.now = 100.0
        self.marks: dict[tuple[str, str], dict[str, int]] = defaultdict(dict)
        self.accepted: dict[tuple[str, str, str], list[bytes]] = defaultdict(list)
        self.units: list[Accept] = []
        """Units that are on their way to the disk."""
        self.doorman = Doorman()
        self.log: list[Action] = []
        self.core = GatewayCore(
            name,
            (f"quic://{name}:1", f"tls://{name}:1"),
            dict.fromkeys(topics, -1),
            lambda node, run: dict(self.marks[node, run]),
            self.doorman,
            GatewaySettings(**settings),
            life=life,
            retiring=retiring,
        )
        self.handle(TimeOfDay(WALL, frozenset()))
        self._links = 0

    # -- time and disk -----------------------------------------------------------------------------

    def handle(self, event: Event) -> list[Action]:
        actions = self.core.handle(event, self.now)
        self.log += actions
        self.units += [one for one in actions if isinstance(one, Accept)]
        return actions

    def wait(self, seconds: float = 0.02) -> list[Action]:
        self.now += seconds
        return self.handle(Timer())

    def sync(self) -> list[Action]:
        """The disk does its work, until nothing waits for it."""
        actions = []
        while self.units:
            unit = self.units.pop(0)
            self.write(unit)
            actions += self.handle(UnitSynced(unit.topic, unit.unit))
        return actions

    def write(self, unit: Accept) -> None:
        for (node, run), mark in unit.marks.items():
            self.marks[node, run][unit.topic] = mark.number
        for chunk in unit.chunks:
            self.accepted[chunk.client, chunk.run, unit.topic] += chunk.payloads

    def settle(self) -> list[Action]:
        """Time passes and the disk works, until nothing is on its way."""
        actions = []
        while not self.core.acceptance.uplink.is_idle:
            actions += self.wait()
            actions += self.sync()
        return actions

    # -- clients -----------------------------------------------------------------------------------

    def link(self, transport: str = "quic") -> int:
        self._links += 1
        self.handle(LinkOpened(self._links, transport, "127.0.0.1:5"))
        return self._links

    def say(self, link: int, frame: Any) -> list[Action]:
        return self.handle(FrameCame(link, frame))

    def attach(self, node: str = "car-1", connection: int = 1, **more: Any) -> int:
        link = self.link()
        self.say(link, hello(node, connection, **more))
        return link

    def lose(self, link: int) -> list[Action]:
        return self.handle(LinkLost(link, "gone"))

    def hear(self, message: Any) -> list[Action]:
        return self.handle(Heard(message))

    def publish(
        self, link: int, first: int, *payloads: bytes, topic: str = "items"
    ) -> list[Action]:
        times = tuple(range(len(payloads)))
        return self.say(link, frames.Items(topic, first, times, payloads))


def hello(
    node: str = "car-1",
    connection: int = 1,
    *,
    run: str = RUN,
    token: str = "good",
    received: dict[str, int] | None = None,
    position: tuple[float, float] | None = None,
) -> frames.Hello:
    return frames.Hello(token, node, run, connection, {"kind": "car"}, position, received or {})


def sent(actions: list[Action], link: int, kind: type | None = None) -> list[Any]:
    """Frames to a link."""
    return [
        one.frame
        for one in actions
        if isinstance(one, Send)
        and one.link == link
        and (kind is None or isinstance(one.frame, kind))
    ]


def closed(actions: list[Action], link: int) -> CloseLink | None:
    """Why a link is ended."""
    found = [one for one in actions if isinstance(one, CloseLink) and one.link == link]
    return found[0] if found else None


def written(actions: list[Action], kind: type) -> list[Any]:
    """Messages to the domain."""
    return [
        one.message for one in actions if isinstance(one, Write) and isinstance(one.message, kind)
    ]
