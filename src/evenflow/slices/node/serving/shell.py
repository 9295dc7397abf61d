"""What makes a node serve: the domain's channels of consumers, and the Flight service.

The node's loop calls :meth:`ServingShell.take`; readers are answered by Flight's own threads, which
share the core with the loop under the node's lock.
"""

from __future__ import annotations

from contextlib import ExitStack
from typing import TYPE_CHECKING

from evenflow.domain.channels import CONSUMERS, COPIES, PROGRESS, READS, Gone
from evenflow.errors import ConfigError
from evenflow.model.messages import CommitCopy, ConsumerCommit, MapPage, Progress
from evenflow.slices.control_writers import FAREWELL_S, close_writers
from evenflow.slices.node.serving.choosing import chosen
from evenflow.slices.node.serving.directory import Directory
from evenflow.slices.node.serving.flight_server import FlightServer

if TYPE_CHECKING:
    from threading import Lock

    from evenflow.config import Config, TopicConfig
    from evenflow.domain.cyclone import Participant, Waiter
    from evenflow.model.batch import Batch
    from evenflow.model.ids import Position
    from evenflow.slices.consumer.counts import Run
    from evenflow.slices.consumer.ticket import Range, Refusal
    from evenflow.slices.node.serving.rules import ServingRules


class ServingShell:
    """Connects a serving core to consumers.

    Args:
        serving: The rules.
        topic: The topic.
        config: Where to listen.
        participant: Where readers are opened.
        waiter: Wakes the node's loop.
        lock: The node's lock over its core.
    """

    def __init__(
        self,
        serving: ServingRules,
        topic: str,
        config: Config,
        *,
        participant: Participant,
        waiter: Waiter,
        lock: Lock,
    ) -> None:
        self._serving = serving
        self._topic = topic
        self._lock = lock
        self._directory = Directory()
        with ExitStack() as opened:
            reads, self._copies = participant.writer(READS), participant.writer(COPIES)
            opened.callback(close_writers, (reads, self._copies), FAREWELL_S)
            followed = (CONSUMERS, COPIES, PROGRESS)
            self._readers = [participant.reader(channel) for channel in followed]
            for reader in self._readers:
                opened.callback(reader.close)
                waiter.attach(reader)
            self._flight = FlightServer(
                topic,
                config.domain.interface,
                config.node.flight_port,
                select=self._select,
                count=self._count,
                since=self._since,
                held=self._held,
                directory=self._directory,
                tell=reads.write,
            )
            opened.callback(self._flight.leave)
            self._opened = opened.pop_all()
        serving.address = self._flight.address

    def take(self) -> None:
        """Take in what consumers and other nodes say; called with the node's lock held."""
        for reader in self._readers:
            for message in reader.take():
                if isinstance(message, Gone):
                    self._lose(message)
                elif message.topic == self._topic:
                    self._hear(message)

    def _lose(self, gone: Gone) -> None:
        if gone.message_type is Progress:
            self._directory.on_node_gone(gone.key[1])
        elif gone.message_type is ConsumerCommit and gone.key[0] == self._topic:
            self._keep(self._serving.on_consumer_gone(gone.key[1]))

    def _keep(self, copy: CommitCopy | None) -> None:
        if copy is not None:
            self._copies.write(copy)

    def _hear(self, message: CommitCopy | ConsumerCommit | Progress) -> None:
        if isinstance(message, CommitCopy):
            self._keep(self._serving.on_copy(message))
            return
        self._keep(self._serving.on_consumer_message(message))
        if isinstance(message, Progress):
            self._directory.handle(message)

    def on_map_page(self, page: MapPage) -> None:
        """The assignment has changed."""
        self._directory.handle(page)

    def close(self) -> None:
        """Answer nobody any more, and leave the channels of consumers."""
        self._opened.close()

    def _select(self, asked: Range) -> list[Batch] | Refusal:
        with self._lock:
            found = self._serving.select(asked)
        if isinstance(found, list):
            found = chosen(found, asked.only)
            count = sum(batch.count for batch in found)
            with self._lock:
                self._serving.served += count
        return found

    def _count(self, asked: Range, most: int) -> list[Run] | Refusal:
        with self._lock:
            return self._serving.count(asked, most)

    def _since(self, asked: Range, time: int) -> Position | Refusal:
        with self._lock:
            return self._serving.since(asked, time)

    def _held(self, asked: Range) -> int:
        with self._lock:
            return self._serving.count_held(asked)


def check_served(topic: TopicConfig, *, serving: bool) -> None:
    """Raise `ConfigError` unless a topic is served by nodes that serve, and by no others."""
    if serving and not topic.served:
        raise ConfigError(
            topic.key("served"), topic.served, "must be true for a node without an application"
        )
    if topic.served and not serving:
        raise ConfigError(
            topic.key("served"), topic.served,
            "a served topic is read by consumers: start its nodes with --serve and without --app",
        )  # fmt: skip
