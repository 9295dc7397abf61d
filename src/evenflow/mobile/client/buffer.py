"""Items until they are safe: their numbers, who may have accepted them, and the bound.

An item gets its number when it is first sent. Until then nobody else knows of it, so it can be
dropped without a gap in the numbers. From then on it is *unsettled*: the gateway that it was sent
to may have accepted it. Items of a topic are sent in order and to one gateway at a time, so a topic
needs three numbers and a name to know all of it::

              safe              wired               sent
    ──────────┼─────────────────┼───────────────────┼──────────────────►
      forgotten  sent by the      sent to `holder`    waiting, unnumbered
                 link in use      by a former link

Everything up to ``safe`` is accepted. What lies between ``safe`` and ``sent`` was sent to
``holder`` and to nobody else; it is sent again only to that gateway, or when that gateway has said
how far it accepted (rule 3 of ``docs/mobile.md``). A topic whose holder is not the gateway at hand
is *held up* until then.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field
from itertools import islice
from typing import TYPE_CHECKING, Final, NamedTuple

from evenflow.mobile.client.events import (
    DropItem,
    ForgetItems,
    KeepItem,
    NameTopic,
    Note,
    NoteTopic,
)
from evenflow.mobile.link.frames import MOST_FRAME, MOST_ITEMS, Items

if TYPE_CHECKING:
    from collections.abc import Container, Iterable, Iterator, Mapping

ITEM_BYTES: Final = 128
"""What an item counts beside its payload."""
FRAME_BYTES: Final = 1 << 17
"""Payload after which a frame is full."""
MOST_PAYLOAD: Final = MOST_FRAME - 4_096
"""Bytes of the largest payload with its headers: it must fit into a frame."""


class Contradiction(Exception):
    """A gateway has accepted items that were never sent: this is not the run it knows."""


class Kept(NamedTuple):
    """An item that is kept."""

    sequence: int
    time: int
    payload: bytes
    headers: bytes = b""

    @property
    def size(self) -> int:
        """What it counts against the bound."""
        return len(self.payload) + len(self.headers) + ITEM_BYTES


@dataclass(slots=True)
class TopicQueue:
    """The items of one topic."""

    topic: str
    safe: int = 0
    sent: int = 0
    holder: str = ""
    """The gateway that the unsettled items were sent to."""
    wired: int = 0
    unsettled: deque[Kept] = field(default_factory=deque)
    waiting: deque[Kept] = field(default_factory=deque)

    def held_up(self, gateway: str) -> bool:
        """Whether nothing may be sent to this gateway."""
        return bool(self.unsettled) and self.holder != gateway

    def note(self) -> NoteTopic:
        """Return the state, for the disk."""
        return NoteTopic(self.topic, self.safe, self.sent, self.holder)


class Limits(NamedTuple):
    """How much is kept."""

    items: int
    size: int
    drop_oldest: bool


class Buffer:
    """All items of a node that are not safe."""

    def __init__(self, limits: Limits) -> None:
        self.limits = limits
        self.topics: dict[str, TopicQueue] = {}
        self.items = self.size = 0
        self.published = self.dropped = self.accepted = 0
        self.default = ""
        """The topic of items that name none, once a gateway has told it."""
        self._sequence = 0
        self._wired_size = 0

    # -- from the application ----------------------------------------------------------------------

    def has_room(self, size: int) -> bool:
        """Whether an item of this size can be kept; always, if old ones are dropped for it."""
        return self.limits.drop_oldest or not self._full(size + ITEM_BYTES)

    def add(self, topic: str, time: int, payload: bytes, headers: bytes = b"") -> list[Note]:
        """Keep an item."""
        self.published += 1
        self._sequence += 1
        kept = Kept(self._sequence, time, payload, headers)
        queue = self._queue(topic or self.default)
        queue.waiting.append(kept)
        self.items += 1
        self.size += kept.size
        notes: list[Note] = [KeepItem(kept.sequence, queue.topic, time, payload, headers)]
        while self.limits.drop_oldest and self._full(0):
            dropped = self._drop_oldest()
            if dropped is None:
                break
            if dropped.sequence == kept.sequence:
                return notes[1:]
            notes.append(DropItem(dropped.sequence))
        return notes

    def _full(self, more: int) -> bool:
        if not self.items:
            return False
        items = self.items + (more > 0)
        return items > self.limits.items or self.size + more > self.limits.size

    def _drop_oldest(self) -> Kept | None:
        """Drop the oldest item that was never sent; what was sent may be accepted already."""
        queues = [queue for queue in self.topics.values() if queue.waiting]
        if not queues:
            return None
        oldest = min(queues, key=lambda queue: queue.waiting[0].sequence).waiting.popleft()
        self._gone(oldest)
        self.dropped += 1
        return oldest

    # -- from gateways -----------------------------------------------------------------------------

    def attach(self, gateway: str, accepted: Mapping[str, int], default: str) -> list[Note]:
        """Send by a new link from now on, of a gateway that has accepted so much.

        Raises:
            Contradiction: It accepted what was never sent.
        """
        notes = self._name(default)
        for topic, number in accepted.items():
            if number > self._known(topic).sent:
                raise Contradiction(topic, number, self._known(topic).sent)
        self._wired_size = 0
        for queue in self.topics.values():
            queue.wired = queue.safe
            if queue.holder == gateway:
                notes += self._settle(queue, accepted.get(queue.topic, 0))
        return notes

    def on_safe(self, gateway: str, topic: str, number: int) -> list[Note]:
        """A gateway has accepted the items of a topic up to a number.

        Raises:
            Contradiction: It accepted what was never sent.
        """
        queue = self._known(topic)
        if number > queue.sent:
            raise Contradiction(topic, number, queue.sent)
        if queue.holder != gateway:
            return []  # settled already, by the answer to a question
        return self._settle(queue, number)

    def on_settled(self, gateway: str, topic: str, number: int) -> list[Note]:
        """A former gateway has accepted up to a number, and will accept no more.

        What it has not accepted waits again, and will have new numbers: no number is ever used
        for two items, so a gateway that was given up and still comes back is no danger.

        Raises:
            Contradiction: It accepted what was never sent.
        """
        notes = self.on_safe(gateway, topic, number)
        queue = self._known(topic)
        if queue.holder == gateway and queue.unsettled:
            queue.waiting.extendleft(reversed(queue.unsettled))
            queue.unsettled.clear()
            queue.safe = queue.wired = queue.sent
            queue.holder = ""
            notes.append(queue.note())
        return notes

    def _settle(self, queue: TopicQueue, number: int) -> list[Note]:
        """Forget what is safe."""
        last = None
        for _ in range(number - queue.safe):
            last = queue.unsettled.popleft()
            queue.safe += 1
            self._gone(last)
            self.accepted += 1
            if queue.safe <= queue.wired:
                self._wired_size -= last.size
        queue.wired = max(queue.wired, queue.safe)
        if last is None:
            return []
        if not queue.unsettled:
            queue.holder = ""
        return [ForgetItems(queue.topic, last.sequence, queue.safe, queue.sent, queue.holder)]

    def _gone(self, item: Kept) -> None:
        self.items -= 1
        self.size -= item.size

    def _name(self, default: str) -> list[Note]:
        """From now on items that name no topic belong to this one; also those that wait."""
        self.default = default
        nameless = self.topics.pop("", None)
        if nameless is None or not default:
            if nameless is not None:
                self.topics[""] = nameless
            return []
        queue = self._queue(default)
        queue.waiting = deque(sorted((*queue.waiting, *nameless.waiting)))
        return [NameTopic(default)]

    # -- to a gateway ------------------------------------------------------------------------------

    def take(
        self, gateway: str, window: int, allowed: Container[str]
    ) -> Iterator[tuple[Items, NoteTopic | None]]:
        """Yield what is to be sent to a gateway now, with what must be noted before."""
        for queue in self.topics.values():
            nothing = not queue.waiting and queue.wired == queue.sent
            if nothing or queue.topic not in allowed or queue.held_up(gateway):
                continue
            while items := list(self._next_of(queue, window)):
                yield self._frame(queue, items, gateway)

    def _next_of(self, queue: TopicQueue, window: int) -> Iterator[Kept]:
        """The next items of one frame: again by this link what a former one sent, then new ones."""
        again = islice(queue.unsettled, queue.wired - queue.safe, None)
        total = 0
        for count, item in enumerate(_chain(again, queue.waiting)):
            full = count == MOST_ITEMS or (count and total + item.size > FRAME_BYTES)
            ahead = self._wired_size + total
            if full or (ahead and ahead + item.size > window):
                return
            total += item.size
            yield item

    def _frame(
        self, queue: TopicQueue, items: list[Kept], gateway: str
    ) -> tuple[Items, NoteTopic | None]:
        first = queue.wired + 1
        queue.wired += len(items)
        self._wired_size += sum(item.size for item in items)
        note = None
        for _ in range(queue.wired - queue.sent):
            queue.unsettled.append(queue.waiting.popleft())
        if queue.wired > queue.sent:
            queue.sent, queue.holder = queue.wired, gateway
            note = queue.note()
        times, payloads = (item.time for item in items), (item.payload for item in items)
        headers = (item.headers for item in items) if any(one.headers for one in items) else ()
        return Items(queue.topic, first, tuple(times), tuple(payloads), tuple(headers)), note

    # -- who has what ------------------------------------------------------------------------------

    def unsettled_at(self, gateway: str) -> int:
        """Items that this gateway may have accepted."""
        return sum(len(one.unsettled) for one in self.topics.values() if one.holder == gateway)

    def held_up(self, gateway: str) -> Iterator[TopicQueue]:
        """Topics of which nothing may be sent to this gateway before their holder has spoken."""
        return (queue for queue in self.topics.values() if queue.held_up(gateway))

    @property
    def unsettled(self) -> int:
        """Items that some gateway may have accepted."""
        return sum(len(queue.unsettled) for queue in self.topics.values())

    # -- after a restart ---------------------------------------------------------------------------

    def restore(
        self, topics: Iterable[NoteTopic], items: Iterable[KeepItem], default: str = ""
    ) -> None:
        """Take over what a disk has kept; items in the order of their sequence."""
        self.default = default
        for note in topics:
            self.topics[note.topic] = TopicQueue(
                note.topic, note.safe, note.sent, note.holder, note.safe
            )
        for item in items:
            queue = self._queue(item.topic)
            kept = Kept(item.sequence, item.time, item.payload, item.headers)
            unsettled = len(queue.unsettled) < queue.sent - queue.safe
            (queue.unsettled if unsettled else queue.waiting).append(kept)
            self.items += 1
            self.size += kept.size
            self._sequence = item.sequence
        for queue in self.topics.values():
            if len(queue.unsettled) != queue.sent - queue.safe:
                raise Contradiction(queue.topic, queue.sent, queue.safe + len(queue.unsettled))

    def _queue(self, topic: str) -> TopicQueue:
        queue = self.topics.get(topic)
        if queue is None:
            queue = self.topics[topic] = TopicQueue(topic)
        return queue

    def _known(self, topic: str) -> TopicQueue:
        return self.topics.get(topic) or TopicQueue(topic)


def _chain(again: Iterator[Kept], new: deque[Kept]) -> Iterator[Kept]:
    yield from again
    yield from new
