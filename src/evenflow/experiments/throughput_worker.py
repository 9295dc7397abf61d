"""A processing node of the throughput experiment: ready first, joins when it is told to.

Run as a process of its own: ``python -m evenflow.experiments.throughput_worker NAME CONFIG``. It
prints ``ready`` when everything is loaded and the client is found, and joins at the first line on
stdin.
"""

from __future__ import annotations

import sys

from evenflow.config import Config
from evenflow.domain.channels import data, slice_partition
from evenflow.domain.cyclone import Participant
from evenflow.experiments.images import colour_jpeg, to_grayscale
from evenflow.experiments.overhead_worker import REPLIES, Application
from evenflow.slices.local import wait_until
from evenflow.slices.node import Node

TOPIC = "images"


def main() -> None:
    """Serve until killed."""
    name, file = sys.argv[1:]
    config = Config.load(file)
    with Participant(config.domain) as participant:
        replies = participant.writer(data(REPLIES), slice_partition(0))
        to_grayscale(colour_jpeg())
        if not wait_until(replies.matched, 60):
            sys.exit(f"{name}: there is no client in domain {config.domain.id}")
        print("ready", flush=True)
        if not sys.stdin.readline():
            return
        application = Application(replies)
        with Node(TOPIC, application, name=name, config=config, participant=participant) as node:
            node.wait()


if __name__ == "__main__":
    main()
