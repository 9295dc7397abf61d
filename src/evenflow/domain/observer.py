"""What is going on in a domain, as anybody may see it: nodes, slice maps, receipts, the balancer.

Everything here is read from channels whose newest messages are kept, so a process that comes late
sees the present state at once. An observer asks nobody for anything.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from evenflow.domain.channels import (
    BEATS,
    EPOCHS,
    MAPS,
    PROPERTIES,
    RECEIPTS,
    REFUSALS,
    REPORTS,
    Gone,
)
from evenflow.domain.listener import Listener
from evenflow.model.messages import (
    Beat,
    EpochClose,
    MapPage,
    NodeReport,
    PropertyReport,
    Receipt,
    Refusal,
)
from evenflow.model.slice_map import SliceMap

if TYPE_CHECKING:
    from evenflow.domain.cyclone import Participant

MOST_RECEIPTS = 1_000
"""Receipts an observer remembers of each topic."""


@dataclass(slots=True)
class TopicView:
    """One topic as seen from outside."""

    nodes: dict[str, NodeReport] = field(default_factory=dict)
    """The newest report of every node that is there."""
    map: SliceMap | None = None
    """Who owns what, kept up to date; None until all of it has come."""
    receipts: list[Receipt] = field(default_factory=list)
    publishers: dict[int, EpochClose] = field(default_factory=dict)
    refused: dict[str, str] = field(default_factory=dict)
    """Nodes that the balancer gives no slices, and why."""
    balancer: int | None = None
    """Who balances; None when nobody does."""


class Observer:
    """Collects what the domain shows. Used by one thread."""

    def __init__(self, participant: Participant) -> None:
        self.topics: dict[str, TopicView] = {}
        self.properties: dict[str, dict[str, float]] = {}
        """What the monitors of each process read."""
        channels = (REPORTS, REFUSALS, MAPS, BEATS, RECEIPTS, EPOCHS, PROPERTIES)
        self._listener = Listener(participant, channels, self._see)
        self._writer_topics: dict[int, str] = {}
        self._maps: dict[str, SliceMap] = {}

    def view(self, topic: str) -> TopicView:
        """What was seen of a topic so far."""
        return self.topics.setdefault(topic, TopicView())

    def look(self, seconds: float) -> None:
        """Take in what arrives within this time."""
        self._listener.listen(seconds)

    def look_around(self, topic: str, patience_s: float = 2.0) -> TopicView:
        """Look until the present state of a topic is known, or the patience is over."""
        deadline = time.monotonic() + patience_s
        view = self.view(topic)
        while time.monotonic() < deadline and (view.map is None or view.balancer is None):
            self.look(0.1)
        self.look(0.3)
        return view

    def _see(self, message: Any) -> None:
        match message:
            case NodeReport():
                self.view(message.topic).nodes[message.node] = message
            case MapPage():
                self._see_page(message)
            case Refusal():
                self.view(message.topic).refused[message.node] = message.reason
            case Beat():
                self.view(message.topic).balancer = message.balancer
            case EpochClose():
                self._writer_topics[message.writer] = message.topic
                self.view(message.topic).publishers[message.writer] = message
            case Receipt():
                receipts = self.view(message.topic).receipts
                receipts.append(message)
                del receipts[:-MOST_RECEIPTS]
            case PropertyReport():
                read = dict(zip(message.names, message.values, strict=True))
                self.properties[message.source] = read
            case Gone():
                self._see_gone(message)

    def _see_page(self, page: MapPage) -> None:
        slice_map = self._maps.setdefault(page.topic, SliceMap())
        slice_map.apply(page)
        self.view(page.topic).map = slice_map if slice_map.is_complete else None

    def _see_gone(self, gone: Gone) -> None:
        if gone.message_type is NodeReport:
            topic, node = gone.key
            self.view(topic).nodes.pop(node, None)
        elif gone.message_type is Refusal:
            topic, node = gone.key
            self.view(topic).refused.pop(node, None)
        elif gone.message_type is PropertyReport:
            self.properties.pop(gone.key[0], None)
        elif gone.message_type is Beat:
            self.view(gone.key[0]).balancer = None
        elif gone.message_type is EpochClose:
            topic = self._writer_topics.pop(gone.key[0], "")
            self.view(topic).publishers.pop(gone.key[0], None)
