"""Brokers and clients in one thread under virtual time: the real cores, a simulated network.

Letters are lost, late and overtake one another; brokers are killed, stopped, continued and started
again at any moment. The cluster keeps the books. What must always hold, and is checked as it
happens or at the end (`Violation`):

- a reader sees each publisher's messages in order, each once, none left out;
- what was acknowledged is found by a reader, unless more brokers died at once than the level bears;
- a message has one time: no two readers see it under different times;
- when all is quiet each shelf has exactly the copies that its level asks for, on the brokers
  closest to it, with the same content: nobody holds a stale one.
"""

from __future__ import annotations

import heapq
import random
from dataclasses import dataclass, replace
from itertools import count

from tests.unit.overlay.memory_store import MemoryStore

from evenflow.overlay.broker.core import BrokerCore
from evenflow.overlay.client.core import Publishing, Question, Reading
from evenflow.overlay.protocol.events import (
    Arrived,
    Asked,
    Balanced,
    Connect,
    Disconnect,
    Linked,
    Reply,
    Tick,
    Transmit,
    Unlinked,
    Visit,
)
from evenflow.overlay.protocol.messages import (
    LETTERS,
    LINK,
    Done,
    Failed,
    Member,
    Move,
    Routed,
    Shelf,
)
from evenflow.overlay.protocol.settings import Settings
from evenflow.overlay.replica.states import State
from evenflow.overlay.space.coordinate import Coordinate, geographic_hash

TICK = 0.1
WALL = 1_700_000_000_000_000_000


class Violation(AssertionError):
    """Something happened that must never happen."""


@dataclass
class SimBroker:
    core: BrokerCore
    wanted: set
    stopped: bool = False


class SimClient:
    """One publisher or reader, attached to some broker."""

    def __init__(self, number, asking):
        self.number, self.asking = number, asking
        self.broker = ""


class SimCluster:
    def __init__(self, seed, brokers=6, *, loss=0.0, settings=None, delay=0.01):
        self.rng = random.Random(seed)
        self.now = 0.0
        self.loss, self.delay = loss, delay
        self.settings = settings or Settings()
        self.stores = {}
        self.places = {}
        self.brokers = {}
        self.events = []
        self.order = count()
        self.clients = {}
        self.seen = {}
        self.moves = []
        self.balanced = []
        self.times = {}
        self.incarnations = count(1)
        for number in range(brokers):
            self.add_broker(f"b{number}")
        self.run(3)

    # -- processes ------------------------------------------------------------------------------

    def add_broker(self, name):
        self.stores[name] = MemoryStore()
        self.places[name] = Coordinate(self.rng.uniform(0.01, 0.99), self.rng.uniform(0.01, 0.99))
        self.start(name)

    def start(self, name):
        me = Member(name, self.places[name], name, next(self.incarnations))
        core = BrokerCore(me, self.stores[name], self.settings, self.now, self.wall)
        contacts = [other for other in self.brokers if not self.brokers[other].stopped]
        self.brokers[name] = SimBroker(core, set(contacts[:2]))
        self.later(0, self.tick, name, core)

    def kill(self, name):
        broker = self.brokers.pop(name)
        for other in self.brokers.values():
            if name in other.core.links:
                self.later(self.rng.uniform(0, 0.05), self.give, other.core, Unlinked(name))
        return broker

    def stop(self, name):
        self.brokers[name].stopped = True

    def resume(self, name):
        self.brokers[name].stopped = False

    @property
    def wall(self):
        return WALL + int(self.now * 1e9)

    # -- time -----------------------------------------------------------------------------------

    def later(self, delay, act, *arguments):
        heapq.heappush(self.events, (self.now + delay, next(self.order), act, arguments))

    def run(self, seconds):
        end = self.now + seconds
        while self.events and self.events[0][0] <= end:
            self.now, _, act, arguments = heapq.heappop(self.events)
            act(*arguments)
        self.now = end

    def run_until(self, reached, seconds=60.0, what=""):
        end = self.now + seconds
        while not reached():
            if self.now >= end:
                raise Violation(f"not within {seconds} s: {what}\n{self.picture()}")
            self.run(TICK)

    def tick(self, name, core):
        broker = self.brokers.get(name)
        if broker is None or broker.core is not core:
            return
        self.later(TICK, self.tick, name, core)
        if broker.stopped:
            return
        for other in sorted(broker.wanted - core.links):
            self.dial(name, other)
        self.give(core, Tick())

    def dial(self, name, other):
        mine, theirs = self.brokers[name], self.brokers.get(other)
        if theirs is None or theirs.stopped:
            self.give(mine.core, Unlinked(other))
            return
        self.give(mine.core, Linked(theirs.core.members.me))
        self.give(theirs.core, Linked(mine.core.members.me))

    def visit(self, name, other):
        """Knock once."""
        mine, theirs = self.brokers.get(name), self.brokers.get(other)
        if mine is not None and theirs is not None and not mine.stopped and not theirs.stopped:
            self.dial(name, other)

    def give(self, core, event):
        name = core.members.me.name
        broker = self.brokers.get(name)
        if broker is None or broker.core is not core:
            return
        if broker.stopped:
            self.later(TICK, self.give, core, event)
            return
        for action in core.handle(event, self.now, self.wall):
            self.perform(name, broker, action)

    def perform(self, name, broker, action):
        match action:
            case Connect(member):
                broker.wanted.add(member.name)
            case Disconnect(other):
                broker.wanted.discard(other)
                self.part(name, other)
            case Visit(member):
                self.later(self.latency(), self.visit, name, member.name)
            case Balanced():
                self.balanced.append((self.now, name, action))
            case Transmit(link, message):
                self.send(name, link, message)
            case Reply(client, letter):
                if self.rng.random() >= self.loss:
                    self.later(self.latency(), self.reply, client, letter)

    def part(self, name, other):
        """A connection is closed: both ends notice."""
        for one, peer in ((name, other), (other, name)):
            broker = self.brokers.get(one)
            if broker is not None and peer in broker.core.links:
                self.later(self.latency(), self.give, broker.core, Unlinked(peer))

    def latency(self):
        return self.rng.uniform(0, self.delay) * (20 if self.rng.random() < 0.02 else 1)

    def send(self, name, link, message):
        message = LINK.decode(LINK.encode(message))
        times = self.rng.choices((0, 1, 2), (self.loss, 1 - 2 * self.loss, self.loss))[0]
        for _ in range(times):
            other = self.brokers.get(link)
            if other is not None:
                self.later(self.latency(), self.give, other.core, Arrived(name, message))

    # -- clients --------------------------------------------------------------------------------

    def client(self, asking):
        number = len(self.clients) + 1
        client = self.clients[number] = SimClient(number, asking)
        self.later(0, self.work, client)
        return asking

    def publisher(self, topic, level=2):
        publisher = len(self.clients) + 1
        return self.client(Publishing(topic, publisher, level))

    def reader(self, topic, until=0, level=2):
        reading = self.client(Reading(topic, level, 1, until))
        self.seen[id(reading)] = {}
        return reading

    def work(self, client):
        asking = client.asking
        if isinstance(asking, Reading):
            self.take(asking)
            if asking.done:
                return
        self.later(TICK / 2, self.work, client)
        self.ask(client)

    def ask(self, client):
        question = client.asking.poll(self.now)
        if question is None:
            return
        if client.broker not in self.brokers or self.rng.random() < 0.05:
            client.broker = self.rng.choice(sorted(self.brokers))
        letter = Routed(
            question.target, "", 0, "", 0, question.request, False, LETTERS.encode(question.body)
        )
        if self.rng.random() >= self.loss:
            core = self.brokers[client.broker].core
            self.later(self.latency(), self.give, core, Asked(client.number, letter))

    def reply(self, number, letter):
        body = LETTERS.decode(letter.body)
        client = self.clients[number]
        if isinstance(client.asking, Moving):
            client.asking.answers.append(body)
            return
        client.asking.hear(letter.request, body, self.now)
        if isinstance(client.asking, Reading):
            self.take(client.asking)
        self.ask(client)

    def take(self, reading):
        seen = self.seen[id(reading)]
        while reading.found:
            message = reading.found.popleft()
            expected = seen.get(message.publisher, 0) + 1
            if message.sequence != expected:
                raise Violation(
                    f"reader of {reading.topic}: {message.sequence} of {message.publisher} came"
                    f" instead of {expected}\n{self.picture(reading.topic)}"
                )
            seen[message.publisher] = message.sequence
            key = (reading.topic, message.publisher, message.sequence)
            if self.times.setdefault(key, message.time) != message.time:
                raise Violation(f"{key} has two times")

    def move(self, topic, to):
        """Ask once for a move; it may fail."""
        home = Shelf(topic, geographic_hash(topic))
        moving = Moving(home, to)
        number = len(self.clients) + 1
        client = self.clients[number] = SimClient(number, moving)
        self.ask(client)
        self.moves.append(moving)
        return moving

    # -- the end --------------------------------------------------------------------------------

    def settled(self):
        names = set(self.brokers)
        for name, broker in self.brokers.items():
            if set(broker.core.members.living) != names:
                return False
            for keeper in broker.core.keepers.values():
                replica = keeper.replica
                good = replica.settled or replica.state is State.FOLLOWING
                if not good or name not in replica.wanted() or replica.label.ticket:
                    return False
                if name not in (replica.record.primary, replica.record.secondary):
                    return False
                kept = replica.committed == replica.last and replica.label_kept
                if replica.leading and not kept:
                    return False
        return True

    def settle(self, seconds=60.0):
        """A quiet time: nothing is lost any more; all copies must come to be as they should."""
        self.loss = 0.0
        for name in self.brokers:
            self.resume(name)
        self.run_until(self.settled, seconds, "settle")
        copies = {}
        for name, broker in self.brokers.items():
            for shelf, keeper in broker.core.keepers.items():
                copies.setdefault(shelf, {})[name] = keeper.replica
        for shelf, replicas in copies.items():
            some = next(iter(replicas.values()))
            if set(replicas) != set(some.wanted()):
                raise Violation(f"{shelf} lies on {set(replicas)}, not on {some.wanted()}")
            labels = {replace(r.label, revision=0, floor=0) for r in replicas.values()}
            if len(labels) != 1:
                raise Violation(f"{shelf} has labels {labels}")
        self.check_lists(copies)

    def check_lists(self, copies):
        """Every time of a topic has one responsible coordinate, and a shelf lies there."""
        for shelf, replicas in copies.items():
            delegates = next(iter(replicas.values())).label.delegates
            if not shelf.at_home:
                continue
            for tenure in delegates.tenures():
                there = copies.get(Shelf(shelf.topic, tenure.coordinate))
                if there is None:
                    raise Violation(f"{shelf.topic}: nobody has {tenure}")
                mine = next(iter(there.values())).label.delegates
                if mine.responsible(tenure.start) != tenure.coordinate:
                    raise Violation(f"{shelf.topic}: {tenure} is denied by its delegate")
            open_at = [
                other.coordinate
                for other, owners in copies.items()
                if other.topic == shelf.topic
                and next(iter(owners.values())).label.delegates.current == other.coordinate
            ]
            if open_at != [delegates.current]:
                raise Violation(f"{shelf.topic} is open at {open_at}, not {delegates.current}")

    def check_all_readable(self, topics, *, publishers):
        """Read every topic from its beginning: all that was acknowledged is there."""
        readers = [self.reader(topic, until=self.wall, level=0) for topic in topics]
        self.run_until(lambda: all(r.done for r in readers), 60, "reading")
        found = {reader.topic: self.seen[id(reader)] for reader in readers}
        for publishing in publishers:
            there = found[publishing.topic].get(publishing.publisher, 0)
            if there < publishing.acknowledged:
                raise Violation(
                    f"{publishing.topic}: {publishing.acknowledged} acknowledged, {there} found\n"
                    + self.picture(publishing.topic)
                )

    def picture(self, topic=None):
        lines = []
        for name in sorted(self.brokers):
            core = self.brokers[name].core
            lines.append(f"{name} alive={sorted(core.members.living)} links={sorted(core.links)}")
            for shelf, keeper in core.keepers.items():
                if topic is None or shelf.topic == topic:
                    r = keeper.replica
                    entries = [
                        (entry.start - WALL, round(entry.coordinate.x, 2))
                        for entry in r.label.delegates.entries
                    ]
                    lines.append(
                        f"   {shelf.topic}@{shelf.coordinate.x:.2f} {r.state.value}"
                        f" term={r.record.term} confirmed={r.record.confirmed}"
                        f" {r.record.primary}/{r.record.secondary} former={r.record.former}"
                        f" since={r.record.since - WALL} last={r.last - WALL}"
                        f" committed={r.committed - WALL} fetching={r._fetching}"
                        f" wanted={r.wanted()} ticket={r.label.ticket} settled={r.settled}"
                        f" list={entries}"
                    )
        return "\n".join(lines)


class Moving:
    """A question for a move, asked once."""

    def __init__(self, home, to):
        self.home, self.to, self.answers, self.asked = home, to, [], False

    def poll(self, _now):
        if self.asked:
            return None
        self.asked = True
        return Question(self.home.coordinate, Move(self.home, self.to), 1)

    @property
    def done(self):
        return any(isinstance(answer, Done) for answer in self.answers)

    @property
    def failed(self):
        return any(isinstance(answer, Failed) for answer in self.answers)
