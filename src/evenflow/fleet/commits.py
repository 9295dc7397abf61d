"""How much of a topic is committed, as its publishers tell everybody.

A publisher says with each epoch how many items it has published up to its end, and which epoch
every consumer has committed. So whoever listens knows how many items that is.
"""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING, Final

from evenflow.domain.channels import EPOCHS
from evenflow.model.messages import EpochClose

if TYPE_CHECKING:
    from evenflow.domain.cyclone import Participant

MOST_EPOCHS: Final = 10_000
"""Epochs of a writer that are remembered until they are committed."""


class WriterCommits:
    """One writer's epochs."""

    def __init__(self) -> None:
        self.committed = 0
        """Items that every consumer has committed."""
        self._epochs: deque[tuple[int, int]] = deque(maxlen=MOST_EPOCHS)

    def hear(self, close: EpochClose) -> None:
        """An epoch was closed; an older one than the newest tells nothing."""
        if self._epochs and close.epoch < self._epochs[-1][0]:
            return
        self._epochs.append((close.epoch, close.items))
        while self._epochs and self._epochs[0][0] <= close.committed:
            self.committed = max(self.committed, self._epochs.popleft()[1])
        if not close.slices:
            self.committed = max(self.committed, close.items)


class Commits:
    """What is committed of one topic. Used by one thread.

    Args:
        participant: Where to listen.
        topic: The topic.
    """

    def __init__(self, participant: Participant, topic: str) -> None:
        self._reader = participant.reader(EPOCHS)
        self._topic = topic
        self._writers: dict[int, WriterCommits] = {}

    @property
    def items(self) -> int:
        """Items of all publishers that are committed, as far as was heard."""
        for message in self._reader.take():
            if isinstance(message, EpochClose) and message.topic == self._topic:
                self._writers.setdefault(message.writer, WriterCommits()).hear(message)
        return sum(one.committed for one in self._writers.values())
