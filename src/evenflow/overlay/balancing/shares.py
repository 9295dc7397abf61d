"""What every broker bears, as each of them said last: the ground on which a broker balances.

A broker tells all others its `Share`: for each *spot* (the brokers that keep a topic) on which it
leads topics, their load together and the smallest of them. From the shares of all, each broker has
the loads of equations 1 to 4, and knows the smallest topic of every node, as algorithm 2 needs it.

A topic's spot has as many nodes as its own resilience level uses. So topics of all levels count
together, and when all have the same level the loads are the paper's for that level.

The whole load of a topic counts where it is delegated to now, as in the paper, with what it left
at earlier delegates: that expires, and the topic will be as large again where it is now.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from evenflow.overlay.balancing.decision import PlacedTopic
from evenflow.overlay.balancing.loads import Level, NodeLoads
from evenflow.overlay.protocol.messages import Share, SpotLoad

if TYPE_CHECKING:
    from collections.abc import Container, Iterator

    from evenflow.overlay.members.table import MemberTable
    from evenflow.overlay.space.coordinate import Coordinate


class Shares:
    """The newest share of every broker."""

    def __init__(self) -> None:
        self._shares: dict[str, Share] = {}

    def add(self, share: Share) -> bool:
        """Note a share; return whether it is newer than what was known."""
        known = self._shares.get(share.broker)
        if known is not None:
            age, newest = (share.incarnation, share.number), (known.incarnation, known.number)
            if age <= newest:
                return False
        self._shares[share.broker] = share
        return True

    def keep_living(self, members: MemberTable) -> None:
        """Forget what the dead said, and what returned brokers said before they died."""
        self._shares = {
            name: share
            for name, share in self._shares.items()
            if members.alive(name) and members[name].incarnation == share.incarnation
        }

    def keep_only(self, brokers: Container[str]) -> None:
        """Forget what all others said."""
        self._shares = {name: share for name, share in self._shares.items() if name in brokers}

    def __contains__(self, broker: object) -> bool:
        """Say whether a broker told what it bears."""
        return broker in self._shares

    def everyone(self) -> Iterator[Share]:
        """Yield all shares, in order of the brokers' names."""
        for name in sorted(self._shares):
            yield self._shares[name]

    def smallest(self) -> Iterator[tuple[PlacedTopic[str], Coordinate]]:
        """Yield the smallest topic of every spot, and where it lies."""
        for share in self.everyone():
            for led in share.spots:
                if led.topic:
                    spot = (share.broker, *led.others)
                    yield PlacedTopic(led.topic, spot, led.size), led.coordinate

    def loads(self, without: PlacedTopic[str] | None = None) -> NodeLoads[str]:
        """Return the node loads, without one topic if told."""
        loads: NodeLoads[str] = NodeLoads()
        for spot, load in self.lying(without):
            loads.add(spot, load)
        return loads

    def lying(
        self, without: PlacedTopic[str] | None = None
    ) -> Iterator[tuple[tuple[str, ...], float]]:
        """Yield every spot and the load of the topics there, without one topic if told."""
        for share in self.everyone():
            for led in share.spots:
                spot, load = (share.broker, *led.others), float(led.load)
                if without is not None and spot == without.spot:
                    load = max(0.0, load - without.load)
                yield spot, load

    def mean(self) -> float:
        """Return the mean load of the brokers that told theirs."""
        loads = self.loads()
        found = [loads.load(name, Level.THREE) for name in self._shares]
        return sum(found) / len(found) if found else 0.0


class ShareBuilder:
    """The topics that a broker leads, gathered by spot: its share in the making."""

    def __init__(self) -> None:
        self._spots: dict[tuple[str, ...], SpotLoad] = {}

    def add(self, others: tuple[str, ...], topic: str, coordinate: Coordinate, load: int) -> None:
        """Count a topic; one without a name is on its way here, and not to be given on."""
        known = self._spots.get(others)
        if known is None:
            self._spots[others] = SpotLoad(others, load, topic, coordinate, load)
            return
        total = known.load + load
        if topic and (not known.topic or load < known.size):
            self._spots[others] = SpotLoad(others, total, topic, coordinate, load)
        else:
            self._spots[others] = SpotLoad(others, total, known.topic, known.coordinate, known.size)

    def spots(self) -> tuple[SpotLoad, ...]:
        """Return what was gathered."""
        return tuple(self._spots[others] for others in sorted(self._spots))
