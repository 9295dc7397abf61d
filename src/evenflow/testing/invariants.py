"""What must always hold in a simulated cluster, over all that was published and processed.

What is checked, as it happens (:class:`Violation`):

* *one owner a term*: no two nodes own a slice under the same term;
* *in order*: the items of a writer and slice are begun in the order of their numbers, without a
  gap;
* *commits are true*: only what an application has finished is committed, each number once, and
  never by a term older than one that counted at the publisher;
* *none twice*: an item is processed once, under whatever writer and number it comes;
* *its own headers*: an item has the headers that it was published with.

*None twice* has one exception, and it is checked exactly. When a node dies or is taken for dead,
what was processed in its slices and not yet committed may be processed once more by the next owner.
And a node that was taken for dead and lives is *stale* in the slices it had, until it has dropped
them: what it still processes there counts for nothing. Where neither is the case a second time is a
violation, whoever died elsewhere or before.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final

from evenflow.model.batch import Batch
from evenflow.model.messages import Commit, ReplayRequest, SliceState
from evenflow.slices.node.cache.held_slice import HeldSlice
from evenflow.slices.publisher.core import Committed
from evenflow.testing.samples import headers_of_item

Number = tuple[int, int, int]
"""A place in the stream: writer, slice and sequence number. An item that is published again under
another writer has another one; its id stays."""
_OWNED: Final = (SliceState.AVAILABLE, SliceState.GIVING)


class Violation(AssertionError):
    """Something happened that must never happen."""


def numbers_of(batch: Batch) -> list[Number]:
    """The places of the items of a batch."""
    return [(batch.writer, batch.slice, n) for n in range(batch.first, batch.last + 1)]


class InvariantChecker:
    """Follows every item, and raises as soon as something must not be."""

    def __init__(self) -> None:
        self.published = 0
        """Items that were ever published; they have the ids 1 to this number."""
        self.given_up: set[int] = set()
        """Items of publishers that died: they may be lost."""
        self.begun: dict[int, list[str]] = {}
        """Who was given an item to process, stale nodes included; by the item's id."""
        self.finished: set[Number] = set()
        self.committed: dict[int, str] = {}
        """Who committed an item, by its id."""
        self.commit_terms: dict[Number, int] = {}
        """Under which term each place was committed."""
        self._ids: dict[Number, int] = {}
        self._times: dict[int, int] = {}
        """How often an item was begun by nodes that were not stale."""
        self._slices: dict[int, int] = {}
        self._allowed: dict[int, int] = {}
        """How often it may be, when more than once."""
        self._stale: set[HeldSlice] = set()
        self._owners: dict[tuple[int, int], str] = {}
        self._admitted: dict[tuple[int, int], int] = {}
        """By writer and slice: the newest term that reached the publisher."""

    @property
    def repeated(self) -> int:
        """Items that were processed more than once."""
        return sum(len(nodes) > 1 for nodes in self.begun.values())

    @property
    def lacking(self) -> int:
        """Published items that are not committed, and whose publisher lives."""
        return self.published - len(self.committed.keys() | self.given_up)

    def begin(self, node: str, held: HeldSlice, batch: Batch) -> None:
        """An application gets items of a slice that its node holds."""
        self._check_headers(batch)
        for key, item in zip(numbers_of(batch), batch.ids.tolist(), strict=True):
            writer, slice_id, number = key
            if number > 1 and (writer, slice_id, number - 1) not in self._ids:
                raise Violation(f"{key} begun by {node} before its predecessor")
            if self._ids.get((writer, slice_id, number - 1), 0) > item:
                raise Violation(f"{key}, item {item}, comes behind a later one")
            if self._ids.setdefault(key, item) != item:
                raise Violation(f"{key} is item {item} and item {self._ids[key]}")
            self._slices[item] = slice_id
            before = self.begun.setdefault(item, [])
            before.append(node)
            if held in self._stale:
                continue
            if item in self.committed:
                who = self.committed[item]
                raise Violation(f"{key}, item {item}, begun by {node}, but {who} committed it")
            times = self._times[item] = self._times.get(item, 0) + 1
            if times > self._allowed.get(item, 1):
                raise Violation(f"{key}, item {item}, processed more often than allowed: {before}")

    def _check_headers(self, batch: Batch) -> None:
        """Each item has the headers that it was published with, and no other's."""
        for item in batch:
            if item.headers != headers_of_item(item.id):
                raise Violation(f"item {item.id} has the headers {dict(item.headers)}")

    def finish(self, batch: Batch) -> None:
        """An application is through with items."""
        self.finished.update(numbers_of(batch))

    def fail(self, batch: Batch) -> None:
        """An application could not process items: it may get them once more."""
        for item in batch.ids.tolist():
            self._allowed[item] = self._allowed.get(item, 1) + 1

    def own(self, node: str, slice_id: int, term: int) -> bool:
        """A node owns a slice; True when that is new."""
        owner = self._owners.setdefault((slice_id, term), "")
        if owner == node:
            return False
        if owner:
            raise Violation(f"slice {slice_id} has owners {owner} and {node} in term {term}")
        self._owners[slice_id, term] = node
        return True

    def note_owner(self, node: str, slices: Mapping[int, HeldSlice], stale_term: int) -> None:
        """Look at what a node owns; up to a term it was taken for dead."""
        for slice_id, held in slices.items():
            if held.state is SliceState.AVAILABLE and self.own(node, slice_id, held.term):
                if held.term <= stale_term:
                    self.distrust(held)
                else:
                    self.trust(held)

    def distrust(self, held: HeldSlice) -> None:
        """The node that holds this was taken for dead: from now on it is stale here."""
        self._stale.add(held)

    def trust(self, held: HeldSlice) -> None:
        """The node was given the slice anew, knowing nothing better: it is stale no longer."""
        self._stale.discard(held)

    def lose_owner(
        self, held: Mapping[int, HeldSlice], everywhere: Iterable[Mapping[int, HeldSlice]]
    ) -> None:
        """A node is gone: what it owned and had not committed may be processed once more.

        Args:
            held: The slices that the node held.
            everywhere: The slices that each node held, this one included.
        """
        newest: dict[int, int] = {}
        for slices in everywhere:
            for slice_id, one in slices.items():
                if one.state in _OWNED:
                    newest[slice_id] = max(one.term, newest.get(slice_id, 0))
        gone = {
            slice_id
            for slice_id, one in held.items()
            if one.state in _OWNED and one.term == newest[slice_id]
        }
        for item, times in self._times.items():
            if self._slices[item] in gone and item not in self.committed:
                self._allowed[item] = times + 1

    def admit(self, message: Commit | ReplayRequest, heard: Iterable[bool]) -> None:
        """A message reaches a publisher; call it before the publisher handles it.

        Args:
            message: The message.
            heard: Of each of its rows, whether the publisher has heard who gave out the term.
        """
        for slice_id, term, counts in zip(message.slices, message.terms, heard, strict=True):
            key = (message.writer, slice_id)
            if counts:
                self._admitted[key] = max(term, self._admitted.get(key, 0))

    def commit(self, message: Commit, done: Committed) -> None:
        """A publisher accepted a commit."""
        terms = dict(zip(message.slices, message.terms, strict=True))
        for slice_id, first, last in zip(*(c.tolist() for c in done.newly), strict=True):
            term = terms[slice_id]
            if term < self._admitted[message.writer, slice_id]:
                raise Violation(
                    f"slice {slice_id}: commit of old term {term} by {done.node} accepted"
                )
            for number in range(first, last + 1):
                self.commit_terms[message.writer, slice_id, number] = term
                self._committed((message.writer, slice_id, number), done.node)

    def _committed(self, key: Number, node: str) -> None:
        if key not in self.finished:
            raise Violation(f"{key} committed by {node} and never finished")
        item = self._ids[key]
        if item in self.committed:
            raise Violation(f"{key}, item {item}, committed twice")
        self.committed[item] = node
