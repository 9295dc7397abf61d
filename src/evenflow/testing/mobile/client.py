"""A simulated mobile node: the client's core, with a disk that outlives it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from evenflow.mobile.client import events
from evenflow.mobile.client.buffer import Limits
from evenflow.mobile.client.connections import Identity
from evenflow.mobile.client.core import ClientCore
from evenflow.mobile.client.inbox import Inbox
from evenflow.mobile.client.reaching import Patience
from evenflow.testing.invariants import Violation
from evenflow.testing.virtual_time import Process

if TYPE_CHECKING:
    from collections.abc import Iterable

    from evenflow.testing.mobile.cluster import MobileCluster

RUN = "00000000000000{:02x}"
CLOCK = 1_000_000
"""Where connections are numbered from: as many as a clock is put back by are never made."""
NOTES = (
    events.KeepItem,
    events.DropItem,
    events.NoteTopic,
    events.ForgetItems,
    events.NameTopic,
    events.NoteConnection,
    events.NoteMark,
)


class ClientNotes:
    """What a client has noted; the last ones may be late."""

    def __init__(self) -> None:
        self.items: dict[int, events.KeepItem] = {}
        self.topics: dict[str, events.NoteTopic] = {}
        self.marks: dict[str, int] = {}
        self.connection = 0
        self._unsynced: list[Any] = []

    def note(self, note: Any) -> None:
        """Write something down; with anything that may not be late everything before it."""
        self._unsynced.append(note)
        if not isinstance(note, events.LATE):
            self.sync()

    def sync(self) -> None:
        """Everything is on disk."""
        for note in self._unsynced:
            self._apply(note)
        self._unsynced.clear()

    def crash(self) -> None:
        """What was late is gone."""
        self._unsynced.clear()

    def _apply(self, note: Any) -> None:
        match note:
            case events.KeepItem(sequence):
                self.items[sequence] = note
            case events.DropItem(sequence):
                del self.items[sequence]
            case events.NoteTopic(topic):
                self.topics[topic] = note
            case events.ForgetItems():
                self._forget(note)
            case events.NameTopic(topic):
                self._name(topic)
            case events.NoteConnection(number):
                self.connection = number
            case events.NoteMark(mailbox, number):
                self.marks[mailbox] = number

    def _forget(self, note: events.ForgetItems) -> None:
        self.topics[note.topic] = events.NoteTopic(note.topic, note.safe, note.sent, note.holder)
        items = self.items.values()
        old = [one for one in items if one.topic == note.topic and one.sequence <= note.sequence]
        for item in old:
            del self.items[item.sequence]

    def _name(self, topic: str) -> None:
        for number, one in self.items.items():
            if not one.topic:
                self.items[number] = events.KeepItem(number, topic, one.time, one.payload)


class SimClient(Process):
    """A mobile node."""

    def __init__(self, world: MobileCluster, number: int, gateways: Iterable[str]) -> None:
        Process.__init__(self, f"car-{number}")
        self.world = world
        self.run = RUN.format(number)
        self.gateways = tuple(gateways)
        self.notes = ClientNotes()
        self.notes.connection = CLOCK
        self.published: dict[str, list[bytes]] = {}
        self.got: list[tuple[str, int, bytes]] = []
        """Messages that were handled, with their mailbox and number."""
        self.forgot = 0
        """How often it has lost its memory."""
        self.moved: list[events.Moved] = []
        self.core: ClientCore | None = None
        self._links: dict[int, int] = {}
        """The world's number of each link of this life."""
        self._due = float("inf")

    # -- its life ----------------------------------------------------------------------------------

    def start(self) -> None:
        """Start it; what it has noted goes on."""
        self.life += 1
        self.alive, self._links, self._due = True, {}, float("inf")
        self.core = ClientCore(
            Identity(self.name, self.run, "token"),
            self.gateways,
            Limits(500, 1 << 20, drop_oldest=False),
            self.world.random,
            connection=self.notes.connection,
            patience=Patience(dial_s=2.0, welcome_s=2.0),
            inbox=Inbox(self.notes.marks),
        )
        items = sorted(self.notes.items.values(), key=lambda one: one.sequence)
        self.core.buffer.restore(self.notes.topics.values(), items)
        self._perform(self.core.start(self.world.now))

    def kill(self) -> None:
        """``kill -9``; its links are cut."""
        self.alive = self.stopped = False
        self.core = None
        self.notes.crash()
        for link in self._links.values():
            self.world.cut_link(link)

    def forget(self) -> None:
        """It dies, and what it has noted is gone; its clock may be put back.

        What it had published is lost with it, so it does so only when all of that is safe.
        """
        if self.core is None or self.core.buffer.items:
            return
        self.kill()
        self.forgot += 1
        self.run = f"{self.forgot:014x}{self.run[-2:]}"
        newest, self.notes = self.notes.connection, ClientNotes()
        self.notes.connection = self.world.random.choice([0, newest, newest + CLOCK])

    # -- events ------------------------------------------------------------------------------------

    def publish(self, topic: str, payload: bytes) -> None:
        """The application publishes an item, if there is room."""
        if self.core is None or self.stopped or not self.core.buffer.has_room(len(payload)):
            return
        self.published.setdefault(topic, []).append(payload)
        self.tell(events.Publish(topic, int(self.world.wall * 1e6), payload))
        self.tell(events.Tick())

    def tell(self, event: Any) -> None:
        """Something happens to it."""
        if self.core is not None:
            self._perform(self.core.handle(event, self.world.now))

    def _perform(self, actions: list[Any]) -> None:
        for action in actions:
            match action:
                case events.Dial(link, address, timeout_s):
                    self.world.dial(self, link, address, timeout_s)
                case events.Send(link, frame):
                    self.world.send_up(self._links[link], frame)
                case events.Drop(link):
                    if link in self._links:
                        self.world.cut_link(self._links.pop(link))
                case events.Deliver(message):
                    self.got.append((message.mailbox, message.number, message.payload))
                    self.tell(events.Handled(message.mailbox, message.number))
                case events.Moved():
                    self.moved.append(action)
                case events.Broken(reason):
                    raise Violation(reason)
                case _ if isinstance(action, NOTES):
                    self.notes.note(action)
        self._arm()

    def _arm(self) -> None:
        assert self.core is not None
        due = self.core.deadline()
        if due < self._due:
            self._due = due
            self.world.time.at(max(due, self.world.now + 0.001), self._on_time, self)

    def _on_time(self) -> None:
        self._due = float("inf")
        self.tell(events.Tick())

    # -- links -------------------------------------------------------------------------------------

    def on_linked(self, link: int, number: int) -> None:
        """A link that it dialled is up."""
        self._links[link] = number
        self.tell(events.Linked(link))

    def on_unlinked(self, link: int, reason: str, *, retry: bool = True, said: bool) -> None:
        """A link is over, or was never made."""
        self._links.pop(link, None)
        self.tell(events.Unlinked(link, reason, retry, said))
