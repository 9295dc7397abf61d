"""From an address to a welcome: dials, greets the first link that is up, drops the others.

The one place where links and connections get their numbers. A connection is numbered when its
gateway is greeted, and the number is noted before: a restarted client goes on above it.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from math import inf
from typing import TYPE_CHECKING, Final

from evenflow.mobile.client.events import Action, Dial, Drop, NoteConnection, Send
from evenflow.mobile.client.reaching import Patience, Reach

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from random import Random

    from evenflow.mobile.link.frames import Hello

SLOWER: Final = "another link was faster"


@dataclass(slots=True)
class Session:
    """A link that was greeted, and its gateway."""

    link: int
    address: str
    hello: Hello
    until: float
    """When it must be welcomed."""
    gateway: str = ""
    since: float = 0.0
    """When it was welcomed."""
    window: int = 0
    """Bytes of unsafe items that its gateway takes."""
    topics: frozenset[str] = frozenset()
    accepted: dict[str, int] = field(default_factory=dict)
    """For each topic: how far its gateway has accepted, as far as the node knows."""
    asked: dict[tuple[str, str], float] = field(default_factory=dict)
    """When it was asked about another gateway and topic."""


class Attaching:
    """The search for the next gateway, if there is one.

    Args:
        patience: Waiting times.
        random: For jitter.
        connection: A number as large as that of any earlier connection of the node.
        hello: Makes the greeting of a connection.
    """

    def __init__(
        self,
        patience: Patience,
        random: Random,
        connection: int,
        hello: Callable[[int], Hello],
    ) -> None:
        self.patience = patience
        self.reach: Reach | None = None
        self.greeted: Session | None = None
        self.held: tuple[int, float] | None = None
        """A link that is up and not greeted before a quiet moment, or a time."""
        self.dials = 0
        self._random = random
        self._connection = connection
        self._hello = hello

    def look(
        self, addresses: Iterable[str], start: float, *, endless: bool = True, losses: int = 0
    ) -> None:
        """Look for a gateway from a time on."""
        self.reach = Reach(
            addresses, self.patience, self._random, start=start, endless=endless, losses=losses
        )

    def stop(self) -> list[Action]:
        """Look no more."""
        links = [] if self.reach is None else list(self.reach.dialling)
        if self.greeted is not None:
            links.append(self.greeted.link)
        self.reach = self.greeted = self.held = None
        return [Drop(link, SLOWER) for link in links]

    def on_linked(self, link: int, now: float, *, hold_s: float = 0.0) -> list[Action]:
        """A link is up: greet its gateway, in a quiet moment but after so long at the latest."""
        reach = self.reach
        taken = self.greeted is not None or self.held is not None
        if reach is None or link not in reach.dialling or taken:
            if reach is not None:
                reach.dialling.pop(link, None)
            return [Drop(link, SLOWER)]
        self.held = (link, now + hold_s)
        return [] if hold_s else self._greet(reach, link, now)

    def _greet(self, reach: Reach, link: int, now: float) -> list[Action]:
        self.held = None
        self._connection += 1
        hello = self._hello(self._connection)
        until = now + self.patience.welcome_s
        self.greeted = Session(link, reach.greet(link), hello, until)
        return [NoteConnection(self._connection), Send(link, hello)]

    def fail(self, link: int, reason: str, now: float, *, retry: bool = True) -> None:
        """A link was not made, or its gateway does not take the node."""
        reach, greeted = self.reach, self.greeted
        if reach is None:
            return
        if self.held is not None and self.held[0] == link:
            self.held = None
        if greeted is not None and greeted.link == link:
            self.greeted = None
            reach.fail(link, greeted.address, reason, now, retry=retry)
        elif link in reach.dialling:
            reach.fail(link, reach.dialling[link], reason, now, retry=retry)

    def welcome(self) -> list[Action]:
        """The greeted link was welcomed: nothing else is looked for."""
        self.greeted = None
        return self.stop()

    def advance(self, now: float, *, quiet: bool = True) -> list[Action]:
        """Do what is due; a moment is quiet when nothing is on its way to the gateway in use."""
        out: list[Action] = []
        if self.held is not None and self.reach is not None and (quiet or now >= self.held[1]):
            out += self._greet(self.reach, self.held[0], now)
        if self.greeted is not None and now >= self.greeted.until:
            link = self.greeted.link
            out.append(Drop(link, "no welcome came"))
            self.fail(link, f"no welcome in {self.patience.welcome_s:g} s", now)
        while self.reach is not None and self.reach.next_at <= now:
            self.dials += 1
            address = self.reach.dial(self.dials, now)
            out.append(Dial(self.dials, address, self.patience.dial_s))
        return out

    def deadline(self) -> float:
        """When something is due."""
        due = inf if self.reach is None else self.reach.next_at
        if self.held is not None:
            due = min(due, self.held[1])
        return due if self.greeted is None else min(due, self.greeted.until)
