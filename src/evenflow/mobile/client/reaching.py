"""Finding a gateway: which address is tried next, and when.

Addresses are tried in turn. A dial that fails makes room for the next at once; one that only takes
long gets company after `Patience.stagger_s`, so a dead gateway, or a network without UDP, costs a
second and not a timeout. The first link that is up is greeted; the others are dropped. When every
address has failed there is a pause, longer after each round, with jitter: a thousand nodes that
lost the same gateway do not come back in step.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass
from math import inf
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable
    from random import Random


@dataclass(frozen=True, slots=True)
class Patience:
    """How long a client waits for what."""

    dial_s: float = 10.0
    """For a link to be made: as long as a gateway gives a handshake. Who gives up sooner makes a
    gateway that thousands come back to at once begin anew, again and again."""
    welcome_s: float = 10.0
    """For the first frame of a gateway."""
    stagger_s: float = 1.0
    """Before the next address is tried beside the one that has not answered."""
    first_s: float = 0.25
    """Longest pause after a connection is lost."""
    backoff_s: float = 0.5
    """Pause after the first round in which every address failed; doubles from round to round."""
    most_backoff_s: float = 5.0
    """Longest pause while there is no network: tries cost nobody anything."""
    most_crowded_s: float = 30.0
    """Longest pause when gateways were asked and did not answer: they may have too many to answer,
    and tries that are given up are in the way of the others."""
    quiet_s: float = 0.25
    """In a handover, for a moment in which nothing is on its way to the old gateway: then the next
    is greeted, and there is nothing to wait for when it has taken the node."""
    settle_s: float = 1.0
    """For the old gateway of a handover to say that everything is safe; then it is asked."""
    ask_s: float = 5.0
    """Before a question to another gateway is repeated."""
    stable_s: float = 10.0
    """After a connection that held for so long, pauses start from the shortest again."""

    def pause_s(self, failures: int, random: Random, *, unanswered: bool = False) -> float:
        """Return how long to wait after so many failures before the last."""
        doubled = self.backoff_s * 2.0 ** min(failures, 16)
        most = self.most_crowded_s if unanswered else self.most_backoff_s
        return random.uniform(0.5, 1.0) * min(doubled, most)


class Reach:
    """One search for a gateway.

    Args:
        addresses: To be tried, best first.
        patience: Waiting times.
        random: For the jitter.
        start: When the first is tried.
        endless: Whether to begin again when all have failed.
        losses: Connections that did not hold, one after the other, just before this.
    """

    def __init__(
        self,
        addresses: Iterable[str],
        patience: Patience,
        random: Random,
        *,
        start: float,
        endless: bool = True,
        losses: int = 0,
    ) -> None:
        self.addresses = list(dict.fromkeys(addresses))
        self.dialling: dict[int, str] = {}
        """Links that are not up yet."""
        self.greeted: int | None = None
        """The link that waits for its welcome."""
        self.refusals: dict[str, str] = {}
        """Addresses whose gateway refuses the node for good, with the reason."""
        self.reason = ""
        """Why the last try failed."""
        self._patience = patience
        self._random = random
        self._turn = deque(self.addresses)
        self._began: dict[int, float] = {}
        self._unanswered = False
        """Whether a gateway was asked in this round and did not answer for long."""
        self._round = losses
        self._endless = endless
        self._next = start

    @property
    def next_at(self) -> float:
        """When another address is due."""
        return inf if self.greeted is not None or not self._turn else self._next

    @property
    def over(self) -> bool:
        """Whether all addresses have failed, and it is not tried again."""
        busy = self.greeted is not None or self.dialling or self._turn
        return not busy and not self._endless

    @property
    def refused(self) -> bool:
        """Whether every address has refused the node for good."""
        return bool(self.refusals) and all(one in self.refusals for one in self.addresses)

    def dial(self, link: int, now: float) -> str:
        """Begin to make a link; return the address."""
        address = self._turn.popleft()
        self.reason = self.reason or f"{address} has not answered yet"
        self.dialling[link] = address
        self._began[link] = now
        self._next = now + self._patience.stagger_s
        return address

    def greet(self, link: int) -> str:
        """A link is up and was greeted; return its address."""
        self.greeted = link
        return self.dialling.pop(link)

    def fail(self, link: int, address: str, reason: str, now: float, *, retry: bool) -> None:
        """A link could not be made, or its gateway did not take the node."""
        self.dialling.pop(link, None)
        if self.greeted == link:
            self.greeted = None
        self.reason = f"{address}: {reason}"
        if now - self._began.pop(link, now) >= self._patience.stagger_s:
            self._unanswered = True
        if not retry:
            self.refusals[address] = reason
        self._next = now
        if not self._turn and not self.dialling and self.greeted is None and self._endless:
            self._turn.extend(self.addresses)
            self._next = now + self._patience.pause_s(
                self._round, self._random, unanswered=self._unanswered
            )
            self._unanswered = False
            self._round += 1

    def go_on(self, addresses: Iterable[str], now: float) -> None:
        """Try these too, and from now on without end."""
        new = [one for one in dict.fromkeys(addresses) if one not in self.addresses]
        self.addresses += new
        self._turn += new or ([] if self._turn else self.addresses)
        self._endless = True
        self._next = now
