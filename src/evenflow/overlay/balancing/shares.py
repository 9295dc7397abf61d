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

from evenflow.overlay.balancing.decision import Weight
from evenflow.overlay.balancing.loads import Level, NodeLoads
from evenflow.overlay.protocol.messages import Portion, Share

if TYPE_CHECKING:
    from collections.abc import Iterator

    from evenflow.overlay.members.table import Membership
    from evenflow.overlay.replica.replica import Replica
    from evenflow.overlay.space.coordinate import Coordinate


def weigh(replica: Replica, wall: int, age_s: float, most: int) -> int:
    """Return the load of a topic from the copy at its current delegate.

    What it has here, and what it brought: the octets that lay elsewhere when it came. With an age
    at which messages expire, these are gone when it has been here for that long.
    """
    label, store = replica.label, replica.office.store
    inherited = float(label.inherited)
    if age_s:
        here_s = max(0, wall - label.delegates.entries[-1].start) / 1e9
        inherited *= max(0.0, 1 - here_s / age_s)
    load = store.octets(replica.shelf) + round(inherited)
    return min(load, most) if most else load


class Ledger:
    """The newest share of every broker."""

    def __init__(self) -> None:
        self._shares: dict[str, Share] = {}

    def take(self, share: Share) -> bool:
        """Note a share; return whether it was news."""
        known = self._shares.get(share.broker)
        if known is not None and (share.incarnation, share.number) <= (
            known.incarnation,
            known.number,
        ):
            return False
        self._shares[share.broker] = share
        return True

    def keep(self, members: Membership) -> None:
        """Forget what the dead said, and what returned brokers said before they died."""
        self._shares = {
            name: share
            for name, share in self._shares.items()
            if members.alive(name) and members[name].incarnation == share.incarnation
        }

    def __contains__(self, broker: object) -> bool:
        """Say whether a broker told what it bears."""
        return broker in self._shares

    def everyone(self) -> Iterator[Share]:
        """Yield all shares, in order of the brokers' names."""
        for name in sorted(self._shares):
            yield self._shares[name]

    def smallest(self) -> Iterator[tuple[Weight[str], Coordinate]]:
        """Yield the smallest topic of every spot, and where it lies."""
        for share in self.everyone():
            for portion in share.portions:
                if portion.topic:
                    spot = (share.broker, *portion.others)
                    yield Weight(portion.topic, spot, portion.size), portion.coordinate

    def loads(self, without: Weight[str] | None = None) -> NodeLoads[str]:
        """Return the node loads, without one topic if told."""
        loads: NodeLoads[str] = NodeLoads()
        for share in self.everyone():
            for portion in share.portions:
                spot, load = (share.broker, *portion.others), float(portion.load)
                if without is not None and spot == without.spot:
                    load = max(0.0, load - without.load)
                loads.add(spot, load)
        return loads

    def mean(self) -> float:
        """Return the mean load of the brokers that told theirs."""
        loads = self.loads()
        found = [loads.load(name, Level.THREE) for name in self._shares]
        return sum(found) / len(found) if found else 0.0


class Pile:
    """The topics that a broker leads, gathered by spot: its share in the making."""

    def __init__(self) -> None:
        self._portions: dict[tuple[str, ...], Portion] = {}

    def add(self, others: tuple[str, ...], topic: str, coordinate: Coordinate, load: int) -> None:
        """Count a topic; one without a name is on its way here, and not to be given on."""
        known = self._portions.get(others)
        if known is None:
            self._portions[others] = Portion(others, load, topic, coordinate, load)
            return
        total = known.load + load
        if topic and (not known.topic or load < known.size):
            self._portions[others] = Portion(others, total, topic, coordinate, load)
        else:
            self._portions[others] = Portion(
                others, total, known.topic, known.coordinate, known.size
            )

    def portions(self) -> tuple[Portion, ...]:
        """Return what was gathered."""
        return tuple(self._portions[others] for others in sorted(self._portions))
