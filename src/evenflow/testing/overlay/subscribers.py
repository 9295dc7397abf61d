"""What must hold of subscriptions in a cluster of overlay brokers, when all is quiet again."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from evenflow.testing.overlay.checks import Violation

if TYPE_CHECKING:
    from collections.abc import Iterable

    from evenflow.overlay.client.core import Publishing
    from evenflow.overlay.client.following import Following
    from evenflow.overlay.protocol.messages import Subscription
    from evenflow.testing.overlay.cluster import OverlayCluster


def subscriptions(cluster: OverlayCluster, topic: str) -> dict[str, tuple[Subscription, ...]]:
    """Return which subscriptions to a topic each broker has on a label, if any."""
    return {
        f"{name}@{shelf_id.coordinate.x:.2f}": shelf.replica.copy.label.subscriptions
        for name, core in sorted(cluster.cores().items())
        for shelf_id, shelf in core.shelves.items()
        if shelf_id.topic == topic and shelf.replica.copy.label.subscriptions
    }


def check_all_pushed(
    cluster: OverlayCluster, subscribers: list[Following], publishers: Iterable[Publishing]
) -> None:
    """Check that subscribers have come to see all that was acknowledged, and are pushed again.

    Both copies of the shelf where a topic is, and no others, know who is subscribed.
    """
    cluster.run_until(lambda: all(one.subscribed for one in subscribers), 60, "subscribing")
    everyone = list(publishers)
    for subscriber in subscribers:
        theirs = [one for one in everyone if one.topic == subscriber.topic]
        cluster.run_until(partial(cluster.clients.saw_all, subscriber, theirs), 30, "pushing")
    cluster.settle()
    for topic in {subscriber.topic for subscriber in subscribers}:
        kept = subscriptions(cluster, topic)
        places = {where.split("@")[1] for where in kept}
        mine = {one.subscriber for one in subscribers if one.topic == topic}
        for where, found in kept.items():
            if mine - {each.subscriber for each in found} or len(places) != 1:
                raise Violation(f"{topic}: {where} of {places} has {found}, not {mine}")
