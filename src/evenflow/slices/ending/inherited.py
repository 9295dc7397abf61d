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

from evenflow.slices.ending.records import MOST_CUTS

if TYPE_CHECKING:
    from collections.abc import Iterable

    from evenflow.model.messages import NodeReport, WriterCut

MOST_COPIES: Final = 10 * MOST_CUTS
"""Cuts whose numbers are kept for the case that they count."""


def counting(nodes: Iterable[NodeReport]) -> list[int]:
    """The terms of the cuts that count, of all that nodes know; complete ones first."""
    reports = list(nodes)
    newest = max((report.ledger_heard for report in reports), default=0)
    complete = [term for report in reports for term in report.complete]
    return complete + [
        term for report in reports if report.ledger_heard == newest for term in report.decided
    ]


class Copies(dict[int, "WriterCut"]):
    """The numbers of cuts that nodes have told, by term."""

    def lacking(self, nodes: Iterable[NodeReport]) -> set[int]:
        """The terms of those that count, are not here, and will be told by a node that has them."""
        reports = list(nodes)
        having = {term for one in reports if one.ledger for term in (*one.decided, *one.complete)}
        return having.intersection(counting(reports)) - self.keys()

    def hear(self, cut: WriterCut) -> None:
        """A node tells the numbers of a cut."""
        if len(cut.slices) == len(cut.upto):
            self.pop(cut.term, None)
            self[cut.term] = cut
            if len(self) > MOST_COPIES:
                del self[next(iter(self))]
