"""How a node puts items aside: it publishes them, by way of an outbox, as items of ``TOPIC.dead``.

A letter is on disk before its item counts as committed. From there it reaches the nodes that serve
``TOPIC.dead``, and it is kept until somebody has replayed or dropped it, who is registered from the
start under the name `DEAD`. Nothing of that needs the node that wrote it to live on; only what had
not left its disk waits until a node is started on that folder again.

The outboxes of one topic and host lie in one folder, numbered. A node takes the first that no other
process uses, so the next node that is started goes on with what a dead one left. One with another
number of slices is passed over, and that is logged.
"""

from __future__ import annotations

import logging
import time
from typing import TYPE_CHECKING, Final

from evenflow.errors import DeliveryTimeout, OutboxRefused, StorageError
from evenflow.slices.dead_letters.letter import encode_letter, letter_of
from evenflow.slices.publisher.publisher import Publisher

if TYPE_CHECKING:
    from evenflow.config import Config, TopicConfig
    from evenflow.domain.cyclone import Participant
    from evenflow.model.batch import Batch

MOST_OUTBOXES: Final = 1_000
"""Nodes of one topic on one host that can put items aside at the same time."""

_LOG = logging.getLogger(__name__)


class DeadLetterOffice:
    """Puts aside what the application of one node cannot process.

    Args:
        topic: The topic of the items.
        node: The node.
        config: The configuration.
        participant: Of the node.

    Raises:
        StorageError: No outbox can be opened.
    """

    def __init__(
        self, topic: TopicConfig, node: str, config: Config, participant: Participant
    ) -> None:
        self._topic = topic
        self._node = str(node)
        self._within_s = config.publisher.block_s
        self._publisher = _open(topic, config, participant)
        self._unit = self._publisher.newest_unit

    def put_aside(self, batch: Batch, error: Exception, tries: int) -> None:
        """Put one item aside; it is on disk when this returns.

        Raises:
            PublishTimeout: There was no room in time: nobody replays or drops what is there.
            StorageError: It cannot be written.
        """
        at = time.time_ns() // 1_000
        letter = letter_of(self._topic.name, batch, error, tries=tries, node=self._node, at=at)
        self._publisher.publish_unit(
            self._unit + 1,
            [encode_letter(letter)],
            senders=[letter.sender],
            ids=[letter.id],
            times=[letter.time],
            headers=letter.told(),
        )
        self._unit += 1
        if not self._publisher.wait_for_unit(self._unit, self._within_s):
            raise StorageError(self._topic.dead_name, f"not on disk within {self._within_s:g} s")
        _LOG.error(
            "item %d of slice %d (writer %s) is put aside in %s: %s",
            letter.number,
            letter.slice,
            letter.writer,
            self._topic.dead_name,
            letter.error,
        )

    def close(self) -> None:
        """Leave; what nobody has replayed or dropped stays on disk."""
        try:
            self._publisher.close(0.0)
        except DeliveryTimeout:
            pass
        except StorageError as error:
            # What found no room was never said to be put aside: its item is not committed.
            _LOG.error("%s: %s", self._topic.dead_name, error)


def _open(topic: TopicConfig, config: Config, participant: Participant) -> Publisher:
    folder = config.dead_folder / topic.name
    for number in range(MOST_OUTBOXES):
        outbox = folder / f"outbox-{number}"
        try:
            return Publisher(topic.dead_name, config=config, participant=participant, outbox=outbox)
        except OutboxRefused as error:
            if not error.in_use:
                _LOG.error("dead letters that may wait there are not sent: %s", error)
            if number + 1 == MOST_OUTBOXES:
                raise
    raise AssertionError("an outbox is opened or refused")
