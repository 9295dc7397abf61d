"""The slice map: who owns which slice, put together from the pages that the balancer writes.

The map of a topic travels in pages of 256 slices, each an instance of its own to DDS: a change
writes the pages that changed, and who comes late is given all of them. Everybody who wants to know
an owner puts the pages together here.

Which word counts: a page of a newer version replaces the page, because versions grow also from one
balancer to the next, and the newest balancer is the one that has heard the nodes. So pages may come
in any order, more than once, or not at all until they are repeated. What a node proves itself, by
asking under a newer term than the map has (:meth:`SliceMap.learn`), stands until the map has caught
up with that term: a page that was written before may still be on its way.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

from evenflow.model.bounds import MOST_SLICES

if TYPE_CHECKING:
    from collections.abc import Iterable

    from numpy.typing import ArrayLike, NDArray

    from evenflow.model.messages import MapPage

PAGE_SLICES: Final = 256
"""Slices of a page. All processes must agree; only tests change it."""

_NOTHING: Final = np.empty(0, np.int64)


def page_of(slice_id: int) -> int:
    """The page on which a slice stands."""
    return slice_id // PAGE_SLICES


def page_count(slice_count: int) -> int:
    """Into how many pages a topic of so many slices is cut."""
    return -(-slice_count // PAGE_SLICES)


def page_slices(page: int, slice_count: int) -> range:
    """The slices that stand on a page; empty when the topic has no such page."""
    first = page * PAGE_SLICES
    return range(min(first, slice_count), min(first + PAGE_SLICES, slice_count))


class SliceMap:
    """The owner and the term of every slice of one topic, as far as the pages tell.

    One thread changes it. Others may read meanwhile: what they see of a slice is its former owner
    or its new one.

    Args:
        slice_count: Into how many slices the topic is cut: pages that say otherwise are left alone.
            0: that is what the newest page says.
    """

    def __init__(self, slice_count: int = 0) -> None:
        self.nodes: list[str] = []
        """Every node that ever owned a slice; it only grows, so an index stays what it is."""
        self._numbers = {"": 0}
        self._fixed = slice_count > 0
        self._begin(slice_count)

    def _begin(self, slice_count: int) -> None:
        self.slice_count = slice_count
        self.owner_index: NDArray[np.int32] = np.zeros(slice_count, np.int32)
        """For each slice: 0 when nobody owns it, else 1 + index into ``nodes``."""
        self.terms: NDArray[np.uint64] = np.zeros(slice_count, np.uint64)
        """For each slice: the term under which its owner owns it."""
        self.versions = [0] * page_count(slice_count)
        """For each page: its version, 0 while it has not come."""
        self._proven: NDArray[np.uint64] = np.zeros(slice_count, np.uint64)
        """Terms that nodes proved and no page has told of yet, else 0."""
        self._by_node: dict[str, tuple[int, ...]] | None = None

    # -- what changes it --------------------------------------------------------------------------

    def apply(self, page: MapPage) -> NDArray[np.int64]:
        """Take a page in; the slices whose owner changed by it."""
        if not self._is_news(page):
            return _NOTHING
        numbers = np.array([0, *map(self._number, page.nodes)], np.int32)
        owners = numbers[np.array(page.owners, np.int64)]
        terms = np.array(page.terms, np.uint64)
        self.versions[page.page] = page.version
        slices = page_slices(page.page, self.slice_count)
        here = slice(slices.start, slices.stop)
        counts = terms >= self._proven[here]
        changed = counts & (owners != self.owner_index[here])
        self.terms[here][counts] = terms[counts]
        self._proven[here][counts] = 0
        return self._own(slices.start + np.flatnonzero(changed), owners[changed])

    def learn(self, slice_ids: ArrayLike, terms: ArrayLike, node: str) -> NDArray[np.int64]:
        """A node has shown that it owns slices under terms; the slices whose owner changed by it.

        What the map knows under the same or a newer term stays.
        """
        slices, given = np.asarray(slice_ids, np.int64), np.asarray(terms, np.uint64)
        there = slices < self.slice_count
        slices, given = slices[there], given[there]
        newer = given > self.terms[slices]
        slices, given = slices[newer], given[newer]
        self.terms[slices] = self._proven[slices] = given
        number = self._number(node)
        changed = slices[self.owner_index[slices] != number]
        return self._own(changed, number)

    def _own(self, slices: NDArray[np.int64], owners: ArrayLike) -> NDArray[np.int64]:
        self.owner_index[slices] = owners
        self._by_node = None
        return slices

    def _is_news(self, page: MapPage) -> bool:
        """Whether a page fits and is newer than what is here; the topic may have been cut anew."""
        rows = len(page_slices(page.page, page.slice_count))
        fits = 0 < rows == len(page.owners) == len(page.terms) and page.slice_count <= MOST_SLICES
        if not fits or max(page.owners) > len(page.nodes):
            return False
        if page.slice_count == self.slice_count:
            return page.version > self.versions[page.page]
        if self._fixed or page.version <= self.version:
            return False
        self._begin(page.slice_count)
        return True

    def _number(self, node: str) -> int:
        number = self._numbers.get(node)
        if number is None:
            self.nodes.append(node)
            number = self._numbers[node] = len(self.nodes)
        return number

    # -- what it tells ----------------------------------------------------------------------------

    @property
    def version(self) -> int:
        """The newest version of any page; 0 when none has come."""
        return max(self.versions, default=0)

    @property
    def is_complete(self) -> bool:
        """Whether every page has come."""
        return bool(self.versions) and all(self.versions)

    @property
    def owners(self) -> list[str]:
        """The owner of each slice; empty when it has none."""
        numbers = self.owner_index.tolist()
        names = ["", *self.nodes]
        return [names[number] for number in numbers]

    def owner(self, slice_id: int) -> str:
        """The owner of a slice; empty when it has none, or there is no such slice."""
        index = self.owner_index
        number = int(index[slice_id]) if 0 <= slice_id < len(index) else 0
        return self.nodes[number - 1] if number else ""

    def owners_of(self, slices: Iterable[int]) -> dict[str, list[int]]:
        """Slices by their owner, ``""`` for those that nobody owns; unknown ones are left out."""
        index = self.owner_index
        ids = np.fromiter(slices, np.int64)
        ids = ids[(ids >= 0) & (ids < len(index))]
        ids = ids[np.argsort(index[ids], kind="stable")]
        numbers, starts = np.unique(index[ids], return_index=True)
        names = ["", *self.nodes]
        return {
            names[number]: part.tolist()
            for number, part in zip(numbers.tolist(), np.split(ids, starts[1:]), strict=False)
        }

    def by_node(self) -> dict[str, tuple[int, ...]]:
        """All slices by their owner, as :meth:`owners_of`; for the thread that changes the map."""
        if self._by_node is None:
            found = self.owners_of(range(self.slice_count))
            self._by_node = {node: tuple(slices) for node, slices in found.items()}
        return self._by_node
