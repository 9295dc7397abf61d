"""The steps of a levelling plan: the fewest and cheapest moves that bring every node into its band.

Six steps, each working on what the ones before have left:

1. *Clear* leaving nodes: every slice goes, the largest first, each to the node that lacks the most.
2. *House* giants: each goes to its host, which sheds what it no longer has room for.
3. *Shed*: a node above its band gives what lies above. It looks for one slice of that size, or up
   to a fifth larger (but never goes below its share), else gives the largest slice below it and
   looks again. So the moves are few and the moved load is close to the least possible, which is the
   excess itself.
4. *Displace*: where no slice fits anywhere, one goes to a node that sheds others in turn.
5. *Ease*: where slices are too coarse to bring all nodes into their bands, a strained node still
   gives to one that is then less strained than it was.
6. *Fill*: a node still below its band (it has just joined, say) gets slices from those furthest
   above their share.

Except for clearing, no move is made unless it pays: it must gain more than it costs. Housing and
displacing are a bundle of moves each; the whole bundle must pay, or it is taken back.
"""

from __future__ import annotations

from dataclasses import dataclass
from heapq import nlargest, nsmallest
from itertools import cycle
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Iterator, Mapping

    from evenflow.balance.draft import Draft
    from evenflow.balance.shares import Weight

OVERSHOOT = 0.2
"""A node that sheds may give this part more than its excess, if that saves moves."""
CHOICES = 4
"""How many nodes are considered where the best one does not do."""
TRIES = 256
"""How many displacements a plan tries in all."""
ROUNDING = 1e-9
"""Sums of loads may be off by this part."""


@dataclass(frozen=True, slots=True)
class Economy:
    """What a move gains and costs."""

    horizon_s: float
    """For how long load brought into a band counts as gained."""
    pause_s: float
    """For how long the load of a moved slice counts as lost."""

    def pays(self, gained: float, moved: float) -> bool:
        """Whether bringing ``gained`` into the bands is worth moving ``moved``."""
        return gained * self.horizon_s > moved * self.pause_s


@dataclass(slots=True)
class LevellingSteps:
    """Draws the steps on a draft."""

    draft: Draft
    economy: Economy
    tries: int = TRIES

    def draw(
        self, leaving: Iterable[str], misfits: Iterable[Weight], hosts: Mapping[int, str]
    ) -> None:
        """Draw everything: leaving nodes, slices too large for their nodes, all other load."""
        for name in leaving:
            self._clear(name, hosts)
        for misfit in misfits:
            self._house(misfit, hosts.get(misfit.id))
        for name in self._ranked(self.draft.excess):
            self._unblock(name)
            self._shed(name)
        for name in self._ranked(self.draft.excess):
            self._displace(name, self.draft.excess(name) * (1 - ROUNDING))
            self._ease(name)
        for name in self._ranked(self.draft.deficit):
            self._fill(name)

    def _ranked(self, amount: Callable[[str], float]) -> list[str]:
        """The nodes that have any of this amount, the most first."""
        amounts = {name: amount(name) for name in self.draft.bands}
        return sorted(
            (name for name, value in amounts.items() if value > 0),
            key=lambda name: (-amounts[name], name),
        )

    def _clear(self, name: str, homes: Mapping[int, str]) -> None:
        """Give everything away; what has no load goes round, or one node would get all of it."""
        around = cycle(sorted(self.draft.bands))
        for load, slice_id in reversed(self.draft.free[name][:]):
            taker = homes.get(slice_id) or self.draft.neediest(but=name)
            if taker is not None:
                self.draft.move(load, slice_id, name, taker if load > 0 else next(around))

    def _house(self, misfit: Weight, host: str | None) -> None:
        """Find a node that can carry the slice, one with room if possible."""
        if not self.draft.may_give(misfit.owner, misfit.load, misfit.id):
            return
        takers = [host] if host else self._hosts_for(misfit)
        self._best_bundle(misfit.load, misfit.id, misfit.owner, takers)

    def _hosts_for(self, misfit: Weight) -> list[str]:
        """The node that lacks the most if it has room, else those that come closest to it."""
        draft = self.draft
        neediest = draft.neediest(but=misfit.owner)
        fits = neediest is not None and draft.room(neediest) >= misfit.load
        if neediest is not None and fits and draft.may_go(misfit.id, neediest):
            return [neediest]
        able = [name for name, band in draft.bands.items() if band.high >= misfit.load]
        return nlargest(CHOICES, able, key=lambda name: (draft.room(name), name))

    def _shed(self, giver: str) -> None:
        """Give what lies above the band, to nodes that stay in theirs."""
        draft = self.draft
        band = draft.bands[giver]
        spare = min(OVERSHOOT * draft.excess(giver), band.high - band.share)
        last = None
        while (rest := draft.excess(giver)) > 0:
            offer = self._offer(giver, rest + spare)
            if offer is None:
                return
            load, slice_id, taker = offer
            if last is not None and self._suits(load, slice_id, last):
                taker = last  # more slices in a session are cheaper than more sessions
            if not self.economy.pays(draft.change(load, giver, taker), load):
                return
            draft.move(load, slice_id, giver, taker)
            last = taker

    def _offer(self, giver: str, amount: float) -> tuple[float, int, str] | None:
        """What to give next, and to whom: the largest slice up to the amount, else the smallest."""
        draft = self.draft
        for taker in self._takers(giver):
            room = draft.room(taker)
            choice = draft.largest_up_to(giver, min(amount, room), taker)
            if choice is None or choice[0] <= 0:
                choice = draft.smallest_above(giver, 0.0, taker)
            if choice is not None and choice[0] <= room:
                return (*choice, taker)
        return None

    def _takers(self, giver: str) -> Iterator[str]:
        """The node that lacks the most; those after it only where that one does not do."""
        neediest = self.draft.neediest(but=giver)
        if neediest is None:
            return
        yield neediest
        if self.draft.barred or self.draft.only:
            others = nsmallest(CHOICES, self.draft.bands, key=self._above_share)
            yield from (name for name in others if name not in (giver, neediest))

    def _unblock(self, giver: str) -> None:
        """Where all slices that fit elsewhere are not enough, begin with one that does not fit."""
        draft = self.draft
        taker = draft.neediest(but=giver)
        if taker is None:
            return
        room = draft.room(taker)
        fitting = sum(load for load, _ in draft.free[giver] if load <= room)
        if fitting < draft.excess(giver):
            self._displace(giver, room)

    def _displace(self, giver: str, size: float) -> None:
        """Give the smallest slice above a size to a node that has to make room for it."""
        choice = self.draft.smallest_above(giver, size)
        if choice is not None and self.tries > 0:
            takers = nsmallest(CHOICES, self.draft.bands, key=self._above_share)
            self.tries -= len(takers)
            self._best_bundle(*choice, giver, takers)

    def _best_bundle(self, load: float, slice_id: int, giver: str, takers: Collection[str]) -> None:
        """Move a slice to the taker that keeps to its band best, then the cheapest, if any pays."""
        able = [name for name in takers if name != giver and self.draft.may_go(slice_id, name)]
        mark = len(self.draft.moves)
        scores = []
        for taker in able:
            if self._bundle(load, slice_id, giver, taker):
                over = self.draft.excess(taker) / self.draft.bands[taker].strength
                scores.append((over, self.draft.moved, taker))
                self.draft.take_back(mark)
        if scores:
            self._bundle(load, slice_id, giver, min(scores)[2])

    def _ease(self, giver: str) -> None:
        """Give slices to a node that leaves its band for them but stays below the giver."""
        draft = self.draft
        while draft.excess(giver) > 0:
            taker = draft.neediest(but=giver)
            if taker is None:
                return
            ratio = draft.bands[taker].strength / draft.bands[giver].strength
            gap = draft.loads[giver] * ratio - draft.loads[taker]
            even = gap / (1 + ratio)
            choice = draft.largest_up_to(giver, even, taker)
            if choice is None or choice[0] <= 0:
                choice = draft.smallest_above(giver, max(0.0, even), taker)
            if choice is None or choice[0] >= gap:
                return
            if not self.economy.pays(draft.change(choice[0], giver, taker), choice[0]):
                return
            draft.move(*choice, giver, taker)

    def _bundle(self, load: float, slice_id: int, giver: str, taker: str) -> bool:
        """Move a slice and let the taker shed; take all of it back unless it pays."""
        draft = self.draft
        mark, outside, moved = len(draft.moves), draft.outside, draft.moved
        worst = self._strain(giver)
        draft.move(load, slice_id, giver, taker)
        self._shed(taker)
        self._ease(taker)
        pays = self.economy.pays(outside - draft.outside, draft.moved - moved)
        if not pays or (draft.room(taker) < 0 and self._strain(taker) > worst):
            draft.take_back(mark)
            return False
        return True

    def _fill(self, taker: str) -> None:
        """Bring a node into its band with slices of the fullest nodes."""
        draft = self.draft
        while draft.deficit(taker) > 0:
            giver = draft.fullest(but=taker)
            if giver is None:
                return
            if self._hand_over(giver, taker):
                continue
            others = nlargest(CHOICES, draft.bands, key=self._above_share)
            if not any(self._hand_over(other, taker) for other in others if other != taker):
                return

    def _hand_over(self, giver: str, taker: str) -> bool:
        """Move the slice that fits a taker below its band best; the giver stays in its own."""
        draft = self.draft
        band = draft.bands[taker]
        spare = draft.loads[giver] - draft.bands[giver].low
        limit = min(band.share - draft.loads[taker], spare)
        choice = draft.largest_up_to(giver, limit, taker)
        if choice is None or not self.economy.pays(
            draft.change(choice[0], giver, taker), choice[0]
        ):
            return False
        draft.move(*choice, giver, taker)
        return True

    def _suits(self, load: float, slice_id: int, taker: str) -> bool:
        """Whether the taker would not even reach its share with this slice."""
        after = self.draft.loads[taker] + load
        return after <= self.draft.bands[taker].share and self.draft.may_go(slice_id, taker)

    def _above_share(self, name: str) -> tuple[float, str]:
        return (self.draft.loads[name] - self.draft.bands[name].share, name)

    def _strain(self, name: str) -> float:
        """How hard a node has to work."""
        return self.draft.loads[name] / self.draft.bands[name].strength
