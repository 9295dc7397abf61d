"""Places found by gossip: all loads are known, so the best of all is found without asking (V-D)."""

from __future__ import annotations

import zlib
from typing import TYPE_CHECKING

from evenflow.overlay.balancing.candidates import Candidates
from evenflow.overlay.balancing.decision import PlacedTopic, improve
from evenflow.overlay.balancing.loads import Level
from evenflow.overlay.balancing.places import MARGIN, BetterPlace, SearchEnd

if TYPE_CHECKING:
    from evenflow.overlay.balancing.decision import Improvement
    from evenflow.overlay.balancing.loads import NodeLoads
    from evenflow.overlay.balancing.places import Found, Wish
    from evenflow.overlay.balancing.shares import Shares
    from evenflow.overlay.ports import ExchangeHost
    from evenflow.overlay.protocol.messages import Offer


class KnownPlaces:
    """The places of a broker that knows the loads of all.

    Args:
        host: The broker.
        shares: What every broker said that it leads.
    """

    searching = False

    def __init__(self, host: ExchangeHost, shares: Shares) -> None:
        self._host = host
        self._shares = shares
        self._candidates: Candidates | None = None

    def on_members_changed(self) -> None:
        """A broker came or went."""
        self._candidates = None

    def review(self) -> None:
        """Nothing takes time here."""

    def search(self, wish: Wish, found: Found) -> None:
        """Find the best place of all, at once."""
        placed = wish.placed
        if any(name not in self._shares for name in placed.spot):
            found(SearchEnd(wish, None, complete=False))
            return
        self._host.counters.searches += 1
        if self._candidates is None:
            seed = zlib.crc32(self._host.members.me.name.encode())
            self._candidates = Candidates(self._host.members.living, seed)
        better = improve(
            self._shares.loads(without=placed),
            Level.THREE,
            placed.spot,
            self._candidates.spots(len(placed.spot), self._shares),
            self._least(new=wish.new),
        )
        if better is None:
            found(SearchEnd(wish, None, complete=True))
            return
        found(SearchEnd(wish, self._place(placed, better, self._candidates), complete=True))

    def _place(
        self, placed: PlacedTopic[str], better: Improvement[str], candidates: Candidates
    ) -> BetterPlace:
        coordinate = candidates.coordinate(better.spot, self._shares)
        seen = self._loads_seen(placed, better)
        return BetterPlace(coordinate, better.spot, better.here, better.there, seen)

    def _least(self, *, new: bool) -> float:
        return 0.0 if new else MARGIN * self._shares.mean()

    def accepts(self, offer: Offer, spot: tuple[str, ...]) -> bool:
        """Decide again, by the loads that we know."""
        if any(name not in self._shares for name in (*spot, *offer.nodes)):
            return False
        placed: PlacedTopic[str] = PlacedTopic(offer.shelf.topic, offer.nodes, offer.load)
        others, least = self._shares.loads(without=placed), self._least(new=offer.new)
        return improve(others, Level.THREE, placed.spot, [spot], least) is not None

    def _loads_seen(
        self, placed: PlacedTopic[str], better: Improvement[str]
    ) -> tuple[tuple[str, float], ...]:
        """Return the loads before and as they will be, for the history."""
        me = self._host.members.me.name
        before, after = self._shares.loads(), self._shares.loads(without=placed)
        after.add(better.spot, placed.load)

        def highest(loads: NodeLoads[str], spot: tuple[str, ...]) -> float:
            return max(loads.load(name, Level.THREE) for name in spot)

        return (
            ("load_before", before.load(me, Level.THREE)),
            ("load_after", after.load(me, Level.THREE)),
            ("mean_load", self._shares.mean()),
            ("topic_load", placed.load),
            ("highest_here_before", highest(before, placed.spot)),
            ("highest_here_after", highest(after, placed.spot)),
            ("highest_there_before", highest(before, better.spot)),
            ("highest_there_after", highest(after, better.spot)),
        )
