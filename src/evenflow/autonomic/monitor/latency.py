"""Latency to other processes and back, by small pings in the domain (MAPE-SDDL, section III.B.1).

Every process that is monitored asks a few others, again and again, and is answered at once. What
counts is the time from a ping to its answer, by the clock of who asked: no two clocks are compared.

**Bounded.** Of n processes each asks `PEERS` others every `PING_S`, however many there are: the
next ones in the order of their names, and some rounds later those behind them. So in the end every
pair is measured, and at no time are there more than n times `PEERS` under way.

The property ``latency_ms`` is the median over the newest round trip to each peer that answered
lately: one slow peer does not make a process slow, a slow link of its own does. A ping that is not
answered is no measurement; it is counted.
"""

from __future__ import annotations

from collections import OrderedDict
from statistics import median
from typing import Final

from evenflow.domain.channels import is_node
from evenflow.model.messages import Ping

PEERS: Final = 3
"""How many others a process asks in a round."""
PING_S: Final = 5.0
ROUNDS: Final = 12
"""Rounds in which the same ones are asked: a connection is found in the first of them."""
FRESH_S: Final = 30.0
"""A measurement older than this says nothing of now."""
PATIENCE_S: Final = 5.0
"""A ping that is not answered within this time is given up."""


class Latencies:
    """What one process measures.

    Args:
        source: Id under which it reports.
    """

    def __init__(self, source: str) -> None:
        self.source = source
        self.unanswered = 0
        """Pings that nobody answered."""
        self._peers: set[str] = set()
        self._under_way: OrderedDict[int, tuple[str, float]] = OrderedDict()
        """Pings without an answer: to whom, and when."""
        self._measured: dict[str, tuple[float, float]] = {}
        """The newest round trip to each peer, in seconds, and when it was measured."""
        self._number = self._rounds = 0
        self._next = 0.0

    def meet(self, peer: str) -> None:
        """Another process is monitored, too."""
        if peer != self.source:
            self._peers.add(peer)

    def lose(self, peer: str) -> None:
        """It is gone."""
        self._peers.discard(peer)
        self._measured.pop(peer, None)

    def targets(self) -> list[str]:
        """Whom to ask in this round."""
        around = sorted(self._peers)
        if len(around) <= PEERS:
            return around
        behind = sum(peer < self.source for peer in around)
        start = behind + self._rounds // ROUNDS * PEERS
        return [around[(start + step) % len(around)] for step in range(PEERS)]

    def poll(self, now: float) -> list[Ping]:
        """What to ask now."""
        while self._under_way:
            number, (_, sent) = next(iter(self._under_way.items()))
            if now - sent < PATIENCE_S:
                break
            del self._under_way[number]
            self.unanswered += 1
        if now < self._next or not self._peers:
            return []
        self._next = now + PING_S
        pings = [self._ask(peer, now) for peer in self.targets()]
        self._rounds += 1
        return pings

    def _ask(self, peer: str, now: float) -> Ping:
        self._number += 1
        self._under_way[self._number] = (peer, now)
        return Ping(self.source, peer, self._number, answer=False)

    def hear(self, ping: Ping, now: float) -> Ping | None:
        """A ping, or the answer to one; return what to answer."""
        if ping.target != self.source or not is_node(ping.source):
            return None  # an answer to a wildcard would go to everybody
        if not ping.answer:
            return Ping(self.source, ping.source, ping.number, answer=True)
        peer, sent = self._under_way.get(ping.number, ("", 0.0))
        if peer == ping.source:
            del self._under_way[ping.number]
            if peer in self._peers:
                self._measured[peer] = (now - sent, now)
        return None

    def readings(self, now: float) -> dict[str, float]:
        """The property, once it was measured."""
        fresh = [trip for trip, when in self._measured.values() if now - when < FRESH_S]
        return {"latency_ms": 1000 * median(fresh)} if fresh else {}
