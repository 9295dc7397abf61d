"""Places by plan: a new topic goes where the most even division of all load wants more (our own).

Every broker is told all loads (`gossip`) and computes the same *quotas* of all spots, which follow
from the brokers' places alone (`quotas`). Only spots that are behind their quota are considered. A
new topic takes the fullest of them where it still fits under a ceiling a little above the even
level, so that small topics use up small gaps and leave the wide ones; when it fits nowhere it goes
to the best of them by the paper's criteria. The paper's BestGlobalCoord fills every gap with the
next topic, and then large ones stick out (SeDAX, VII-C).

The taker says no when its spot is not behind any more, by what it knows. While a broker has not
told its loads there is no plan, nor when none was found; then the best place that is known counts,
as it does for topics that are not new.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from evenflow.errors import OverlayError
from evenflow.overlay.balancing.candidates import Candidates
from evenflow.overlay.balancing.decision import Improvement, PlacedTopic
from evenflow.overlay.balancing.known_places import KnownPlaces
from evenflow.overlay.balancing.loads import Level
from evenflow.overlay.balancing.places import SearchEnd
from evenflow.overlay.balancing.preference import best_spot, coordinate_load
from evenflow.overlay.balancing.quotas import HEADROOM, Quotas, quotas

if TYPE_CHECKING:
    from collections.abc import Sequence

    from evenflow.overlay.balancing.loads import NodeLoads
    from evenflow.overlay.balancing.places import Found, Wish
    from evenflow.overlay.balancing.shares import Shares
    from evenflow.overlay.ports import ExchangeHost
    from evenflow.overlay.protocol.messages import Offer

SEED = 1
"""All brokers draw the same candidates, so that they have the same plan."""


class PlannedPlaces(KnownPlaces):
    """The places of a broker that knows the loads of all, new topics by plan.

    Args:
        host: The broker.
        shares: What every broker said that it leads.
    """

    def __init__(self, host: ExchangeHost, shares: Shares) -> None:
        super().__init__(host, shares)
        self._spots: Candidates | None = None
        self._quotas: dict[int, Quotas | None] = {}

    def on_members_changed(self) -> None:
        """A broker came or went: there is another plan."""
        super().on_members_changed()
        self._spots = None
        self._quotas.clear()

    def search(self, wish: Wish, found: Found) -> None:
        """Find a new topic its place in the plan, at once; and others the best of all."""
        placed = wish.placed
        plan = self._plan(len(placed.spot)) if wish.new else None
        if plan is None:
            super().search(wish, found)
            return
        self._host.counters.searches += 1
        spots, total = self._candidates_of_all(), self._total(placed)
        ceiling = plan.bound * total + (HEADROOM - 1.0) * placed.load
        others = self._shares.loads(without=placed)
        chosen = steer(others, self._behind(plan, placed, total), ceiling)
        if chosen == placed.spot:
            found(SearchEnd(wish, None, complete=True))
            return
        here, there = (coordinate_load(others, s, Level.THREE) for s in (placed.spot, chosen))
        place = self._place(placed, Improvement(chosen, here, there), spots)
        found(SearchEnd(wish, place, complete=True))

    def accepts(self, offer: Offer, spot: tuple[str, ...]) -> bool:
        """Say whether the spot of a new topic is still behind its quota, if it has one."""
        plan = self._plan(len(spot)) if offer.new else None
        if plan is None or spot not in plan.shares:
            return super().accepts(offer, spot)
        placed: PlacedTopic[str] = PlacedTopic(offer.shelf.topic, offer.nodes, float(offer.load))
        return spot in self._behind(plan, placed, self._total(placed))

    def _all_known(self) -> bool:
        return all(name in self._shares for name in self._host.members.living)

    def _candidates_of_all(self) -> Candidates:
        if self._spots is None:
            self._spots = Candidates(self._host.members.living, SEED)
        return self._spots

    def _plan(self, size: int) -> Quotas | None:
        """Return the plan for topics that burden so many brokers; None while there is none."""
        if not self._all_known():
            return None
        if size not in self._quotas:
            self._quotas[size] = self._planned(size)
        return self._quotas[size]

    def _planned(self, size: int) -> Quotas | None:
        try:
            return quotas(list(self._candidates_of_all().spots(size, self._shares)))
        except OverlayError:
            return None

    def _total(self, placed: PlacedTopic[str]) -> float:
        """Return the load of all topics that burden as many brokers, the new one counted."""
        lying = self._shares.lying(without=placed)
        return placed.load + sum(load for spot, load in lying if len(spot) == len(placed.spot))

    def _behind(
        self, plan: Quotas, placed: PlacedTopic[str], total: float
    ) -> list[tuple[str, ...]]:
        """Return the spots that have less than their quota; there always is one."""
        lying: dict[tuple[str, ...], float] = {}
        for spot, load in self._shares.lying(without=placed):
            lying[spot] = lying.get(spot, 0.0) + load
        return [spot for spot, share in plan.shares.items() if lying.get(spot, 0) < share * total]


def steer(
    loads: NodeLoads[str], spots: Sequence[tuple[str, ...]], ceiling: float
) -> tuple[str, ...]:
    """Return the fullest of some spots that is not above a ceiling, else the best one."""
    highest = [coordinate_load(loads, spot, Level.THREE).maximum for spot in spots]
    fitting = [(load, spot) for load, spot in zip(highest, spots, strict=True) if load <= ceiling]
    if fitting:
        return max(fitting, key=lambda each: each[0])[1]
    return best_spot(loads, Level.THREE, spots[0], spots[1:])
