"""What a broker says of itself when it is asked: copies, links, loads, and what went wrong."""

from __future__ import annotations

from typing import TYPE_CHECKING

from evenflow.overlay.protocol.messages import BrokerStatus
from evenflow.overlay.replica.states import State

if TYPE_CHECKING:
    from evenflow.overlay.broker.core import BrokerCore


def status_of(core: BrokerCore) -> BrokerStatus:
    """Return what a broker holds and knows."""
    me = core.members.me.name
    replicas = [shelf.replica for shelf in core.shelves.values()]
    copies = [replica.copy for replica in replicas]
    following = sum(c.state is State.FOLLOWING and me in c.wanted() for c in copies)
    settled = sum(replica.settled for replica in replicas)
    return BrokerStatus(
        name=me,
        members=len(core.members.living),
        links=len(core.neighbours.links),
        shelves=len(copies),
        leading=sum(copy.leading for copy in copies),
        settled=settled,
        unsettled=len(copies) - settled - following,
        waiting=sum(bool(replica.waiting) for replica in replicas),
        stored_bytes=sum(core.store.size(copy.shelf) for copy in copies),
        load=core.exchange.load,
        damaged=core.counters.damaged,
        lost=core.counters.lost,
        refused=core.counters.refused,
        skewed=core.counters.skewed,
        subscriptions=sum(len(c.label.subscriptions) for c in copies if c.leading),
        searches=core.counters.searches,
        told=core.counters.told,
        asked=core.counters.asked,
    )
