"""The nodes of a topic, as the balancer names them: each has a writer before slices move to it."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from threading import Lock

    from evenflow.model.messages import Beat
    from evenflow.slices.publisher.sending.owner_writer import OwnerWriters


class Members:
    """Opens and closes the writers of a publisher as nodes come and go."""

    def __init__(self, topic: str, writers: OwnerWriters) -> None:
        self._topic = topic
        self._writers = writers
        self._members: frozenset[str] = frozenset()

    def on_beat(self, beat: Beat, now: float) -> None:
        """Have a writer ready for every node before slices move to it; with the lock held."""
        members = frozenset(beat.nodes)
        if beat.topic == self._topic and members != self._members:
            self._writers.meet(members - self._members, now)
            self._members = members

    def part(self, lock: Lock) -> None:
        """Close the writers of nodes that are no members any more, once they do not read."""
        strangers = set(self._writers.nodes) - self._members
        if strangers and self._members:
            with lock:
                self._writers.part(strangers)
