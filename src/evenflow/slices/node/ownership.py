"""Which slices a node owns: the terms it has met, what it gives up, and what it still lacks.

A newer term always wins. The node remembers the newest term it has met for each slice and obeys
nothing older; a slice that somebody else owns under a newer term is dropped.

A slice that the node has begun to own may lack items that are at the publishers. The change of
owner is *settled* when no replay request for the slices is pending any more; the balancer is then
told how many items came by replay and how many are lost.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from evenflow.model.messages import SliceLoads

if TYPE_CHECKING:
    from collections.abc import Iterable

    from evenflow.slices.node.application.states import States
    from evenflow.slices.node.cache.held_slice import HeldSlice
    from evenflow.slices.node.writers import Writers


class Settled(NamedTuple):
    """A change of owner after which nothing is missing any more."""

    term: int
    replayed: int
    """Items that publishers sent again, since the node owns the slices."""


class Ownership:
    """The slices of one node, as far as terms are concerned."""

    def __init__(self, writers: Writers, states: States | None = None) -> None:
        self.seen_term = 0
        """The newest term met anywhere."""
        self.changed = True
        """Whether the balancer should hear of something now."""
        self._writers = writers
        self._cache = writers.cache
        self._states = states
        self._newest: dict[int, int] = {}
        """The newest term met for each slice."""
        self._settling: dict[int, tuple[frozenset[int], int]] = {}
        """Slices of a change of owner that is not settled; items replayed before it."""
        self._looked_at = -1
        """How many requests had been resolved when it was last looked for what has settled."""

    def see(self, term: int) -> None:
        """A term was given out, whatever it is about."""
        self.seen_term = max(self.seen_term, term)

    def meet(self, slice_id: int, term: int) -> None:
        """Somebody owns a slice under this term."""
        if term > self._newest.get(slice_id, 0):
            self._newest[slice_id] = term

    def is_outdated(self, slices: Iterable[int], term: int) -> bool:
        """Whether a newer term than this is known for one of these slices."""
        held = self._cache.held
        return any(
            self._newest.get(slice_id, 0) > term
            or (slice_id in held and held[slice_id].term > term)
            for slice_id in slices
        )

    def drop(self, slices: frozenset[int]) -> None:
        """Give up slices that are somebody else's."""
        if slices:
            self._cache.drop(slices)
            if self._states is not None:
                self._states.drop(slices)
            self._writers.replay_requests.forget_slices(slices)
            self.changed = True

    def begin(self, slices: frozenset[int], term: int, now: float) -> None:
        """Own slices from now on: ask every writer for what is newer than what is here."""
        self._writers.own(slices, now)
        self._settling[term] = (slices, self._writers.replayed)
        self._looked_at = -1
        self.changed = True

    def take_settled(self) -> list[Settled]:
        """The changes of owner that have settled since this was last asked."""
        writers = self._writers
        if self._looked_at == writers.replay_requests.resolved:
            return []
        self._looked_at = writers.replay_requests.resolved
        over = [
            term
            for term, (slices, _) in self._settling.items()
            if not writers.replay_requests.is_pending(slices)
        ]
        settled = []
        for term in over:
            _, replayed = self._settling.pop(term)
            settled.append(Settled(term, writers.replayed - replayed))
        return settled


def loads_of(topic: str, node: str, owned: Iterable[HeldSlice]) -> SliceLoads:
    """What slices have cost so far, as a balancer is told."""
    rows = [
        (one.slice, one.term, one.items, one.payload_bytes, int(one.busy * 1e6), one.arrived)
        for one in owned
    ]
    return SliceLoads(topic, node, *(zip(*rows, strict=True) if rows else [()] * 6))
