"""A worker of the overhead experiment: the same application behind a plain DDS reader or a node.

Run as a process of its own: ``python -m evenflow_experiments.slices.overhead_worker plain|node
CONFIG``.
"""

from __future__ import annotations

import os
import sys
import time
from typing import TYPE_CHECKING

from evenflow.config import Config
from evenflow.domain.channels import data, slice_partition
from evenflow.domain.cyclone import Participant
from evenflow.model.batch import Item, encode_item
from evenflow.slices.node.node import Node
from evenflow_experiments.slices.images import to_grayscale

if TYPE_CHECKING:
    from evenflow.domain.cyclone import Writer
    from evenflow.model.batch import Batch

PLAIN, BALANCED, REPLIES = "plain", "node", "replies"
CORE = 0
"""Both workers run on this core, the clients and the balancer on the others."""


class Application:
    """Converts images and tells the client that it did; knows nothing of what is around it."""

    def __init__(self, replies: Writer) -> None:
        self._replies = replies
        self._answered = 0

    def __call__(self, batch: Batch) -> None:
        """Process the images of a batch, one by one."""
        for item in batch:
            to_grayscale(item.payload)
            self._answered += 1
            reply = Item(item.sender, item.id, item.time, b"Processed")
            while not self._replies.write_encoded(encode_item(1, 0, 1, self._answered, reply)):
                time.sleep(0.001)


def serve_plain(config: Config, participant: Participant, application: Application) -> None:
    """What one writes without Evenflow: a reader, a loop, the application."""
    slices = config.topic(PLAIN).slices
    reader = participant.reader(data(PLAIN), [slice_partition(s) for s in range(slices)])
    waiter = participant.waiter()
    waiter.attach(reader)
    while True:
        waiter.wait(1.0)
        for batch in reader.take(256):
            application(batch)


def main() -> None:
    """Serve until killed."""
    kind, file = sys.argv[1:]
    os.sched_setaffinity(0, {CORE})
    config = Config.load(file)
    with Participant(config.domain) as participant:
        application = Application(participant.writer(data(REPLIES), slice_partition(0)))
        if kind == PLAIN:
            serve_plain(config, participant, application)
        with Node(
            BALANCED, application, name="node", config=config, participant=participant
        ) as node:
            node.wait()


if __name__ == "__main__":
    main()
