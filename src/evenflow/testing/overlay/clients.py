"""Clients of a simulated overlay cluster: publishers, readers, and requests to move a topic.

Each is attached to some broker, and to another when that dies. Requests and replies are lost and
late like everything else. What readers see is checked as it happens (`Violation`): each publisher's
messages in order, each once, none left out, and each under one time for all readers.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol

from evenflow.overlay.client.core import Publishing, Reading, Request
from evenflow.overlay.client.following import Following
from evenflow.overlay.protocol.codec import BODY, LINK
from evenflow.overlay.protocol.events import Asked
from evenflow.overlay.protocol.messages import (
    Envelope,
    Failed,
    FetchInstead,
    Join,
    MoveDone,
    MoveTopic,
    Pushed,
    Resubscribe,
    ShelfId,
)
from evenflow.overlay.space.coordinate import geographic_hash
from evenflow.testing.overlay.checks import Violation, in_sync_disks, stored_on

if TYPE_CHECKING:
    import random
    from collections.abc import Callable, Iterable, Mapping

    from evenflow.overlay.ports import Store
    from evenflow.overlay.protocol.events import Event
    from evenflow.overlay.protocol.messages import Message
    from evenflow.overlay.space.coordinate import Coordinate
    from evenflow.testing.overlay.paths import Paths

SILENCE_S = 3.0
"""A client leaves a broker that is silent for this long, as `client.link` does."""
WORK_S = 0.05
"""Time between two looks of a client at what is due."""


class Network(Protocol):
    """What clients need of the cluster."""

    rng: random.Random
    now: float
    loss: float
    paths: Paths

    def names(self) -> list[str]:
        """Return the brokers that run, in order."""
        ...

    def latency(self) -> float:
        """Return how long a message takes."""
        ...

    def later(self, delay: float, act: Callable[..., object], *arguments: Any) -> None:
        """Do something after a while."""
        ...

    def deliver_later(self, name: str, event: Event) -> None:
        """Give an event to a broker after the latency of the network."""
        ...

    def picture(self, topic: str | None = None) -> str:
        """Describe all copies, or those of a topic."""
        ...


@dataclass(eq=False, slots=True)
class MoveRequest:
    """A request to move a topic, sent once; it may fail, or be lost."""

    home: ShelfId
    to: Coordinate
    replies: list[object] = field(default_factory=list)
    sent: bool = False

    def poll(self, _now: float) -> Request | None:
        """Return the request, the first time."""
        if self.sent:
            return None
        self.sent = True
        return Request(self.home.coordinate, MoveTopic(self.home, self.to), 1)

    def on_reply(self, _number: int, body: object, _now: float) -> bool:
        """Note a reply."""
        self.replies.append(body)
        return True

    @property
    def done(self) -> bool:
        """Whether the topic was moved."""
        return any(isinstance(reply, MoveDone) for reply in self.replies)

    @property
    def failed(self) -> bool:
        """Whether the topic was not moved."""
        return any(isinstance(reply, Failed) for reply in self.replies)


@dataclass(eq=False, slots=True)
class _Client:
    number: int
    requester: Publishing | Reading | MoveRequest
    broker: str = ""
    """The broker it is attached to."""
    joins: int = 0
    """How often it asked the topic's home where the topic is."""
    gone: bool = False
    """Whether it was killed."""
    heard: float = 0.0
    """When its broker was last there."""
    slow: bool = False
    """Whether its application takes messages only when told."""


class OverlayClients:
    """All clients of a cluster."""

    def __init__(self, network: Network) -> None:
        self._network = network
        self._clients: dict[int, _Client] = {}
        self._times: dict[tuple[str, int, int], int] = {}
        """When each message was stored, as the first reader saw it."""
        self.seen: dict[Reading, dict[int, int]] = {}
        """What each reader has seen: the newest sequence of each publisher."""

    def publisher(self, topic: str, level: int = 2, number: int = 0) -> Publishing:
        """Add a publisher; 0 gives it a number of its own."""
        publishing = Publishing(topic, number or len(self._clients) + 1, level)
        self._start(self._add(publishing))
        return publishing

    def reader(self, topic: str, until: int = 0, level: int = 2) -> Reading:
        """Add a reader from the beginning of a topic up to a time; 0: without end."""
        reading = Reading(topic, level, 1, until)
        self.seen[reading] = {}
        self._start(self._add(reading))
        return reading

    def subscriber(self, topic: str, level: int = 2) -> Following:
        """Add a subscriber from the beginning of a topic."""
        following = Following(topic, level, 1, self._network.rng.getrandbits(61) + 1)
        self.seen[following] = {}
        self._start(self._add(following))
        return following

    def client_of(self, requester: Publishing | Reading) -> _Client:
        """Return the client that a publisher, a reader or a subscriber is."""
        return next(each for each in self._clients.values() if each.requester is requester)

    def leave(self, following: Following) -> None:
        """End a client as a killed process ends: nobody is told."""
        self.client_of(following).gone = True

    def move(self, topic: str, to: Coordinate) -> MoveRequest:
        """Send a request to move a topic, once."""
        request = MoveRequest(ShelfId(topic, geographic_hash(topic)), to)
        self._request(self._add(request))
        return request

    def _add(self, requester: Publishing | Reading | MoveRequest) -> _Client:
        number = len(self._clients) + 1
        client = self._clients[number] = _Client(number, requester)
        return client

    def _start(self, client: _Client) -> None:
        self._network.later(0, self._work, client)

    def _work(self, client: _Client) -> None:
        requester = client.requester
        if client.gone:
            return
        if isinstance(requester, Reading):
            self._take(client, requester)
            if requester.done:
                return
        self._network.later(WORK_S, self._work, client)
        self._watch_broker(client)
        self._request(client)

    def _watch_broker(self, client: _Client) -> None:
        """Take another broker when ours is gone or silent, and ask again, as `ClientLink` does."""
        network, own = self._network, f"c{client.number}"
        names, blocked = network.names(), network.paths.blocked
        gone = client.broker not in names
        silent = blocked(own, client.broker) or blocked(client.broker, own)
        if not client.broker or not (gone or silent):
            client.heard = network.now
        elif names and (gone or network.now >= client.heard + SILENCE_S):
            client.broker, client.heard = network.rng.choice(names), network.now
            if not isinstance(client.requester, MoveRequest):
                client.requester.retry_now()

    def _request(self, client: _Client) -> None:
        """Send what is due."""
        request = client.requester.poll(self._network.now)
        if request is not None:
            client.joins += isinstance(request.body, Join)
            self._send(client, request)

    def _send(self, client: _Client, request: Request) -> None:
        """Send something through the client's broker or, now and then, another."""
        network = self._network
        names = network.names()
        if not names:
            return
        if client.broker not in names or network.rng.random() < 0.05:
            client.broker = network.rng.choice(names)
        if network.paths.blocked(f"c{client.number}", client.broker):
            return
        envelope = Envelope(
            request.target,
            "",
            0,
            "",
            0,
            request.number,
            reply=False,
            body=BODY.encode(request.body),
        )
        if network.rng.random() >= network.loss:
            sent = LINK.decode(LINK.encode(envelope))
            network.deliver_later(client.broker, Asked(client.number, sent))

    def on_reply(self, number: int, envelope: Envelope) -> None:
        """A reply has reached a client."""
        client = self._clients[number]
        if client.gone or self._network.paths.blocked(client.broker, f"c{number}"):
            return
        body, now = BODY.decode(envelope.body), self._network.now
        if isinstance(body, Pushed | Resubscribe | FetchInstead):
            following = client.requester
            if isinstance(following, Following) and following.subscriber == body.subscriber:
                following.on_push(body, now)
        else:
            client.requester.on_reply(envelope.correlation, body, now)
        if isinstance(client.requester, Reading):
            self._take(client, client.requester)
        if not isinstance(client.requester, MoveRequest):
            self._request(client)

    def _take(self, client: _Client, reading: Reading) -> None:
        """Check what a reader has got."""
        while reading.found and not client.slow:
            self._check(reading, reading.found.popleft())
        if isinstance(reading, Following):
            word = reading.acknowledge()
            if word is not None:
                self._send(client, word)

    def _check(self, reading: Reading, message: Message) -> None:
        seen = self.seen[reading]
        expected = seen.get(message.publisher, 0) + 1
        if message.sequence != expected:
            raise Violation(
                f"reader of {reading.topic}: {message.sequence} of {message.publisher} came"
                f" instead of {expected}\n{self._network.picture(reading.topic)}"
            )
        seen[message.publisher] = message.sequence
        key = (reading.topic, message.publisher, message.sequence)
        if self._times.setdefault(key, message.time) != message.time:
            raise Violation(f"{key} has two times")

    def check_kept(self, stores: Mapping[str, Store]) -> None:
        """Check that what publishers were told is stored is on the disks of all copies in sync."""
        topics: dict[str, set[tuple[int, int]]] = {}
        for shelf, disks in in_sync_disks(stores).items():
            found = [stored_on(disk, shelf) for disk in disks]
            if found:
                topics.setdefault(shelf.topic, set()).update(set.intersection(*found))
        for client in self._clients.values():
            publishing = client.requester
            if isinstance(publishing, Publishing):
                there = topics.get(publishing.topic, set())
                for number in range(publishing.acknowledged, 0, -1):
                    if (publishing.publisher, number) not in there:
                        raise Violation(
                            f"{publishing.topic}: message {number} of {publishing.publisher} is"
                            f" acknowledged, and a copy in sync lacks it\n"
                            + self._network.picture(publishing.topic)
                        )

    def saw_all(self, reading: Reading, publishers: Iterable[Publishing]) -> bool:
        """Say whether a reader has seen all that publishers were told is stored."""
        seen = self.seen[reading]
        return all(seen.get(one.publisher, 0) >= one.acknowledged for one in publishers)

    def check_found(self, readers: Iterable[Reading], publishers: Iterable[Publishing]) -> None:
        """Check that readers have seen all that publishers were told is stored."""
        found = {reader.topic: self.seen[reader] for reader in readers}
        for publishing in publishers:
            there = found[publishing.topic].get(publishing.publisher, 0)
            if there < publishing.acknowledged:
                raise Violation(
                    f"{publishing.topic}: {publishing.acknowledged} acknowledged, {there} found\n"
                    + self._network.picture(publishing.topic)
                )
