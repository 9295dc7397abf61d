"""A broker reduced to what a part of it needs: members, a disk in memory, a clock set by hand."""

from __future__ import annotations

from collections import deque
from typing import Any

from msgspec.structs import replace

from evenflow.overlay.members.clock import HybridClock
from evenflow.overlay.members.table import MemberTable
from evenflow.overlay.protocol.messages import Config, Envelope, Label, Member, ShelfId, TermStart
from evenflow.overlay.protocol.settings import Counters, Settings
from evenflow.overlay.replica.record import Record
from evenflow.overlay.replica.replica import Replica
from evenflow.overlay.replica.states import State
from evenflow.overlay.replica.votes import Votes
from evenflow.overlay.space.coordinate import Coordinate, geographic_hash
from evenflow.overlay.space.delegation import DelegateList
from evenflow.testing.overlay.store import MemoryStore

TOPIC = "meters"
HOME = ShelfId(TOPIC, geographic_hash(TOPIC))
AWAY = ShelfId(TOPIC, Coordinate(0.9, 0.1))
WALL = 1_000_000_000_000
"""The newest term that a clock of this time gives is 1,000,000."""


class RecordingMail:
    """Mail that goes nowhere."""

    def __init__(self) -> None:
        self.inbox: deque[Envelope] = deque()
        self.sent: list[tuple[str, Any]] = []
        self.sent_to: list[tuple[Coordinate, Any]] = []
        self.replies: list[tuple[Envelope, Any]] = []
        self.forwarded: list[tuple[Envelope, str]] = []
        self.readdressed: list[tuple[Envelope, Any]] = []
        self.told: list[tuple[str, int, Any]] = []

    def send(self, node: str, body: Any) -> None:
        self.sent.append((node, body))

    def send_to(self, coordinate: Coordinate, body: Any, correlation: int = 0) -> None:
        self.sent_to.append((coordinate, body))

    def reply(self, envelope: Envelope, body: Any) -> None:
        self.replies.append((envelope, body))

    def tell(self, broker: str, client: int, body: Any) -> None:
        self.told.append((broker, client, body))

    def forward(self, envelope: Envelope, node: str) -> None:
        self.forwarded.append((envelope, node))

    def readdress(self, envelope: Envelope, body: Any) -> None:
        self.readdressed.append((envelope, body))

    def take(self, kind: type) -> list[tuple[str, Any]]:
        """Return what was sent of a kind, and forget all that was sent."""
        found = [(node, body) for node, body in self.sent if isinstance(body, kind)]
        self.sent.clear()
        return found

    def answers(self) -> list[Any]:
        """Return the bodies of the replies, and forget them."""
        found = [body for _, body in self.replies]
        self.replies.clear()
        return found


class FakeHost:
    """Broker ``b0``; ``b0``, ``b1``, ``b2`` ... lie in this order around the topic's home."""

    def __init__(self, brokers: int = 4, **settings: Any) -> None:
        places = [Coordinate(HOME.coordinate.x, HOME.coordinate.y + 0.01 * n) for n in range(9)]
        everyone = [Member(f"b{n}", places[n], "", 1) for n in range(brokers)]
        self.members = MemberTable(everyone[0])
        self.members.merge(everyone)
        self.settings = Settings(**settings)
        self.store = MemoryStore()
        self.mail: Any = RecordingMail()
        self.now = 100.0
        self.clock = HybridClock(WALL)
        self.counters = Counters()
        self.votes = Votes(self.store, self.clock.plausible)
        self.steady = True
        self.joined = True
        self.deleted: list[ShelfId] = []

    @property
    def wall(self) -> int:
        return self.clock.time

    @wall.setter
    def wall(self, time: int) -> None:
        self.clock.time = time

    def delete_later(self, shelf: ShelfId) -> None:
        self.deleted.append(shelf)

    def kill(self, name: str) -> None:
        """Learn that a broker is dead."""
        dead = self.members[name]
        self.members.merge([Member(dead.name, dead.coordinate, "", dead.incarnation, alive=False)])

    def replace_disk(self, name: str, disk: int = 9) -> None:
        """Learn that a broker lives with another disk."""
        before = self.members[name]
        self.members.merge([replace(before, incarnation=before.incarnation + 1, disk=disk)])


def label(level: int = 2, **fields: Any) -> Label:
    at_home = DelegateList.at_home(HOME.coordinate)
    return Label(1, level, fields.pop("version", 0), fields.pop("delegates", at_home), **fields)


def config(*members: str, term: int = 5, **fields: Any) -> Config:
    """Return a configuration: all are in sync, the first leads, all decide."""
    values: dict[str, Any] = {
        "birth": 0, "term": term, "primary": members[0], "members": members, "in_sync": members,
        "voters": members,
    } | fields  # fmt: skip
    return Config(**values)


def record(
    host: FakeHost, primary: str = "b0", secondary: str = "b1", *, level: int = 2, **fields: Any
) -> Record:
    """Return a record that is on the host's disk: term 5, decided, from time 10."""
    values: dict[str, Any] = {
        "shelf": HOME, "birth": 0, "term": 5, "since": 0, "terms": (TermStart(5, 10),),
        "label": label(level),
    } | fields  # fmt: skip
    made = Record(**values)
    host.store.save(made)
    members = (primary, secondary) if secondary else (primary,)
    host.votes.learn(made.shelf, config(*members, birth=made.birth))
    return made


def lead(replica: Replica, revision: int = 1) -> None:
    """Let a copy lead from time 10 on, with members that follow and have everything."""
    replica.copy.state = State.LEADING
    replica.replication.lead_from(10)
    for progress in replica.replication.members.values():
        progress.synced, progress.idle, progress.since = True, True, 0
        progress.revision, progress.confirmed = revision, replica.host.now


def envelope(origin: str = "b1", client: int = 0, hops: int = 9) -> Envelope:
    return Envelope(HOME.coordinate, "b0", hops, origin, client, 7, reply=False, body=b"")
