"""Evenflow: a self-managing data distribution layer for mobile and embedded devices."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:  # the same names as below, for who checks types
    from evenflow.config import Config as Config
    from evenflow.durable.reader import read_from as read_from
    from evenflow.errors import EvenflowError as EvenflowError
    from evenflow.model.batch import Batch as Batch
    from evenflow.model.batch import Item as Item
    from evenflow.model.ids import Position as Position
    from evenflow.slices.balancer.balancer import Balancer as Balancer
    from evenflow.slices.consumer.following import Following as Following
    from evenflow.slices.consumer.following import follow as follow
    from evenflow.slices.consumer.served_batch import ServedBatch as ServedBatch
    from evenflow.slices.node.node import Node as Node
    from evenflow.slices.publisher.aio import AsyncPublisher as AsyncPublisher
    from evenflow.slices.publisher.publisher import Publisher as Publisher
    from evenflow.slices.subscriber.aio import AsyncReplies as AsyncReplies
    from evenflow.slices.subscriber.aio import AsyncSubscriber as AsyncSubscriber
    from evenflow.slices.subscriber.replies import Replies as Replies
    from evenflow.slices.subscriber.replies import Reply as Reply
    from evenflow.slices.subscriber.subscriber import Subscriber as Subscriber

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
    "Following": "evenflow.slices.consumer.following",
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

__all__ = ["__version__", *_LATER]  # noqa: PLE0604 - these are strings


def __dir__() -> list[str]:
    return sorted(__all__)


def __getattr__(name: str) -> Any:
    if name not in _LATER:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(_LATER[name]), name)
