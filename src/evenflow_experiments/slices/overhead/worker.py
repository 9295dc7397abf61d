"""A worker of the overhead experiment: the same application behind a plain DDS reader or a node.

Run as a process of its own: ``python -m evenflow_experiments.slices.overhead.worker plain|node
CONFIG``. ``EVENFLOW_IMAGE_ROUNDS`` says how often an image is converted: a slower application.
"""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING

from evenflow.config import Config
from evenflow.domain.channels import data
from evenflow.domain.cyclone import Participant
from evenflow.slices.node.node import Node
from evenflow_experiments.slices.arrivals import ROUNDS_VARIABLE
from evenflow_experiments.slices.image_replies import REPLIES, ImageReplies

if TYPE_CHECKING:
    from evenflow.domain.cyclone import Writer
    from evenflow.model.batch import Rows

PLAIN, BALANCED = "plain", "node"
CORE = 0
"""Both workers run on this core, the clients and the balancer on the others."""


class Application:
    """Converts images and tells the client that it did; knows nothing of what is around it."""

    def __init__(self, replies: Writer) -> None:
        self._images = ImageReplies(replies, int(os.environ.get(ROUNDS_VARIABLE, "1")))

    def __call__(self, rows: Rows) -> None:
        """Process some images, one by one."""
        for item in rows:
            self._images.answer(item)


def serve_plain(participant: Participant, application: Application) -> None:
    """What one writes without Evenflow: a reader, a loop, the application."""
    reader = participant.reader(data(PLAIN), [PLAIN])
    waiter = participant.waiter()
    waiter.attach(reader)
    while True:
        waiter.wait(1.0)
        for sample in reader.take(256):
            application(sample.rows)


def main() -> None:
    """Serve until killed."""
    kind, file = sys.argv[1:]
    os.sched_setaffinity(0, {CORE})
    config = Config.load(file)
    with Participant(config.domain) as participant:
        application = Application(participant.writer(data(REPLIES), REPLIES))
        if kind == PLAIN:
            serve_plain(participant, application)
        with Node(
            BALANCED, application, name="node", config=config, participant=participant
        ) as node:
            node.wait()


if __name__ == "__main__":
    main()
