"""What a mailbox holds: letters, and for each node the queue of those it is still to have.

A message that somebody sent is a *letter* here, held once however many nodes it is for. Its payload
lies on disk; in memory there is what is needed to deliver it. A letter is forgotten when nobody
waits for it any more, or when it has expired.
"""

from __future__ import annotations

import heapq
from bisect import bisect_left
from collections import OrderedDict
from dataclasses import dataclass, field
from math import inf
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterable

OVERHEAD: Final = 256
"""What a letter takes besides its payload..."""
RECIPIENT: Final = 32
"""... and for each of its nodes besides the name."""


class MobileNode:
    """A mobile node, as a mailbox sees it."""

    __slots__ = (
        "armed", "due", "flight_octets", "gateway", "had", "name", "pause", "places", "queue",
        "resting", "seen", "sent", "staged",
    )  # fmt: skip

    def __init__(self, name: str) -> None:
        self.name = name
        self.had = 0
        """It has everything up to this number."""
        self.queue: list[int] = []
        """Numbers of the letters that it is still to have, rising."""
        self.staged = 0
        """Letters for it that are on their way to the disk."""
        self.places: dict[str, int] = {}
        """The gateways that say it is attached there, and its connection."""
        self.gateway = ""
        """Where it is attached now; empty: nowhere."""
        self.seen = 0.0
        """Seconds since 1970 when it was last attached."""
        self.sent = 0
        """Letters of the queue up to this number are under way to the gateway."""
        self.flight_octets = 0
        """Payload of those."""
        self.resting = False
        """Whether nothing is sent to it until ``due``."""
        self.due = inf
        """When something is to be done for it by itself."""
        self.armed = inf
        """The time for which there is a timer."""
        self.pause = 0.0
        """How long to wait the next time; 0: begin anew."""


@dataclass(slots=True, eq=False)
class Letter:
    """A message to mobile nodes."""

    number: int
    time: int
    """Microseconds since 1970 when it was sent."""
    expires: int
    """Microseconds since 1970 after which nobody wants it."""
    octets: int
    """Length of its payload."""
    recipients: tuple[MobileNode, ...]
    waiting: int = field(init=False)
    """How many of them do not have it."""

    def __post_init__(self) -> None:
        self.waiting = len(self.recipients)

    @property
    def cost(self) -> int:
        """What it takes of the mailbox's room, until it is forgotten."""
        return cost_of(self.octets, (node.name for node in self.recipients))


def cost_of(octets: int, nodes: Iterable[str]) -> int:
    """What a letter takes of the mailbox's room."""
    return OVERHEAD + octets + sum(len(name) + RECIPIENT for name in nodes)


class Letters:
    """All letters of a mailbox. Tells which are to be forgotten on disk too."""

    def __init__(self) -> None:
        # Finds its first quickly, also when many before it are gone.
        self._letters: OrderedDict[int, Letter] = OrderedDict()
        self._expiries: list[tuple[int, int]] = []
        self.octets = 0
        """What they take, with those that are about to be held."""
        self.messages = 0
        """Letters that nodes are still to have; one to many nodes counts for each."""
        self.waiting = 0
        """Nodes that wait for some."""
        self.forgotten: list[int] = []
        """Numbers of those that nobody waits for any more, since the list was last emptied."""

    def __getitem__(self, number: int) -> Letter:
        return self._letters[number]

    def __len__(self) -> int:
        return len(self._letters)

    def __contains__(self, number: int) -> bool:
        return number in self._letters

    @property
    def oldest(self) -> int:
        """When the oldest was sent; 0: there is none."""
        first = next(iter(self._letters.values()), None)
        return 0 if first is None else first.time

    def add(self, letter: Letter) -> None:
        """Put a letter into the queues of its nodes; its room is taken already."""
        self._letters[letter.number] = letter
        heapq.heappush(self._expiries, (letter.expires, letter.number))
        for node in letter.recipients:
            self.waiting += not node.queue
            node.queue.append(letter.number)
        self.messages += len(letter.recipients)

    def taken(self, node: MobileNode, count: int) -> None:
        """Take the first letters out of a node's queue: it has them."""
        numbers = node.queue[:count]
        del node.queue[:count]
        self._left(node, len(numbers))
        for number in numbers:
            letter = self._letters[number]
            letter.waiting -= 1
            if not letter.waiting:
                self.forget(letter)

    def expired(self, wall_us: int) -> list[Letter]:
        """What has expired by now; :meth:`remove` it from the queues, then :meth:`forget` it."""
        found = []
        while self._expiries and self._expiries[0][0] <= wall_us:
            _, number = heapq.heappop(self._expiries)
            letter = self._letters.get(number)
            if letter is not None:
                found.append(letter)
        return found

    def remove(self, node: MobileNode, number: int) -> int:
        """Take an expired letter out of a node's queue; return its place there, -1: none."""
        place = bisect_left(node.queue, number)
        if place == len(node.queue) or node.queue[place] != number:
            return -1
        del node.queue[place]
        self._left(node, 1)
        return place

    def _left(self, node: MobileNode, count: int) -> None:
        self.messages -= count
        if count and not node.queue:
            self.waiting -= 1

    def forget(self, letter: Letter) -> None:
        """Nobody waits for a letter any more."""
        del self._letters[letter.number]
        self.octets -= letter.cost
        self.forgotten.append(letter.number)
