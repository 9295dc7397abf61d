"""What a broker must find again after a crash: the record of each of its copies, and its votes."""

from __future__ import annotations

from msgspec.structs import replace

from evenflow.overlay.protocol.messages import Accepted, Ballot, Config, Label, ShelfId, TermStart
from evenflow.overlay.values import Natural, Value

MOST_TERMS = 64


class Record(Value, frozen=True):
    """One copy of a shelf, apart from its messages."""

    shelf: ShelfId
    birth: Natural
    """Which move made the shelf; see `Config.birth`."""
    term: Natural
    """Newest term that this copy led or followed."""
    since: Natural
    """All messages from this time on are here, the expired ones excepted."""
    terms: tuple[TermStart, ...]
    """Terms, oldest first, each with the time from which it speaks."""
    label: Label

    def with_term(self, term: int, start: int) -> tuple[TermStart, ...]:
        """Return the terms with one more; the oldest two become one when there are many."""
        terms = (*self.terms, TermStart(term, start))
        if len(terms) > MOST_TERMS:
            # A copy older than the second must fetch all that the first spoke for, too.
            first = min(terms[0].start, terms[1].start)
            terms = (TermStart(terms[1].term, first), *terms[2:])
        return terms

    def with_older(self, start: int) -> Record:
        """Return the record of a copy that was given messages of earlier times by a past delegate.

        Who missed this term lacks all from there on.
        """
        *before, newest = self.terms
        speaks = TermStart(newest.term, min(newest.start, start))
        return replace(self, since=min(self.since, start), terms=(*before, speaks))


class Vote(Value, frozen=True):
    """What a broker has written down about the configurations of a shelf."""

    shelf: ShelfId
    known: Config
    """The newest configuration that is decided, as far as this broker knows."""
    promised: Ballot
    """Nothing is accepted under a lower ballot."""
    accepted: tuple[Accepted, ...] = ()
    """What was accepted to follow the known configuration: one, or nothing."""


def divergence(terms: tuple[TermStart, ...], term: int) -> int:
    """Return the time from which a copy that followed ``term`` last may be wrong."""
    return min((each.start for each in terms if each.term > term), default=terms[-1].start)
