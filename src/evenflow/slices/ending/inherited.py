"""What former balancers decided, and which of it counts.

A balancer that begins to lead may find cuts at the nodes that are not on its disk. A cut that is
complete counts for ever. One that was only decided may be complete without the nodes knowing: then
every node that was asked knows it. Or it was taken back, or balancers since then did not know it,
and the writer lived. The newest ledger that a node has heard tells the two apart: what it names
counts, what it does not name is void.

Reports name cuts by their terms (``NodeReport.decided``, ``NodeReport.complete``); the numbers come
as copies of the cuts. A copy counts for nothing by itself, because it may be late: only a report of
a node that has heard this balancer says what is known now.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from evenflow.model.messages import CutStage
from evenflow.slices.ledger_view import MOST_ENDED

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping

    from evenflow.model.messages import NodeReport, WriterCut
    from evenflow.slices.ending.records import Ended

MOST_COPIES: Final = MOST_ENDED
"""Cuts whose numbers are kept for the case that they count: as many as a node may name, since it
is waited for all of them."""


def counting(nodes: Iterable[NodeReport]) -> list[int]:
    """The terms of the cuts that count, of all that nodes know; complete ones first."""
    reports = list(nodes)
    newest = max((report.ledger_heard for report in reports), default=0)
    complete = [term for report in reports for term in report.complete]
    return complete + [
        term for report in reports if report.ledger_heard == newest for term in report.decided
    ]


class Inherited:
    """The cuts that nodes tell of."""

    def __init__(self) -> None:
        self._copies: dict[int, WriterCut] = {}
        """Their numbers, by term."""
        self._complete: set[int] = set()
        """Terms of those that count here, are decided, and were known to be complete by a node."""

    def hear(self, cut: WriterCut) -> None:
        """A node tells the numbers of a cut."""
        if len(cut.slices) == len(cut.upto):
            self._copies.pop(cut.term, None)
            self._copies[cut.term] = cut
            if len(self._copies) > MOST_COPIES:
                del self._copies[next(iter(self._copies))]

    def lacking(self, nodes: Iterable[NodeReport]) -> set[int]:
        """The terms of those that count, are not here, and will be told by a node that has them."""
        reports = list(nodes)
        having = {term for one in reports if one.ledger for term in (*one.decided, *one.complete)}
        return having.intersection(counting(reports)) - self._copies.keys()

    def settled(
        self, nodes: Iterable[NodeReport], ended: Mapping[int, Ended]
    ) -> Collection[WriterCut]:
        """What counts of all that the nodes know; `ended` are the writers that are known here."""
        reports = list(nodes)
        complete = {term for report in reports for term in report.complete}
        found: dict[int, WriterCut] = {}
        for term in counting(reports):
            cut = self._copies.get(term)
            if cut is not None and cut.writer not in ended:
                found.setdefault(cut.writer, cut)
        self._complete.update(complete & {cut.term for cut in found.values()})
        return found.values()

    def completed(self, report: NodeReport, ended: Mapping[int, Ended]) -> Collection[WriterCut]:
        """What a node knows to be complete that was away while this balancer listened.

        Also where another cut of that writer was decided here: a publisher may have gone on behind
        the complete one, and nobody has behind one that is only decided.
        """
        found: dict[int, WriterCut] = {}
        for term in report.complete:
            cut = self._copies.get(term)
            known = None if cut is None else ended.get(cut.writer)
            if cut is not None and (known is None or self._may_give_way(known)):
                found.setdefault(cut.writer, cut)
        self._complete.update(cut.term for cut in found.values())
        return found.values()

    def _may_give_way(self, known: Ended) -> bool:
        """Whether no node knew it to be complete: if two are, the first that is told counts."""
        return known.stage is CutStage.DECIDED and known.term not in self._complete

    def forget(self, term: int) -> None:
        """A cut is complete here too: it gives way to none."""
        self._complete.discard(term)
