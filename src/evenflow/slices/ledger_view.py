"""What a process knows of the balancer's ledger: nodes, consumers and publishers alike.

The newest ledger says who is being ended: a writer that it does not name lives, whatever an older
one said of it. What is complete stays so, also when a balancer that has lost its disk does not name
it, or has decided another cut of the same writer, which is void then; a consumer that alone
remembers a cut, of which everything is committed, lets it go when the writer goes on
(`LedgerView.revive`). Until a cut is complete, and its numbers are here, the writer
is frozen. The numbers come in a message of their own, sooner or later than the ledger.

What is kept is bounded: the ids of the newest :data:`MOST_ENDED` ended writers, and the numbers of
those cuts that the balancer keeps.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

from evenflow.model.messages import CutStage

if TYPE_CHECKING:
    from evenflow.model.messages import EpochClose, Ledger, WriterCut

MOST_ENDED: Final = 10_000
MOST_TOLD: Final = 50
"""Cuts that a node tells with one report."""
_OPEN: Final = (CutStage.DECIDED, CutStage.COMPLETE)
"""The stages at which the numbers of a cut are needed."""


class Entry(NamedTuple):
    """How far the end of a writer is."""

    term: int
    stage: CutStage


class KnownCuts(NamedTuple):
    """What a node says of the cuts that it knows."""

    decided: tuple[int, ...]
    complete: tuple[int, ...]
    """Terms."""
    cuts: list[WriterCut]
    """Their numbers, as far as they are here and the balancer may not have them; of very many some
    each time."""


class LedgerView:
    """The ledger of one topic, as one process has heard it."""

    def __init__(self) -> None:
        self.version = 0
        """Of the newest ledger; 0 before the first."""
        self.entries: dict[int, Entry] = {}
        self.cuts: dict[int, WriterCut] = {}
        """Numbers, by writer; of some the ledger may not have been heard yet."""
        self.consumers: dict[str, int] = {}
        """The registered consumers, and the number of the newest commit on disk."""
        self.ahead: set[int] = set()
        """Writers of which nothing is needed any more, and the newest ledger does not know that."""
        self.unnamed: set[int] = set()
        """Writers whose cut is complete, and the newest ledger knows of none, or of another one,
        which is only decided; and those whose cut is cleared, and it knows of none."""
        self._turn = 0
        self._named: frozenset[int] = frozenset()
        """Writers that the newest ledger names."""

    def on_ledger(self, ledger: Ledger) -> bool:
        """Take a ledger in; False when it is none that counts, or no news."""
        columns = (ledger.writers, ledger.terms, ledger.stages)
        if ledger.version <= self.version or len({len(column) for column in columns}) > 1:
            return False
        self.version = ledger.version
        self.consumers = dict(zip(ledger.consumers, ledger.numbers, strict=False))
        self._named = frozenset(ledger.writers)
        known = {w: one for w, one in self.entries.items() if one.stage >= CutStage.COMPLETE}
        self.ahead = set()
        for writer, term, stage in zip(*columns, strict=True):
            if stage not in CutStage.__members__.values():
                continue
            found, before = Entry(term, CutStage(stage)), known.get(writer)
            if before is None or before.stage <= found.stage or self._cannot_tell(writer, found):
                known[writer] = found
            elif before.stage is CutStage.CLEARED:
                self.ahead.add(writer)
        terms = dict(zip(ledger.writers, ledger.terms, strict=True))
        self.unnamed = {
            writer
            for writer, one in known.items()
            if (one.stage is CutStage.COMPLETE and terms.get(writer) != one.term)
            or (one.stage is CutStage.CLEARED and writer not in terms and self._has(writer, one))
        }
        self.entries = known
        self._bound()
        return True

    def _has(self, writer: int, entry: Entry) -> bool:
        """Whether the numbers of a cut are here."""
        cut = self.cuts.get(writer)
        return cut is not None and cut.term == entry.term

    def _cannot_tell(self, writer: int, found: Entry) -> bool:
        """Whether another cut is complete here, and nobody can learn from here where it is."""
        before = self.entries[writer]
        complete = before.stage is CutStage.COMPLETE and before.term != found.term
        return complete and self._numbers(writer) is None

    def on_cut(self, cut: WriterCut) -> bool:
        """Take the numbers of a cut in; False when they are known, or another one is complete.

        The newest count, unless the ledger has named the others.
        """
        known, named = self.cuts.get(cut.writer), self.entries.get(cut.writer)
        if named is not None and named.stage >= CutStage.COMPLETE and named.term != cut.term:
            return False
        newest = known is None or cut.term > known.term
        is_named = named is not None and named.term == cut.term
        if not newest and (not is_named or known == cut):
            return False
        if len(cut.slices) != len(cut.upto):
            return False
        self.cuts[cut.writer] = cut
        return True

    def revive(self, close: EpochClose) -> None:
        """A writer closes an epoch behind its cut, and no ledger tells it of that: it lives.

        Only who has heard a balancer whose disk is lost, and nodes that are all gone, knows of such
        a cut. What is behind it was given to nobody, nor published anew by a writer that goes on.
        """
        found, cut = self.entries.get(close.writer), self.cut(close.writer)
        if found is None or cut is None or close.writer in self._named:
            return
        if found.stage is CutStage.CLEARED and close.epoch > cut.epoch:
            del self.entries[close.writer], self.cuts[close.writer]

    def stage(self, writer: int) -> CutStage | None:
        """How far the end of a writer is; None when it lives."""
        found = self.entries.get(writer)
        return None if found is None else found.stage

    def cut(self, writer: int) -> WriterCut | None:
        """Where a writer's stream ends, when the cut is complete and the numbers are here."""
        found = self.entries.get(writer)
        return self._numbers(writer) if found and found.stage >= CutStage.COMPLETE else None

    def _numbers(self, writer: int) -> WriterCut | None:
        """The numbers of the cut that the ledger names."""
        found, cut = self.entries[writer], self.cuts.get(writer)
        return cut if cut is not None and cut.term == found.term else None

    def is_over(self, writer: int) -> bool:
        """Whether nothing of a writer is needed any more."""
        found = self.entries.get(writer)
        return found is not None and found.stage >= CutStage.CLEARED

    def is_frozen(self, writer: int) -> bool:
        """Whether nothing of a writer may be taken in or planned for now."""
        found = self.entries.get(writer)
        return found is not None and found.stage < CutStage.CLEARED and self.cut(writer) is None

    def preparing(self) -> dict[int, int]:
        """The writers whose cut is being prepared, with its term."""
        return {w: e.term for w, e in self.entries.items() if e.stage is CutStage.PREPARING}

    @property
    def complete_version(self) -> int:
        """The version of the ledger, when the numbers of every cut are here; else 0."""
        lacking = (
            one.stage in _OPEN and self._numbers(writer) is None
            for writer, one in self.entries.items()
        )
        return 0 if any(lacking) else self.version

    def known(self, *, to_all: bool) -> KnownCuts:
        """The cuts that a balancer may have to be told.

        Args:
            to_all: Whether it knows nothing yet; else it has told its ledger.
        """
        stages = {w: one.stage for w, one in self.entries.items() if one.stage in _OPEN}
        decided = [w for w, stage in stages.items() if stage is CutStage.DECIDED]
        complete = stages.keys() - decided if to_all else self.unnamed
        told = [self._numbers(w) for w in (*complete, *(decided if to_all else ()))]
        return KnownCuts(
            tuple(self.entries[w].term for w in decided),
            tuple(self.entries[w].term for w in complete),
            self._in_turn([cut for cut in told if cut is not None]),
        )

    def _in_turn(self, cuts: list[WriterCut]) -> list[WriterCut]:
        """Of very many cuts so many as may be told at once, the next ones each time."""
        if len(cuts) <= MOST_TOLD:
            return cuts
        first, self._turn = self._turn % len(cuts), self._turn + MOST_TOLD
        return (cuts + cuts)[first : first + MOST_TOLD]

    def _bound(self) -> None:
        """Forget where the oldest writers ended, and the oldest altogether."""
        entries = self.entries
        if len(entries) > MOST_ENDED:
            ended = sorted(entries, key=lambda writer: entries[writer].term)
            for writer in ended[: len(entries) - MOST_ENDED]:
                del entries[writer]
                self.cuts.pop(writer, None)
        for writer in [w for w in self.cuts if self.stage(w) is CutStage.FORGOTTEN]:
            del self.cuts[writer]
