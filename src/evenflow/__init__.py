"""Evenflow: a self-managing data distribution layer for mobile and embedded devices."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from evenflow.config import Config
    from evenflow.durable.reader import read_from
    from evenflow.errors import EvenflowError
    from evenflow.model.batch import Batch, Item
    from evenflow.model.ids import Position
    from evenflow.slices.balancer.balancer import Balancer
    from evenflow.slices.consumer.following import follow
    from evenflow.slices.consumer.served_batch import ServedBatch
    from evenflow.slices.node.node import Node
    from evenflow.slices.publisher.aio import AsyncPublisher
    from evenflow.slices.publisher.publisher import Publisher
    from evenflow.slices.subscriber.aio import AsyncReplies, AsyncSubscriber
    from evenflow.slices.subscriber.replies import Replies, Reply
    from evenflow.slices.subscriber.subscriber import Subscriber

__all__ = [
    "AsyncPublisher",
    "AsyncReplies",
    "AsyncSubscriber",
    "Balancer",
    "Batch",
    "Config",
    "EvenflowError",
    "Item",
    "Node",
    "Position",
    "Publisher",
    "Replies",
    "Reply",
    "ServedBatch",
    "Subscriber",
    "__version__",
    "follow",
    "read_from",
]

__version__ = "0.1.0"

# Imported when first asked for: the pure cores and the command line's help need no DDS, and the
# command is soon in its `main`, which knows what to do about Ctrl-C.
_LATER = {
    "AsyncPublisher": "evenflow.slices.publisher.aio",
    "AsyncReplies": "evenflow.slices.subscriber.aio",
    "AsyncSubscriber": "evenflow.slices.subscriber.aio",
    "Balancer": "evenflow.slices.balancer.balancer",
    "Batch": "evenflow.model.batch",
    "Config": "evenflow.config",
    "EvenflowError": "evenflow.errors",
    "Item": "evenflow.model.batch",
    "Node": "evenflow.slices.node.node",
    "Position": "evenflow.model.ids",
    "Publisher": "evenflow.slices.publisher.publisher",
    "Replies": "evenflow.slices.subscriber.replies",
    "Reply": "evenflow.slices.subscriber.replies",
    "ServedBatch": "evenflow.slices.consumer.served_batch",
    "Subscriber": "evenflow.slices.subscriber.subscriber",
    "follow": "evenflow.slices.consumer.following",
    "read_from": "evenflow.durable.reader",
}


def __getattr__(name: str) -> Any:
    if name not in _LATER:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(_LATER[name]), name)
