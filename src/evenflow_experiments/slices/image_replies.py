"""The application of the papers' evaluation: converts images and answers each of them.

The papers' reply says "Processed"; what it holds does not matter to them. Ours holds the CPU time
that the image has cost, because on a machine whose cores are busy a second of CPU time does less
than on an idle one: throughput and time shares do not show that, the cost of an image does.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

import numpy as np

from evenflow.model.batch import Item
from evenflow.model.encoding import encode_item
from evenflow_experiments.slices.images import to_grayscale

if TYPE_CHECKING:
    from evenflow.domain.cyclone import Writer
    from evenflow.model.batch import Int64s, Rows

REPLIES = "replies"
"""The topic of the replies."""


class ImageReplies:
    """Converts images and replies to each.

    Args:
        replies: Writes to `REPLIES`.
        rounds: How often an image is converted: a slower application.
    """

    def __init__(self, replies: Writer, rounds: int = 1) -> None:
        self._replies = replies
        self._rounds = rounds
        self._answered = 0

    def answer(self, item: Item) -> None:
        """Convert an image; tell what CPU time it has cost, in microseconds."""
        started = time.thread_time_ns()
        for _ in range(self._rounds):
            to_grayscale(item.payload)
        cost_us = (time.thread_time_ns() - started) // 1000
        self._answered += 1
        reply = Item(item.sender, item.id, item.time, cost_us.to_bytes(8, "little"))
        encoded = encode_item(1, self._answered, 1, 0, self._answered, reply)
        while not self._replies.write_encoded(encoded):
            time.sleep(0.001)


def costs_us(rows: Rows) -> Int64s:
    """What the images of some replies have cost, in microseconds of CPU time."""
    return np.frombuffer(rows.payload_buffer.tobytes(), np.int64)
