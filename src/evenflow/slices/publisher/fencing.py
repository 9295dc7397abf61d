"""Fencing: which node may commit a slice, when more than one believes that it owns it.

Fencing is what makes "exactly once" hold. For each slice the publisher keeps the highest term of
ownership it has met in a commit or a replay request, the fencing token.

- A newer term raises it: from then on the older owner is shut out, whether it knows or not.
- A commit of an older term is refused: what the old owner processed and had not committed does
  not count, because the new owner has been told the floor and processes everything above it.
- A replay request of an older term is refused too. Either refusal is answered with the newer term,
  so an old owner that cannot hear the balancer learns from the publisher that it lost the slice.

A commit or a request is heard by this publisher alone: nobody else would notice a term that no
balancer gave out, and with it the true owners would be shut out. So a term counts only when its
balancer, or a newer one, was heard in a beat, a map or a ledger
(:mod:`evenflow.slices.heard_balancers`); until then the entry is ignored, and comes again. What
balancers say is heard by the nodes too, and the one that leads claims above whatever they have met.

So the floor of a slice moves only in the hands of its newest owner, every number is committed
once, by one node, and what a new owner was told about the floor stays true until it commits
itself. The balancer gives each term to one owner alone; the publisher needs to trust nothing
else. Messages may be repeated, reordered or lost: terms only grow.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Iterable

    import numpy.typing as npt


class Fencing:
    """The newest term of ownership of each slice, as one publisher knows it."""

    __slots__ = ("_terms",)

    def __init__(self, slice_count: int) -> None:
        self._terms = np.zeros(slice_count, np.uint64)

    def copy(self) -> Fencing:
        """The same, of another writer."""
        found = Fencing(len(self._terms))
        found._terms[:] = self._terms
        return found

    def admit(self, slices: Any, terms: Any) -> npt.NDArray[np.bool_]:
        """Whether no newer term was met for each slice; newer ones raise the bar for the others."""
        slices, terms = np.asarray(slices, np.int64), np.asarray(terms, np.uint64)
        admitted: npt.NDArray[np.bool_] = terms >= self._terms[slices]
        np.maximum.at(self._terms, slices[admitted], terms[admitted])
        return admitted

    def restore(self, terms: npt.NDArray[np.uint64]) -> None:
        """Go by the terms that were met in an earlier life."""
        self._terms[:] = terms

    @property
    def newest(self) -> npt.NDArray[np.uint64]:
        """The newest term met for each slice."""
        return self._terms

    def term(self, slice_id: int) -> int:
        """The newest term met for a slice; 0 before the first."""
        return int(self._terms[slice_id])

    def terms(self, slices: Iterable[int]) -> tuple[int, ...]:
        """The newest terms of these slices."""
        return tuple(self.term(slice_id) for slice_id in slices)
