"""A processing node of the throughput experiment: ready first, joins when it is told to.

Run as a process of its own with its name, the configuration and the file for its record. It prints
``ready`` when everything is loaded and the client is found, joins at the first line on stdin, and
leaves when stdin ends. Then it writes down which items it has processed: replies go over plain DDS,
which may lose some of them when a process stands still, so they do not prove what was processed.
"""

from __future__ import annotations

import sys
from array import array
from pathlib import Path
from typing import TYPE_CHECKING

from evenflow.config import Config
from evenflow.domain.channels import data
from evenflow.domain.cyclone import Participant
from evenflow.processes import wait_until
from evenflow.slices.node.node import Node
from evenflow_experiments.slices.image_replies import REPLIES, ImageReplies
from evenflow_experiments.slices.images import colour_jpeg, to_grayscale

if TYPE_CHECKING:
    from evenflow.domain.cyclone import Writer
    from evenflow.model.batch import Batch

TOPIC = "images"


class Converter:
    """Converts images, tells the client what each has cost, and remembers which they were."""

    def __init__(self, replies: Writer) -> None:
        self.processed = array("q")
        """The id of every item, in order."""
        self._images = ImageReplies(replies)

    def __call__(self, batch: Batch) -> None:
        """Process the images of a batch, one by one."""
        for item in batch:
            self._images.answer(item)
            self.processed.append(item.id)


def main() -> None:
    """Serve until stdin ends."""
    name, file, record = sys.argv[1:]
    config = Config.load(file)
    with Participant(config.domain) as participant:
        replies = participant.writer(data(REPLIES), REPLIES)
        to_grayscale(colour_jpeg())
        if not wait_until(replies.matched, 60):
            sys.exit(f"{name}: there is no client in domain {config.domain.id}")
        print("ready", flush=True)
        if not sys.stdin.readline():
            return
        converter = Converter(replies)
        with Node(TOPIC, converter, name=name, config=config, participant=participant):
            sys.stdin.readline()
        Path(record).write_bytes(converter.processed.tobytes())


if __name__ == "__main__":
    main()
