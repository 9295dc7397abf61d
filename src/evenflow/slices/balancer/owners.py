"""Who owns which slice, under which term, and since when: the balancer's table."""

from __future__ import annotations

from collections.abc import Container, Iterable, Mapping
from dataclasses import dataclass, field

from evenflow.model.messages import MapPage, NodeReport, SliceState
from evenflow.model.slice_map import page_count, page_of, page_slices
from evenflow.slices.ending.preparation import Owned

NEVER = -1e9
"""When a slice moved that never did."""


@dataclass(slots=True)
class Found:
    """A session that nodes report and no balancer leads."""

    giver: str = ""
    taker: str = ""
    slices: set[int] = field(default_factory=set)


class Owners:
    """The owner and the term of every slice of one topic."""

    def __init__(self, slice_count: int) -> None:
        self.of: list[str] = [""] * slice_count
        """The owner of each slice; empty when it has none."""
        self.terms: list[int] = [0] * slice_count
        self.moved_at: list[float] = [NEVER] * slice_count
        """When each slice last went from one node to another."""
        self.came_from: list[str] = [""] * slice_count
        """The node that had each slice before; empty when nobody had."""
        self.changed_pages: set[int] = set()
        """Pages of which everybody should be told."""

    def give(self, slices: Iterable[int], node: str, term: int, now: float) -> None:
        """From now on a node owns slices under a term."""
        for slice_id in slices:
            before = self.of[slice_id]
            if before and before != node:
                self.moved_at[slice_id] = now
                self.came_from[slice_id] = before
            self.of[slice_id] = node
            self.terms[slice_id] = term
            self.changed_pages.add(page_of(slice_id))

    def remember(self, slices: Iterable[int], giver: str, taker: str, at: float) -> None:
        """These slices moved then, before this table was made; what has changed since counts."""
        for slice_id in slices:
            if slice_id < len(self.of) and self.of[slice_id] == taker:
                self.moved_at[slice_id] = max(at, self.moved_at[slice_id])
                self.came_from[slice_id] = self.came_from[slice_id] or giver

    def has(self, slice_id: int, node: str) -> bool:
        """Whether there is such a slice and the node owns it."""
        return 0 <= slice_id < len(self.of) and self.of[slice_id] == node

    def owned_by(self, node: str) -> list[int]:
        """The slices of a node."""
        return [slice_id for slice_id, owner in enumerate(self.of) if owner == node]

    def orphans(self, nodes: Container[str], but: Container[int]) -> dict[str, list[int]]:
        """Slices, but some, that none of the nodes owns; by their former owner."""
        orphans: dict[str, list[int]] = {}
        for slice_id, owner in enumerate(self.of):
            if owner not in nodes and slice_id not in but:
                orphans.setdefault(owner, []).append(slice_id)
        return orphans

    def knows_less_than(self, report: NodeReport, own: int, sessions: Container[int]) -> bool:
        """Whether a node has a slice by a newer term than is known here, and older than ``own``.

        That is another balancer's term: its orders were not known when the owners were recovered.
        A node that gives a slice away has it too, unless one of the ``sessions`` that go on here
        says so.
        """
        rows = zip(report.slices, report.states, report.terms, strict=True)
        return any(
            (state == SliceState.AVAILABLE or (state == SliceState.GIVING and term not in sessions))
            and slice_id < len(self.of)
            and self.terms[slice_id] < term < own
            for slice_id, state, term in rows
        )

    def stable(self, nodes: Container[str]) -> dict[int, Owned] | None:
        """The owner of each slice, when all of them are there."""
        if any(owner not in nodes for owner in self.of):
            return None
        return {s: Owned(*row) for s, row in enumerate(zip(self.of, self.terms, strict=True))}

    def page(self, topic: str, page: int, balancer: int, version: int) -> MapPage:
        """A page of the table as everybody sees it."""
        slices = page_slices(page, len(self.of))
        here = slice(slices.start, slices.stop)
        nodes = tuple(sorted({owner for owner in self.of[here] if owner}))
        index = {node: i for i, node in enumerate(nodes, 1)}
        owners = tuple(index.get(owner, 0) for owner in self.of[here])
        terms = tuple(self.terms[here])
        return MapPage(topic, page, balancer, version, len(self.of), nodes, owners, terms)

    def recover(self, reports: Mapping[str, NodeReport]) -> dict[int, Found]:
        """Take the owners from the nodes' reports; return the sessions found there, by term.

        A slice is in the newest of them alone. One that gave it away long ago, and whom a publisher
        refused, may not have heard of it: what it reports looks like an old session.
        """
        found: dict[int, Found] = {}
        newest: dict[int, int] = {}
        for report in reports.values():
            rows = zip(report.slices, report.states, report.terms, strict=True)
            for slice_id, state, term in rows:
                if slice_id >= len(self.of):
                    continue
                if state == SliceState.AVAILABLE:
                    if term > self.terms[slice_id]:
                        self.of[slice_id], self.terms[slice_id] = report.node, term
                    continue
                session = found.setdefault(term, Found())
                session.slices.add(slice_id)
                newest[slice_id] = max(term, newest.get(slice_id, 0))
                if state == SliceState.GIVING:
                    session.giver = report.node
                else:
                    session.taker = report.node
        for term, session in found.items():
            session.slices = {s for s in session.slices if self.terms[s] < term == newest[s]}
        self.changed_pages.update(range(page_count(len(self.of))))
        return {term: session for term, session in found.items() if session.slices}
