"""Whatever clients and the domain say, in whatever order: the core stays whole, within its bounds.

Rule 10: nothing that a client sends can end a gateway, or make it hold more than a fixed amount.
"""

from __future__ import annotations

from random import Random
from typing import Any

import pytest
from hypothesis import settings
from tests.unit.mobile.gateway.harness import OTHER_RUN, RUN, WALL, Harness, hello

from evenflow.edge.actions import Pause, Resume
from evenflow.mobile.gateway.events import (
    CloseLink,
    Drain,
    LinkLost,
    LinkOpened,
    NotHeard,
    TimeOfDay,
)
from evenflow.mobile.link import frames
from evenflow.model.messages import (
    Attachment,
    GatewayReport,
    Mail,
    NodeOutcome,
    SettleAnswer,
    SettleRequest,
)

FRAMES = 100_000 if settings.default.max_examples > 50 else 5_000
EACH, ALL = 4_096, 40_000
LARGEST = 2_000


class Rubbish:
    """A source of well-formed frames and messages that make no sense together."""

    def __init__(self, seed: int) -> None:
        self.chance = Random(seed)

    def name(self) -> str:
        return self.chance.choice(["car-1", "car-2", "car-3", "g1", "g2", "items", "x"])

    def number(self) -> int:
        return self.chance.choice([0, 1, 2, 3, 7, 1 << 53])

    def payload(self) -> bytes:
        return b"x" * self.chance.choice([0, 1, 100, LARGEST])

    def frame(self) -> Any:
        count = self.chance.randint(1, 3)
        run = self.chance.choice([RUN, OTHER_RUN])
        token = self.chance.choice(["good", "good", "bad"])
        return self.chance.choice(
            [
                hello(self.name(), self.number(), run=run, token=token, received={"m": 1}),
                frames.Items(
                    self.chance.choice(["items", "items", "logs", "other"]),
                    max(1, self.number()),
                    (0,) * count,
                    tuple(self.payload() for _ in range(count)),
                ),
                frames.Settle(self.name(), self.name()),
                frames.Received(self.name(), self.number()),
                frames.Attributes({"a": 1.0}),
                frames.Position((1.0, 2.0)),
                frames.Outcome(f"{self.name()} p", True, "", 1.0, 1, {"items": self.number()}),
            ]
        )

    def message(self) -> Any:
        node, run, number = self.name(), RUN, self.number()
        return self.chance.choice(
            [
                SettleRequest("g2", node, run, number, "items"),
                SettleAnswer("g2", node, run, number, "items", self.number()),
                Attachment("g2", node, number, self.chance.random() < 0.5, "{}", WALL),
                GatewayReport("g2", ("quic://g2:1",), 1, 2, False, ()),
                NodeOutcome("g2", node, "g1 p", True, "", 1.0, 1, ("items",), (number,)),
                Mail("m", (node,), (number,), (self.number(),), "", "", 0, 1 << 60, self.payload()),
            ]
        )


class Attack:
    """A gateway and links that say anything."""

    def __init__(self, seed: int) -> None:
        self.rubbish = Rubbish(seed)
        self.gateway = Harness(
            in_flight_bytes=EACH, buffer_bytes=ALL, mail_bytes=EACH, most_nodes=5
        )
        self.links: dict[int, bool] = {}
        """Links that are open, and whether they are not read."""
        self._opened = 0

    def strike(self) -> None:
        """Let one thing happen."""
        chance = self.rubbish.chance
        act = chance.random()
        if act < 0.1 or not self.links:
            actions = self._open()
        elif act < 0.7:
            actions = self._say()
        elif act < 0.85:
            actions = self.gateway.hear(self.rubbish.message())
        elif act < 0.87:
            link = chance.choice(list(self.links))
            del self.links[link]
            actions = self.gateway.handle(LinkLost(link, "lost"))
        elif act < 0.88:
            drain = Drain(on=chance.random() < 0.3)
            actions = self.gateway.handle(chance.choice([drain, NotHeard(GatewayReport, "g2")]))
        else:
            self.gateway.now += chance.choice([0.001, 0.02, 1.0])
            actions = self.gateway.handle(TimeOfDay(WALL, frozenset()))
            actions += self.gateway.sync()
        self._follow(actions)

    def _open(self) -> list[Any]:
        self._opened += 1
        self.links[self._opened] = False
        return self.gateway.handle(LinkOpened(self._opened, "tls", "somewhere"))

    def _say(self) -> list[Any]:
        readable = [link for link, paused in self.links.items() if not paused]
        if not readable:
            return []
        return self.gateway.say(self.rubbish.chance.choice(readable), self.rubbish.frame())

    def _follow(self, actions: list[Any]) -> None:
        for action in actions:
            match action:
                case CloseLink(link):
                    self.links.pop(link, None)
                case Pause(link) | Resume(link) if link in self.links:
                    self.links[link] = isinstance(action, Pause)


@pytest.mark.parametrize("seed", range(2))
def test_the_core_stays_whole_and_within_its_bounds(seed):
    attack = Attack(seed)
    gateway, links = attack.gateway, attack.links
    frame = 3 * (LARGEST + 128)
    for _ in range(FRAMES):
        attack.strike()
        assert all(one.held <= EACH + frame for one in gateway.core.sessions)
        assert gateway.core.acceptance.room.held <= ALL + frame * (len(links) + 1)
        assert len(gateway.core.sessions.by_link) == len(links)
        gateway.log.clear()
    for link in list(links):
        gateway.handle(LinkLost(link, "over"))
    gateway.settle()
    assert gateway.core.acceptance.room.held == 0
    assert gateway.core.downlink.held == 0
    assert gateway.core.sessions.clients == 0
