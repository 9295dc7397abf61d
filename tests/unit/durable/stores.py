"""A store in memory, for those who test what is kept in one."""

from __future__ import annotations

from collections import Counter, defaultdict
from typing import TYPE_CHECKING, Any

from evenflow.errors import UnknownTopic
from evenflow.overlay.protocol.messages import Message

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator


class Store:
    """Topics, each with times of its own, in order, as the overlay store gives them."""

    def __init__(self, clock: int = 1_000_000_000_000) -> None:
        self.clock = clock
        self.stored: defaultdict[str, list[Message]] = defaultdict(list)
        self.reads: Counter[str] = Counter()
        """Messages that were read, by topic."""

    def publish(self, topic: str, payload: bytes, **_: Any) -> int:
        return self.publish_all(topic, [payload])

    def publish_all(self, topic: str, payloads: Iterable[bytes], **_: Any) -> int:
        for payload in payloads:
            self.clock += 1_000_000
            known = self.stored[topic]
            known.append(Message(self.clock, 1, len(known) + 1, payload))
        return len(self.stored[topic])

    def ensure(self, topic: str, **_: Any) -> None:
        self.stored[topic] = self.stored[topic]

    def now(self, topic: str, *, level: int = 2) -> int:
        if not level and topic not in self.stored:
            raise UnknownTopic(topic)
        self.ensure(topic)
        return self.stored[topic][-1].time + 1 if self.stored[topic] else 1

    def read(self, topic: str, start: int = 0, end: int | None = None) -> Iterator[Message]:
        if topic not in self.stored:
            raise UnknownTopic(topic)
        for message in self.stored[topic]:
            if start <= message.time and (end is None or message.time < end):
                self.reads[topic] += 1
                yield message

    def expire(self, before: int) -> None:
        for messages in self.stored.values():
            messages[:] = [message for message in messages if message.time >= before]
