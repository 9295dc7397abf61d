"""What a process knows of the balancer's ledger: nodes, consumers and publishers alike.

The newest ledger says who is being ended. What was decided once stays decided, also when a balancer
that has lost its disk does not name it. The numbers of a cut come in a message of their own, which
may be here sooner or later than the ledger; until they are, the writer stays frozen.

What is kept is bounded: the ids of the newest :data:`MOST_ENDED` ended writers, and the numbers of
those cuts that the balancer keeps.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

from evenflow.model.messages import CutStage

if TYPE_CHECKING:
    from evenflow.model.messages import Ledger, WriterCut

MOST_ENDED: Final = 10_000
_OPEN: Final = (CutStage.DECIDED, CutStage.COMPLETE)


class Entry(NamedTuple):
    """How far the end of a writer is."""

    term: int
    stage: CutStage


class LedgerView:
    """The ledger of one topic, as one process has heard it.

    Args:
        binding: The stage from which on a cut counts here. A node is bound by what is decided, and
            a balancer that takes over learns it from the nodes. Everybody else is bound when every
            node is: before, the decision of a balancer that is being replaced may come to nothing.
    """

    def __init__(self, binding: CutStage = CutStage.COMPLETE) -> None:
        self._binding = binding
        self.version = 0
        """Of the newest ledger; 0 before the first."""
        self.entries: dict[int, Entry] = {}
        self.cuts: dict[int, WriterCut] = {}
        """Numbers, by writer; of some the ledger may not have been heard yet."""
        self.consumers: dict[str, int] = {}
        """The registered consumers, and the number of the newest commit on disk."""
        self.ahead: set[int] = set()
        """Writers of which nothing is needed any more, and the newest ledger does not know that."""

    def on_ledger(self, ledger: Ledger) -> bool:
        """Take a ledger in; False when it is none that counts, or no news."""
        columns = (ledger.writers, ledger.terms, ledger.stages)
        if ledger.version <= self.version or len({len(column) for column in columns}) > 1:
            return False
        self.version = ledger.version
        self.consumers = dict(zip(ledger.consumers, ledger.numbers, strict=False))
        known = {w: one for w, one in self.entries.items() if one.stage >= self._binding}
        self.ahead = set()
        for writer, term, stage in zip(*columns, strict=True):
            if stage not in CutStage.__members__.values():
                continue
            found, before = Entry(term, CutStage(stage)), known.get(writer)
            if before is None or before.stage <= found.stage:
                known[writer] = found
            elif before.stage is CutStage.CLEARED:
                self.ahead.add(writer)
        self.entries = known
        self._bound()
        return True

    def on_cut(self, cut: WriterCut) -> bool:
        """Take the numbers of a cut in; False when they are known.

        The newest count, unless the ledger has named the others.
        """
        known, named = self.cuts.get(cut.writer), self.entries.get(cut.writer)
        newest = known is None or cut.term > known.term
        is_named = named is not None and named.term == cut.term
        if not newest and (not is_named or known == cut):
            return False
        if len(cut.slices) != len(cut.upto):
            return False
        self.cuts[cut.writer] = cut
        return True

    def stage(self, writer: int) -> CutStage | None:
        """How far the end of a writer is; None when it lives."""
        found = self.entries.get(writer)
        return None if found is None else found.stage

    def cut(self, writer: int) -> WriterCut | None:
        """Where a writer's stream ends, when that is decided and the numbers are here."""
        found, cut = self.entries.get(writer), self.cuts.get(writer)
        if found is None or cut is None or found.stage < self._binding:
            return None
        return cut if cut.term == found.term else None

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
        """The version of the ledger, when every cut that it names is here; else 0."""
        lacking = (
            one.stage in _OPEN and self.cut(writer) is None for writer, one in self.entries.items()
        )
        return 0 if any(lacking) else self.version

    @property
    def newest_cut(self) -> int:
        """The term of the newest cut that is known."""
        return max((one.term for one in self.entries.values() if one.stage in _OPEN), default=0)

    def _bound(self) -> None:
        """Forget where the oldest writers ended, and the oldest altogether."""
        entries = self.entries
        if len(entries) > MOST_ENDED:
            ended = sorted(entries, key=lambda writer: entries[writer].term)
            for writer in ended[: len(entries) - MOST_ENDED]:
                del entries[writer]
        for writer in [w for w in self.cuts if self.stage(w) is CutStage.FORGOTTEN]:
            del self.cuts[writer]
