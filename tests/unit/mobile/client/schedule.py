"""A client's core among model gateways, in virtual time, with everything that can go wrong.

Links lose their ends at different times: frames that were on their way still arrive at a gateway
after the client has given the link up. Gateways crash, come back, and drain. Questions and notices
between gateways take their time. The client is killed, and goes on from what was noted.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field, replace
from itertools import accumulate
from random import Random
from typing import TYPE_CHECKING, Any

from tests.unit.mobile.client.model_gateway import TOPICS, ModelGateway, World

from evenflow.mobile.client.buffer import Limits
from evenflow.mobile.client.connections import Identity
from evenflow.mobile.client.core import ClientCore
from evenflow.mobile.client.events import (
    LATE,
    Arrived,
    Broken,
    Deliver,
    Dial,
    Drop,
    DropItem,
    ForgetItems,
    Handled,
    KeepItem,
    Linked,
    Moved,
    NameTopic,
    NoteConnection,
    NoteMark,
    NoteTopic,
    Publish,
    Send,
    Tick,
    Unlinked,
)
from evenflow.mobile.client.inbox import Inbox
from evenflow.mobile.link.frames import Handover, Hello, Message, Settled

if TYPE_CHECKING:
    from evenflow.mobile.client.events import Action, Note
    from evenflow.mobile.link.frames import FromGateway, FromNode

RUN = "0123456789abcdef"
MAILBOXES = ("box-1", "box-2")


@dataclass
class Link:
    """A link between the client and a gateway: two queues, and who still believes in it."""

    gateway: ModelGateway
    up: deque[FromNode] = field(default_factory=deque)
    down: deque[FromGateway | str] = field(default_factory=deque)
    """A text is the end of it, and why."""
    made: bool = False
    client: bool = True
    cut: bool = False

    @property
    def is_over(self) -> bool:
        """Whether the client has left it, and nothing is on its way."""
        return self.made and not (self.client or self.up or self.down)


class Disk:
    """What was noted: all of it up to a point that includes everything that may not be late."""

    def __init__(self) -> None:
        self.items: dict[int, KeepItem] = {}
        self.topics: dict[str, NoteTopic] = {}
        self.marks: dict[str, int] = {}
        self.connection = 0
        self.unsynced: list[Note] = []

    def note(self, note: Note) -> None:
        self.unsynced.append(note)
        if not isinstance(note, LATE):
            self.sync()

    def sync(self) -> None:
        for note in self.unsynced:
            self._apply(note)
        self.unsynced.clear()

    def _apply(self, note: Note) -> None:
        match note:
            case KeepItem():
                self.items[note.sequence] = note
            case DropItem(sequence):
                del self.items[sequence]
            case NoteTopic(topic):
                self.topics[topic] = note
            case ForgetItems(topic, sequence, safe, sent, holder):
                self.topics[topic] = NoteTopic(topic, safe, sent, holder)
                kept = self.items.items()
                old = {n for n, one in kept if one.topic == topic and n <= sequence}
                self.items = {n: one for n, one in kept if n not in old}
            case NameTopic(topic):
                kept = self.items.items()
                self.items = {n: replace(one, topic=one.topic or topic) for n, one in kept}
            case NoteConnection(number):
                self.connection = number
            case NoteMark(mailbox, number):
                self.marks[mailbox] = number


class Schedule(World):
    """One client, three gateways, and chance."""

    def __init__(self, seed: int, *, drop_oldest: bool = False, items: int = 200) -> None:
        self.random = Random(seed)
        self.now = 0.0
        self.gateways = {
            name: ModelGateway(name, self.random, self) for name in ("north", "south", "west")
        }
        self.limits = Limits(items, 1 << 20, drop_oldest)
        self.links: dict[int, Link] = {}
        self.disk = Disk()
        self.published: dict[str, list[bytes]] = {topic: [] for topic in TOPICS}
        self.taken: dict[str, list[tuple[str, bytes]]] = {topic: [] for topic in TOPICS}
        """Topic: who accepted what, in order."""
        self.questions: list[tuple[str, Hello, str, str]] = []
        self.notices: list[tuple[str, int]] = []
        self.held: dict[str, list[Message]] = {name: [] for name in MAILBOXES}
        self.in_hand: deque[Message] = deque()
        self.sent: dict[str, list[int]] = {name: [] for name in MAILBOXES}
        self.sent_most: dict[str, int] = {}
        self.handled: dict[str, list[int]] = {name: [] for name in MAILBOXES}
        self.orders = 0
        self.moved: list[Moved] = []
        self.calm = False
        self.client = self._client(10)
        self.perform(self.client.start(self.now))

    def _client(self, connection: int) -> ClientCore:
        return ClientCore(
            Identity("car-7", RUN, "token"),
            [gateway.address for gateway in self.gateways.values()],
            self.limits,
            self.random,
            connection=connection,
            inbox=Inbox(self.disk.marks),
        )

    # -- the client's world ------------------------------------------------------------------------

    def tell(self, event: Any) -> None:
        self.perform(self.client.handle(event, self.now))
        buffer = self.client.buffer
        if isinstance(event, Publish):
            assert buffer.items <= self.limits.items
        assert buffer.items == sum(
            len(one.unsettled) + len(one.waiting) for one in buffer.topics.values()
        )

    def perform(self, actions: list[Action]) -> None:
        for action in actions:
            match action:
                case Dial(number, address):
                    found = next(g for g in self.gateways.values() if g.address == address)
                    self.links[number] = Link(found)
                case Send(number, frame):
                    link = self.links[number]
                    assert link.client, "sent by a link that was dropped"
                    if not link.cut:
                        link.up.append(frame)
                case Drop(number):
                    self.links[number].client = False
                case Deliver(message):
                    self.in_hand.append(message)
                case Moved():
                    self.moved.append(action)
                case Broken(reason):
                    raise AssertionError(reason)
                case _ if isinstance(action, NOTES):
                    self.disk.note(action)

    # -- the gateways' world -----------------------------------------------------------------------

    def reply(self, link: int, frame: FromGateway) -> None:
        if not self.links[link].cut:
            self.links[link].down.append(frame)

    def hang_up(self, link: int) -> None:
        self.links[link].down.append("hung up")

    def accepted(self, gateway: str, topic: str, payload: bytes) -> None:
        self.taken[topic].append((gateway, payload))

    def ask(self, asker: ModelGateway, hello: Hello, gateway: str, topic: str) -> None:
        self.questions.append((asker.name, hello, gateway, topic))

    def on_attached(self, gateway: ModelGateway, hello: Hello) -> None:
        others = [name for name in self.gateways if name != gateway.name]
        self.notices += [(name, hello.connection) for name in others]

    def on_received(self, mailbox: str, number: int) -> None:
        if self.random.random() < 0.2:
            return  # the mailbox does not hear of it
        self.held[mailbox] = [one for one in self.held[mailbox] if one.number > number]

    # -- what can happen ---------------------------------------------------------------------------

    def step(self) -> None:
        """Let one thing happen."""
        happenings, shares = CALM if self.calm else ANYTHING
        getattr(self, self.random.choices(happenings, cum_weights=shares)[0])()

    def publish(self) -> None:
        topic = self.random.choice((*TOPICS, ""))
        size = self.random.choice((20, 20, 20, 2_000))
        if not self.client.buffer.has_room(size):
            return
        filed = self.published[topic or TOPICS[0]]
        payload = f"{topic}{len(filed)}".encode().ljust(size)
        filed.append(payload)
        self.tell(Publish(topic, 0, payload))
        if self.random.random() < 0.7:
            self.tell(Tick())

    def pass_time(self) -> None:
        due = self.client.deadline()
        step = self.random.choice((0.01, 0.1, 1.0))
        self.now = min(due, self.now + step) if due > self.now else self.now + 0.001
        if due <= self.now:
            self.tell(Tick())

    def carry_up(self) -> None:
        links = [(n, one) for n, one in self.links.items() if one.up or not one.made]
        if not links:
            return
        number, link = self.random.choice(links)
        if not link.gateway.up or (link.cut and not link.made):
            link.up.clear()
            self._lost(number, link)
        elif not link.made:
            link.made = True
            if link.client:
                self.tell(Linked(number))
        else:
            frame = link.up.popleft()
            if number in link.gateway.attached or isinstance(frame, Hello):
                link.gateway.on_frame(number, frame)

    def carry_down(self) -> None:
        links = [(n, one) for n, one in self.links.items() if one.down]
        if not links:
            return
        number, link = self.random.choice(links)
        frame = link.down.popleft()
        if isinstance(frame, str):
            self._lost(number, link)
        elif link.client:
            self.tell(Arrived(number, frame))

    def _lost(self, number: int, link: Link) -> None:
        if link.client:
            link.client = False
            link.made = True
            self.tell(Unlinked(number, "lost", said=self.random.random() < 0.3))

    def notice_loss(self) -> None:
        """The client, or the gateway, sees that a link is dead or was dropped."""
        self.links = {
            number: link
            for number, link in self.links.items()
            if not link.is_over or number in link.gateway.attached
        }
        for number, link in self.links.items():
            dead = link.cut or not link.gateway.up
            if dead and link.client and self.random.random() < 0.5:
                link.down.clear()
                self._lost(number, link)
                return
            gone = (link.cut or not link.client) and not link.up
            if gone and number in link.gateway.attached and self.random.random() < 0.5:
                if self.random.random() < 0.5:
                    link.gateway.accept(number)
                del link.gateway.attached[number]
                return

    def cut_link(self) -> None:
        live = [one for one in self.links.values() if one.client]
        if live:
            link = self.random.choice(live)
            link.cut = True
            if self.random.random() < 0.5:
                link.up.clear()
            link.down.clear()

    def accept(self) -> None:
        pairs = [
            (gateway, link)
            for gateway in self.gateways.values()
            for link, session in gateway.attached.items()
            if session.pending
        ]
        if pairs:
            gateway, link = self.random.choice(pairs)
            gateway.accept(link)

    def answer(self) -> None:
        """A question reaches the gateway it is about, and the answer the one that asked."""
        if not self.questions:
            return
        question = self.random.choice(self.questions)
        asker, hello, gateway, topic = question
        asked = self.gateways[gateway]
        if not asked.up:
            return
        self.questions.remove(question)
        asked.fence_off(hello.connection)
        number = asked.marks.get((hello.run, topic), 0)
        link = self.gateways[asker].session_of(hello.connection)
        if link is not None and self.gateways[asker].up:
            self.reply(link, Settled(gateway, topic, number))

    def notice(self) -> None:
        """A gateway hears that a node is attached elsewhere."""
        if self.notices:
            name, connection = self.notices.pop(self.random.randrange(len(self.notices)))
            if self.gateways[name].up:
                self.gateways[name].fence_off(connection)

    def crash(self) -> None:
        gateway = self.random.choice(list(self.gateways.values()))
        if gateway.up:
            gateway.crash()
            for link in self.links.values():
                if link.gateway is gateway:
                    link.cut = True
                    link.up.clear()

    def restart(self) -> None:
        gateway = self.random.choice(list(self.gateways.values()))
        gateway.up, gateway.draining = True, self.random.random() < 0.2

    def order(self) -> None:
        """The gateway that the node is attached to tells it to go elsewhere."""
        for gateway in self.gateways.values():
            for link in gateway.attached:
                others = [one.address for one in self.gateways.values()]
                self.random.shuffle(others)
                self.orders += 1
                break_first = self.random.random() < 0.4
                targets = tuple(others[: self.random.randint(1, 3)])
                self.reply(link, Handover(str(self.orders), targets, 5.0, not break_first))
                return

    def send(self) -> None:
        """A mailbox has another message, or sends again what is not had."""
        mailbox = self.random.choice(MAILBOXES)
        held = self.held[mailbox]
        if self.random.random() < 0.4 and not self.calm:
            number = self.sent_most.get(mailbox, 0) + self.random.randint(1, 2)
            self.sent_most[mailbox] = number
            previous = held[-1].number if held else 0
            self.sent[mailbox].append(number)
            held.append(Message(mailbox, number, previous, "me", 0, "", b"x"))
        attached = [link for one in self.gateways.values() for link in one.attached]
        if held and attached:
            self.reply(self.random.choice(attached), self.random.choice(held))

    def handle(self) -> None:
        if self.in_hand:
            message = self.in_hand.popleft()
            self.handled[message.mailbox].append(message.number)
            self.tell(Handled(message.mailbox, message.number))

    def kill(self) -> None:
        """Kill the client; go on from its disk."""
        for link in self.links.values():
            link.client = False
            link.made = True
            if self.random.random() < 0.5:
                link.up.clear()
            link.down.clear()
        if self.random.random() < 0.5:
            self.disk.sync()
        self.disk.unsynced.clear()
        self.in_hand.clear()
        before = self.client
        self.client = self._client(self.disk.connection)
        self.client._attaching.dials = before._attaching.dials
        items = sorted(self.disk.items.values(), key=lambda one: one.sequence)
        self.client.buffer.restore(self.disk.topics.values(), items)
        self.perform(self.client.start(self.now))

    # -- the end -----------------------------------------------------------------------------------

    def heal(self, steps: int = 20_000) -> None:
        """Let nothing more go wrong until everything is where it belongs."""
        self.calm = True
        for gateway in self.gateways.values():
            gateway.up, gateway.draining = True, False
        for _ in range(steps):
            if not self.client.buffer.items and not any(self.held.values()) and not self.in_hand:
                return
            self.step()
        raise AssertionError(f"not through: {self.client.buffer.topics}, {self.held}")


NOTES = (KeepItem, DropItem, NoteTopic, ForgetItems, NameTopic, NoteConnection, NoteMark)
QUIET = {
    "pass_time": 10,
    "carry_up": 30,
    "carry_down": 30,
    "notice_loss": 10,
    "accept": 20,
    "answer": 10,
    "notice": 10,
    "send": 10,
    "handle": 10,
}
WEIGHTS = {
    **QUIET,
    "publish": 30,
    "cut_link": 2,
    "crash": 1,
    "restart": 3,
    "order": 2,
    "kill": 1,
}
CALM, ANYTHING = ((list(each), [*accumulate(each.values())]) for each in (QUIET, WEIGHTS))
"""What can happen, and the sums of the weights: made once, for steps are many."""
