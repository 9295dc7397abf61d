"""What a broker must find again after a crash: the record of each of its copies."""

from __future__ import annotations

from evenflow.overlay.protocol.messages import Label, ShelfId, TermStart
from evenflow.overlay.values import Natural, Text, Value

MOST_TERMS = 64


class Record(Value, frozen=True):
    """One copy of a shelf, apart from its messages."""

    shelf: ShelfId
    term: Natural
    """Newest term that was begun or followed here."""
    confirmed: Natural
    """Newest term that both copies agreed on."""
    primary: Text
    secondary: Text
    """Empty when the level asks for one copy."""
    former: Text
    """The other broker of the term before; it may have messages that we lack."""
    since: Natural
    """All messages from this time on are here, the expired ones excepted."""
    terms: tuple[TermStart, ...]
    """Terms, oldest first, each with the time from which it speaks."""
    label: Label

    @property
    def agreed_primary(self) -> str:
        """Who leads in the newest term that both copies agreed on.

        Empty when another was begun here since: nobody needs to wait for its primary.
        """
        return self.primary if self.term == self.confirmed else ""

    def with_term(self, term: int, start: int) -> tuple[TermStart, ...]:
        """Return the terms with one more; the oldest two become one when there are many."""
        terms = (*self.terms, TermStart(term, start))
        if len(terms) > MOST_TERMS:
            # A copy older than the second must fetch all that the first spoke for, too.
            terms = (TermStart(terms[1].term, terms[0].start), *terms[2:])
        return terms


def divergence(terms: tuple[TermStart, ...], confirmed: int) -> int:
    """Return the time from which a copy that agreed on ``confirmed`` last may be wrong."""
    return next((each.start for each in terms if each.term > confirmed), terms[-1].start)
