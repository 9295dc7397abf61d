"""Where replies leave a node: to the publishers of the items, or to mobile nodes by a mailbox.

*To publishers.* One DDS writer for each that is answered. A publisher that does not listen has no
reader; its replies are counted and dropped. A writer is new when its publisher is answered for the
first time: then its reader is waited for, once and not for long.

*To mobile nodes.* The item's sender is the node's name. A messenger takes the replies; it returns
when a mailbox has them on its disk, so they are safe before the items are committed.
"""

from __future__ import annotations

import time
from contextlib import suppress
from typing import TYPE_CHECKING, Final, Protocol

from evenflow.domain.channels import ITEM_REPLIES, writer_partition
from evenflow.errors import ClosedError, UsageError
from evenflow.slices.node.application.replies import answers, messages_of

if TYPE_CHECKING:
    from collections.abc import Iterable

    from evenflow.domain.cyclone import Writer
    from evenflow.model.batch import Batch
    from evenflow.slices.control_writers import ControlWriters

MEET_S: Final = 0.5
"""How long the reader of a publisher that is answered for the first time is waited for."""
MOST_MET: Final = 10_000
"""Publishers remembered as met; one that is forgotten is waited for once more."""


class SendsMany(Protocol):
    """What sends messages to mobile nodes: ``evenflow.mobile.Messenger``."""

    def send_many(self, messages: Iterable[tuple[str, bytes]], /) -> int:
        """Send a message to each node; return when all are safe."""


class Replying:
    """Sends the replies of one node's application. Used by one thread.

    Args:
        topic: The topic.
        node: The node's id.
        writers: Where writers are opened, and closed when their publisher is gone.
        messenger: Takes replies to mobile nodes; None: replies go to the publishers.
    """

    def __init__(
        self, topic: str, node: str, writers: ControlWriters, messenger: SendsMany | None = None
    ) -> None:
        self.replied = 0
        """Replies that were sent."""
        self.unheard = 0
        """Replies that nobody listens to, or for which there was no room."""
        self._topic, self._node = topic, node
        self._writers = writers
        self._messenger = messenger
        self._met: dict[int, None] = {}
        """Publishers whose readers were waited for."""

    def send(self, batch: Batch, rows: int) -> None:
        """Send what was answered to the first rows of a batch.

        Raises:
            UsageError: A reply cannot be sent so.
        """
        made = answers(batch, rows)
        if not made:
            return
        if self._messenger is not None:
            if any(one.headers for one in made):
                raise UsageError(
                    "a reply to a mobile node has no headers (topics.NAME.replies is 'mobile'):"
                    " put what they say into its payload"
                )
            sent = [(one.item.sender, one.payload) for one in made]
            self.replied += self._messenger.send_many(sent)
            return
        writer = self._writers.prepare(ITEM_REPLIES, writer_partition(batch.writer))
        with suppress(ClosedError):  # the publisher has just gone
            self._meet(batch.writer, writer)
        for message in messages_of(self._topic, self._node, batch, made):
            count = len(message.numbers)
            heard = False
            with suppress(ClosedError):
                heard = writer.matched() > 0 and writer.write(message)
            self.replied += count if heard else 0
            self.unheard += 0 if heard else count

    def _meet(self, publisher: int, writer: Writer) -> None:
        """Wait for the reader of a publisher that is answered for the first time."""
        if publisher in self._met:
            return
        self._met[publisher] = None
        while len(self._met) > MOST_MET:
            del self._met[next(iter(self._met))]
        deadline = time.monotonic() + MEET_S
        while not writer.matched() and time.monotonic() < deadline:
            time.sleep(0.001)
