"""Overlay brokers and clients in one thread under virtual time: real cores, a simulated network.

Messages travel as bytes; they are lost, late, repeated and overtake one another. Brokers are
killed, stopped, continued and started again at any moment, between a write and its commit too;
paths between any two processes are cut, in one direction or both (`overlay_paths`); each broker has
a wall clock of its own, skewed and stepping; disks fill. A part of the runs writes to real disks. A
run follows from its seed. What must always hold is checked as it happens or when all is quiet
(`clients`, `checks`):

- what was acknowledged is on the disks of all copies that are in sync, at any moment;
- a reader sees each publisher's messages in order, each once, none left out;
- what was acknowledged is found by a reader, whatever broke, when all is whole again;
- brokers send no more than `MOST_MESSAGES` a second each;
- a message has one time: no two readers see it under different times;
- when all is quiet each shelf has exactly the copies that its level asks for, on the brokers
  closest to it, with the same content: nobody holds a stale one.
"""

from __future__ import annotations

import heapq
import random
from itertools import count
from typing import TYPE_CHECKING, Any

from evenflow.errors import StorageError
from evenflow.overlay.broker.core import BrokerCore
from evenflow.overlay.client.core import NOW
from evenflow.overlay.protocol.codec import LINK
from evenflow.overlay.protocol.events import (
    Action,
    Arrived,
    Connect,
    Disconnect,
    Event,
    Linked,
    LogMove,
    Probe,
    Reply,
    Tick,
    Transmit,
    Unlinked,
)
from evenflow.overlay.protocol.messages import Member
from evenflow.overlay.protocol.settings import Settings
from evenflow.overlay.space.coordinate import Coordinate
from evenflow.testing.overlay.checks import Violation, check_copies, picture, settled
from evenflow.testing.overlay.clients import OverlayClients
from evenflow.testing.overlay.paths import Paths
from evenflow.testing.overlay.process import WALL, Disk, Machines, RunningBroker

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from evenflow.overlay.client.core import Publishing, Reading
    from evenflow.testing.overlay.clients import MoveRequest

TICK_S = 0.1
LATE_CHANCE = 0.02
LATE_FACTOR = 20
"""Some messages take this much longer than others."""
HELD_CHANCE = 0.5
"""Part of the messages over a cut path that come later; the others never do."""
MOST_MESSAGES = 3_000
"""Messages that a broker may send in one second, in a cluster of a few topics."""


class OverlayCluster(Machines):
    """A cluster of brokers with its clients.

    Args:
        seed: What the whole run follows from.
        brokers: Brokers to start with, named ``b0``, ``b1`` and so on, at random places.
        loss: Part of the messages that is lost; the same part comes twice.
        settings: How the brokers behave.
        delay: Longest time that most messages take.
        disk: Opens the disk of a broker; without, disks are in memory.
    """

    def __init__(
        self,
        seed: int,
        brokers: int = 6,
        *,
        loss: float = 0.0,
        settings: Settings | None = None,
        delay: float = 0.01,
        disk: Callable[[str], Disk] | None = None,
    ) -> None:
        super().__init__(disk)
        self.rng = random.Random(seed)
        self.loss = loss
        self.delay = delay
        self.settings = settings or Settings()
        self.paths = Paths()
        self.keeps = not (self.settings.age_s or self.settings.shelf_bytes)
        """Whether nothing expires and no disk is lost: what was acknowledged stays on disk."""
        self.most_sent = 0
        """Messages that one broker sent within a second, at most."""
        self.places: dict[str, Coordinate] = {}
        self.brokers: dict[str, RunningBroker] = {}
        self.clients = OverlayClients(self)
        self.logged: list[tuple[float, LogMove]] = []
        """Moves that brokers wanted in the history, and when."""
        self._events: list[tuple[float, int, Callable[..., object], tuple[Any, ...]]] = []
        self.order = count()
        self._incarnations = count(1)
        for number in range(brokers):
            self.add_broker(f"b{number}")
        self.later(1, self._each_second)
        self.run(3)

    # -- processes ------------------------------------------------------------------------------

    def add_broker(self, name: str, place: Coordinate | None = None) -> None:
        """Start a new broker, at a random place unless told."""
        self.open_disk(name)
        self.places[name] = place or Coordinate(
            self.rng.uniform(0.01, 0.99), self.rng.uniform(0.01, 0.99)
        )
        self.start(name)

    def start(self, name: str) -> None:
        """Start a broker that is not running, with its disk as it is."""
        incarnation = next(self._incarnations)
        me = Member(name, self.places[name], name, incarnation, disk=incarnation)
        running = [other for other in self.brokers if not self.brokers[other].stopped]
        # Whoever starts is told of others, also when none of them runs just now.
        contacts = running or [other for other in self.stores if other != name]
        core = BrokerCore(
            me, self.stores[name], self.settings, self.now, self.wall_of(name),
            first=len(self.places) == 1,
        )  # fmt: skip
        self.stores[name].commit()
        self.brokers[name] = RunningBroker(core, set(contacts[:2]))
        self.later(0, self._tick, name, core)

    def kill(self, name: str) -> None:
        """Kill a broker; its disk stays, without what was not committed."""
        del self.brokers[name]
        self.crash_disk(name)
        for other, broker in self.brokers.items():
            linked = name in broker.core.neighbours.links
            if linked and not self.paths.blocked(name, other):
                self.later(self.rng.uniform(0, 0.05), self.give, broker.core, Unlinked(name))

    def replace_disk(self, name: str) -> None:
        """Kill a broker if it runs, and put an empty disk in place of its own."""
        if name in self.brokers:
            self.kill(name)
        self.lose_disk(name)

    def kill_at_commit(self, name: str, when: str) -> None:
        """Kill a broker ``before`` or ``after`` its next commit; it says nothing any more."""
        self.brokers[name].dying = when

    def stop(self, name: str) -> None:
        """Stop a broker's process; what it is sent waits."""
        self.brokers[name].stopped = True

    def resume(self, name: str) -> None:
        """Let a stopped broker go on."""
        self.brokers[name].stopped = False

    def names(self) -> list[str]:
        """Return the brokers that run, in order."""
        return sorted(self.brokers)

    def cores(self) -> dict[str, BrokerCore]:
        """Return the cores of the brokers that run."""
        return {name: broker.core for name, broker in self.brokers.items()}

    # -- time -----------------------------------------------------------------------------------

    def _each_second(self) -> None:
        self.later(1, self._each_second)
        if self.keeps:
            self.clients.check_kept(self.stores)
        for name, broker in self.brokers.items():
            self.most_sent = max(self.most_sent, broker.sent)
            if broker.sent > MOST_MESSAGES:
                raise Violation(f"{name} sent {broker.sent} messages in a second")
            broker.sent = 0

    def later(self, delay: float, act: Callable[..., object], *arguments: Any) -> None:
        """Do something after a while."""
        heapq.heappush(self._events, (self.now + delay, next(self.order), act, arguments))

    def run(self, seconds: float) -> None:
        """Let time pass."""
        end = self.now + seconds
        while self._events and self._events[0][0] <= end:
            self.now, _, act, arguments = heapq.heappop(self._events)
            act(*arguments)
        self.now = end

    def run_until(self, reached: Callable[[], bool], seconds: float = 60.0, what: str = "") -> None:
        """Let time pass until something holds."""
        end = self.now + seconds
        while not reached():
            if self.now >= end:
                raise Violation(f"not within {seconds} s: {what}\n{self.picture()}")
            self.run(TICK_S)

    def _tick(self, name: str, core: BrokerCore) -> None:
        broker = self.brokers.get(name)
        if broker is None or broker.core is not core:
            return
        self.later(TICK_S, self._tick, name, core)
        if broker.stopped:
            return
        for other in sorted(broker.wanted - core.neighbours.links):
            if name in self.brokers:
                self._dial(name, other)
        self.give(core, Tick())

    # -- the network ----------------------------------------------------------------------------

    def give(self, core: BrokerCore, event: Event) -> None:
        """Give an event to a broker; one that is stopped gets it later, a dead one never."""
        name = core.members.me.name
        broker = self.brokers.get(name)
        if broker is None or broker.core is not core:
            return
        if broker.stopped:
            self.later(TICK_S, self.give, core, event)
            return
        store, actions = self.stores[name], []
        try:
            actions = core.handle(event, self.now, self.wall_of(name))
            if broker.dying != "before" or not store.dirty:
                store.commit()
        except StorageError:
            broker.dying = "before"  # what the shell does: it ends
        if broker.dying == "before" or (broker.dying and actions):
            self.kill(name)
            return
        for action in actions:
            self._perform(name, broker, action)

    def deliver_later(self, name: str, event: Event) -> None:
        """Give an event to a broker after the latency of the network."""
        self.later(self.latency(), self.give, self.brokers[name].core, event)

    def latency(self) -> float:
        """Return how long a message takes."""
        slow = LATE_FACTOR
        return self.rng.uniform(0, self.delay) * (slow if self.rng.random() < LATE_CHANCE else 1)

    def _perform(self, name: str, broker: RunningBroker, action: Action) -> None:
        match action:
            case Connect(member):
                broker.wanted.add(member.name)
            case Disconnect(other):
                broker.wanted.discard(other)
                self._disconnect(name, other)
            case Probe(member):
                self.later(self.latency(), self._probe, name, member.name)
            case LogMove():
                self.logged.append((self.now, action))
            case Transmit(link, message):
                self._transmit(name, link, message)
            case Reply(client, envelope):
                if self.rng.random() >= self.loss:
                    self.later(self.latency(), self.clients.on_reply, client, envelope)

    def _dial(self, name: str, other: str) -> None:
        mine, theirs = self.brokers[name], self.brokers.get(other)
        if theirs is None or theirs.stopped or not self.paths.open_between(name, other):
            self.give(mine.core, Unlinked(other))
            return
        self.give(mine.core, Linked(theirs.core.members.me))
        if name in self.brokers:
            self.give(theirs.core, Linked(mine.core.members.me))

    def _probe(self, name: str, other: str) -> None:
        mine, theirs = self.brokers.get(name), self.brokers.get(other)
        if mine is not None and theirs is not None and not mine.stopped and not theirs.stopped:
            self._dial(name, other)

    def _disconnect(self, name: str, other: str) -> None:
        """A connection is closed: the other end notices, unless it hears nothing."""
        for one, peer in ((name, other), (other, name)):
            broker = self.brokers.get(one)
            heard = one == name or not self.paths.blocked(peer, one)
            if broker is not None and heard and peer in broker.core.neighbours.links:
                self.later(self.latency(), self.give, broker.core, Unlinked(peer))

    def _transmit(self, name: str, link: str, message: Any) -> None:
        sent = LINK.encode(message)
        if name in self.brokers:
            self.brokers[name].sent += 1
        times = self.rng.choices((0, 1, 2), (self.loss, 1 - 2 * self.loss, self.loss))[0]
        for _ in range(times):
            if link in self.brokers:
                core = self.brokers[link].core
                self.later(self.latency(), self._arrive, name, link, core, sent)

    def _arrive(self, name: str, link: str, core: BrokerCore, sent: bytes) -> None:
        """Bytes come over a path, or are lost or held where it is cut."""
        if not self.paths.blocked(name, link):
            self.give(core, Arrived(name, LINK.decode(sent)))
        elif self.rng.random() < HELD_CHANCE:
            self.later(TICK_S, self._arrive, name, link, core, sent)

    # -- clients --------------------------------------------------------------------------------

    def publisher(self, topic: str, level: int = 2, number: int = 0) -> Publishing:
        """Add a publisher; 0 gives it a number of its own."""
        return self.clients.publisher(topic, level, number)

    def reader(self, topic: str, until: int = 0, level: int = 2) -> Reading:
        """Add a reader from the beginning of a topic up to a time; 0: without end."""
        return self.clients.reader(topic, until, level)

    def move(self, topic: str, to: Coordinate) -> MoveRequest:
        """Send a request to move a topic, once; it may fail."""
        return self.clients.move(topic, to)

    # -- checks ---------------------------------------------------------------------------------

    def settled(self) -> bool:
        """Say whether all know one another and every copy is as it should be."""
        return settled(self.cores())

    def settle(self, seconds: float = 60.0) -> None:
        """Lose nothing any more, and check that all copies come to be as they should."""
        self.loss = 0.0
        self.paths.heal()
        for name in self.brokers:
            self.resume(name)
        self.run_until(self.settled, seconds, "settle")
        check_copies(self.cores())

    def check_all_readable(
        self, topics: Iterable[str], *, publishers: Iterable[Publishing]
    ) -> None:
        """Read every topic from its beginning: all that was acknowledged must be there."""
        readers = [self.reader(topic, until=NOW, level=0) for topic in topics]
        self.run_until(lambda: all(reader.done for reader in readers), 60, "reading")
        self.clients.check_found(readers, publishers)

    def picture(self, topic: str | None = None) -> str:
        """Describe all copies, or those of a topic."""
        return picture(self.cores(), topic, WALL)
