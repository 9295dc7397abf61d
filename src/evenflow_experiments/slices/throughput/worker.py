"""A processing node of the throughput experiment: ready first, joins when it is told to.

Run as a process of its own with its name, the configuration and the file for its record. It prints
``ready`` when everything is loaded and the client is found, joins at the first line on stdin, and
leaves when stdin ends. Then it writes down which items it has processed: replies go over plain DDS,
which may lose some of them when a process stands still, so they do not prove what was processed.
"""

from __future__ import annotations

import sys
import time
from array import array
from pathlib import Path
from typing import TYPE_CHECKING

from evenflow.config import Config
from evenflow.domain.channels import data
from evenflow.domain.cyclone import Participant
from evenflow.model.batch import Item
from evenflow.model.encoding import encode_item
from evenflow.processes import wait_until
from evenflow.slices.node.node import Node
from evenflow_experiments.slices.images import colour_jpeg, to_grayscale
from evenflow_experiments.slices.overhead.worker import REPLIES

if TYPE_CHECKING:
    from evenflow.domain.cyclone import Writer
    from evenflow.model.batch import Batch

TOPIC = "images"


class Converter:
    """Converts images; tells the client, in microseconds of CPU time, what each has cost."""

    def __init__(self, replies: Writer) -> None:
        self.processed = array("q")
        """The id of every item, in order."""
        self._replies = replies

    def __call__(self, batch: Batch) -> None:
        """Process the images of a batch, one by one."""
        for item in batch:
            started = time.thread_time_ns()
            to_grayscale(item.payload)
            cost_us = (time.thread_time_ns() - started) // 1000
            self.processed.append(item.id)
            reply = Item(item.sender, item.id, item.time, cost_us.to_bytes(8, "little"))
            number = len(self.processed)
            encoded = encode_item(1, number, 1, 0, number, reply)
            while not self._replies.write_encoded(encoded):
                time.sleep(0.001)


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
