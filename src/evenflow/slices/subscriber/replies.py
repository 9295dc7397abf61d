"""Replies: what the applications of nodes answer to the items of one publisher.

>>> with Publisher("items") as publisher, Replies(publisher) as replies:  # doctest: +SKIP
...     publisher.publish({"speed": 80}, sender="car-7", id=12)
...     print(next(replies))  # Reply(sender='car-7', id=12, payload=b'slow down', ...)

The application says ``batch.reply(row, payload)``; its node sends the replies to a batch when the
application is through with it, before it is committed. So a batch that is processed again is
answered again, by the same items. Items of a writer and slice are processed in the order of their
numbers, and so are their replies sent: what is not above the highest number that was answered has
been answered, and is dropped.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping
from contextlib import ExitStack
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, NamedTuple

from evenflow.domain.channels import ITEM_REPLIES, writer_partition
from evenflow.model.headers import view_headers
from evenflow.model.item_headers import NO_HEADERS
from evenflow.slices.subscriber.reception import Reception

if TYPE_CHECKING:
    from collections.abc import Iterator

    from evenflow.model.messages import ItemReplies
    from evenflow.slices.publisher.publisher import Publisher

MOST_WAITING: Final = 10_000
"""Replies that wait for the program; then the oldest are dropped."""


class Reply(NamedTuple):
    """What an application answers to one item."""

    sender: str
    """The item's sender."""
    id: int
    """The item's own id."""
    payload: bytes
    slice: int
    number: int
    """The item's number at its writer and slice."""
    node: str
    """The node that has processed it."""
    headers: Mapping[str, bytes] = NO_HEADERS


@dataclass(frozen=True, slots=True)
class RepliesStats:
    """What has come of replies."""

    received: int
    """Replies that came, each counted once."""
    repeated: int
    """Replies that came again, because their items were processed again."""
    dropped: int
    """Replies that were dropped because the program did not fetch them."""
    damaged: int
    """Messages that made no sense."""


class AnsweredItems:
    """Which items have been answered: each is once, however often it is processed."""

    def __init__(self) -> None:
        self.repeated = 0
        """Replies to items that had been answered."""
        self._answered: dict[tuple[int, int], int] = {}
        """For each writer and slice, the highest number."""

    def news(self, message: ItemReplies) -> Iterator[Reply]:
        """Those of a node's replies that are to items not yet answered."""
        columns = (message.numbers, message.senders, message.ids, message.lengths)
        key = (message.writer, message.slice)
        before, start = self._answered.get(key, 0), 0
        headers = dict(view_headers(message.headers).maps()) if message.headers else {}
        for row, (number, sender, item_id, length) in enumerate(zip(*columns, strict=True)):
            payload = bytes(message.payloads[start : start + length])
            start += length
            if number <= before:
                self.repeated += 1
                continue
            self._answered[key] = max(number, self._answered.get(key, 0))
            place = message.slice, number, message.node
            yield Reply(sender, item_id, payload, *place, headers.get(row, {}))


class Replies(Reception[Reply]):
    """The replies to what a publisher publishes from now on; close it before the publisher.

    Args:
        publisher: The publisher.
    """

    def __init__(self, publisher: Publisher) -> None:
        super().__init__(f"replies of topic {publisher.topic!r}", publisher.domain, own=False)
        self._publisher = publisher
        self._answered = AnsweredItems()
        self._waiting: deque[Reply] = deque()
        self._received = self._dropped = 0
        self._writer = 0
        with ExitStack() as opened:
            opened.callback(self.close)
            self._follow()
            self._start()
            opened.pop_all()

    @property
    def stats(self) -> RepliesStats:
        """What has come so far."""
        with self._arrived:
            damaged = sum(reader.damaged for reader in self._readers)
            return RepliesStats(self._received, self._answered.repeated, self._dropped, damaged)

    def _follow(self) -> None:
        """Listen under the id that the publisher has now; what is said to a former one counts."""
        writer = self._publisher.writer
        if writer != self._writer:
            self._writer = writer
            partition = [writer_partition(writer)]
            self._read(self._participant.reader(ITEM_REPLIES, partition))

    def _fetch(self) -> Reply | None:
        return self._waiting.popleft() if self._waiting else None

    def _take_in(self) -> bool:
        self._follow()
        before = self._received
        for reader in self._readers:
            for message in reader.take():
                for reply in self._answered.news(message):
                    self._received += 1
                    self._waiting.append(reply)
        while len(self._waiting) > MOST_WAITING:
            self._waiting.popleft()
            self._dropped += 1
        return self._received > before
