"""A simulated client that keeps its items until they are safe, and goes from door to door.

Of each topic at most the items of one door are unsettled. While they are another door's, the client
asks and sends nothing of that topic.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from evenflow.testing.edge.datagrams import Accepted, Bye, Connect, Items, Safe, Settle, Settled
from evenflow.testing.edge.door import TOPICS
from evenflow.testing.invariants import Violation

if TYPE_CHECKING:
    from evenflow.testing.edge.datagrams import FromClient, FromDoor
    from evenflow.testing.edge.world import EdgeWorld

WINDOW = 6
"""Items under way."""
REPEAT_S = 0.1
SILENCE_S = 3.0
"""A door that says nothing for so long, though it is asked, is left."""


@dataclass
class Stream:
    """The items of one topic and run."""

    payloads: list[bytes] = field(default_factory=list)
    safe: int = 0
    """All up to this number are safe."""
    sent: int = 0
    """The newest that was sent to ``door``."""
    door: str = ""
    """Who has the unsettled ones; empty when there are none."""
    begin: int = 0
    """The first that is sent over the present link; 0: none was."""

    def settle(self, number: int) -> None:
        """The door that has the unsettled ones has accepted up to a number, and no more."""
        if number > self.sent:
            raise Violation(f"item {number} is accepted, and {self.sent} is the newest sent")
        self.safe = max(self.safe, number)
        self.sent, self.door = self.safe, ""


class SimClient:
    """A client."""

    def __init__(self, world: EdgeWorld, name: str) -> None:
        self.world = world
        self.name = name
        self.run = ""
        self.connection = 0
        self.door = ""
        self.link = 0
        """0: it is not accepted."""
        self._heard = 0.0
        self.streams: dict[str, Stream] = {}
        self.former: dict[tuple[str, str], list[bytes]] = {}
        """What it published in former runs, by run and topic."""
        self.begin_run()
        self._repeat()

    def begin_run(self) -> None:
        """It has lost its memory, but for the number of its connections."""
        for topic, stream in self.streams.items():
            self.former[self.run, topic] = stream.payloads
        self.run = f"{len(self.former) // len(TOPICS):016x}"
        self.streams = {topic: Stream() for topic in TOPICS}
        self.go_to(self.door or self.world.random.choice(list(self.world.doors)))

    def go_to(self, door: str, *, politely: bool = False) -> None:
        """Attach to a door, whatever becomes of the one it is at."""
        if politely and self.link:
            self._send(Bye(self.link))
        self.connection += 1
        self.door, self.link = door, 0
        self._heard = self.world.time.now
        for stream in self.streams.values():
            stream.begin = 0

    def publish(self, topic: str, payload: bytes) -> None:
        """Keep an item until it is safe."""
        self.streams[topic].payloads.append(payload)

    @property
    def is_done(self) -> bool:
        """Whether all it has published is safe."""
        return all(one.safe == len(one.payloads) for one in self.streams.values())

    # -- out ---------------------------------------------------------------------------------------

    def _send(self, datagram: FromClient) -> None:
        self.world.to_door_of(self.door, datagram)

    def _repeat(self) -> None:
        if self.world.time.now > self._heard + SILENCE_S and not self.is_done:
            self.go_to(self.world.random.choice(list(self.world.doors)))
        if not self.link:
            self._send(Connect(self.name, self.run, self.connection))
        else:
            for topic, stream in self.streams.items():
                self._send_stream(topic, stream)
        self.world.time.later(REPEAT_S, self._repeat)

    def _send_stream(self, topic: str, stream: Stream) -> None:
        if stream.door not in ("", self.door):
            self._send(Settle(self.link, stream.door, topic))
            return
        if stream.safe == len(stream.payloads):
            return
        stream.begin = stream.begin or stream.safe + 1
        last = min(stream.safe + WINDOW, len(stream.payloads))
        stream.door, stream.sent = self.door, max(stream.sent, last)
        first = stream.safe + 1
        while first <= last:
            count = min(self.world.random.choice([1, 1, 3]), last - first + 1)
            payloads = tuple(stream.payloads[first - 1 : first - 1 + count])
            self._send(Items(self.link, topic, first, payloads, stream.begin))
            first += count

    # -- in ----------------------------------------------------------------------------------------

    def on_datagram(self, datagram: FromDoor) -> None:
        """A door says something; what is for another connection is old."""
        match datagram:
            case Accepted(door, connection, link, welcomed):
                if (door, connection, 0) == (self.door, self.connection, self.link):
                    self.link, self._heard = link, self.world.time.now
                    for topic, stream in self.streams.items():
                        if stream.door == door:
                            stream.settle(welcomed.get(topic, 0))
            case Safe(link, topic, number) if link == self.link:
                self._heard = self.world.time.now
                stream = self.streams[topic]
                stream.safe = max(stream.safe, number)
                if stream.safe == stream.sent:
                    stream.door = ""
            case Settled(link, door, topic, number) if link == self.link:
                self._heard = self.world.time.now
                if self.streams[topic].door == door:
                    self.streams[topic].settle(number)
