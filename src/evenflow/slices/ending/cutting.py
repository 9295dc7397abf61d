"""How the balancer ends writers: the ledger, its stages, and who is asked.

One object for each topic. It decides nothing because of silence alone: a cut needs the word of
every node and of every registered consumer, under a term, while no slice changes hands
(:mod:`evenflow.slices.ending.preparation`). Whatever disturbs that abandons the preparation, and it
is tried again later. Who has slices moved or taken need not say so here: before anything is decided
:meth:`Cutting.poll` asks whether some change hands.

What is decided is told to the nodes at once, and is theirs to remember: the next balancer learns it
from them (:mod:`evenflow.slices.ending.inherited`). Were it on disk first, one that is cut off
before it has told anybody would come back later with a cut that nobody kept to. What goes on from
there (complete, cleared, forgotten) is told only when it is on disk: the shell saves what
:meth:`Cutting.to_save` gives and says :meth:`Cutting.on_saved`. (``docs/protocol.md``)
"""

from __future__ import annotations

import logging
from dataclasses import replace
from typing import TYPE_CHECKING, Final

from evenflow.errors import MoveRefused
from evenflow.model.ids import WriterId
from evenflow.model.messages import CutAnswer, CutStage, WriterCut, WriterRequest, WriterSilence
from evenflow.slices.actions import Send
from evenflow.slices.ending.delays import Delays
from evenflow.slices.ending.inherited import Inherited
from evenflow.slices.ending.kept_streams import KeptStreams
from evenflow.slices.ending.preparation import Blocked, Owned, Preparation
from evenflow.slices.ending.records import Ended, too_old
from evenflow.slices.ending.telling import ledger_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from evenflow.config.spans import Keep
    from evenflow.model.messages import NodeReport
    from evenflow.slices.ending.registrations import Registrations
    from evenflow.slices.terms import Terms

DEADLINE: Final = 5.0
"""How long a preparation may take."""
REPEAT: Final = 1.0
"""How often the ledger is repeated."""
REPEATED_CUTS: Final = 4
"""Cuts that are repeated with it, in turn."""

_LOG = logging.getLogger(__name__)


class Cutting:
    """The ledger of one topic, at its balancer.

    Args:
        topic: The topic.
        terms: Where terms come from.
        registrations: The consumers of a served topic; None of an application's.
        ended: What is on disk.
        keep: What is kept beyond what is committed.
    """

    def __init__(
        self,
        topic: str,
        terms: Terms,
        registrations: Registrations | None = None,
        ended: Iterable[Ended] = (),
        keep: Keep | None = None,
    ) -> None:
        self.ended = {one.writer: one for one in ended if one.stage > CutStage.DECIDED}
        self.preparing: dict[int, Preparation] = {}
        self.kept = KeptStreams(keep)
        self.delays = Delays(topic)
        """Silent writers whose cut waits, and why."""
        self.decided_version = 0
        """The version of the ledger that first told of the newest decision."""
        self.unsaved = False
        """Whether something shall be told that is not on disk."""
        self._topic, self._terms = topic, terms
        self._registrations = registrations
        self._silent: dict[str, tuple[int, ...]] = {}
        """By node."""
        self._inherited = Inherited()
        self._own: set[int] = set()
        """Writers whose cut was decided here, not by a balancer before, and is not complete."""
        self._lose: set[int] = set()
        self._version = 0
        self._shown = dict(self.ended)
        """What the ledger tells: what is on disk, and what is decided."""
        self._changed = True
        self._news: list[WriterCut] = []
        self._turn = 0
        self._next_repeat = 0.0
        for one in self.ended.values():
            terms.learn(one.term)

    # -- what is heard ----------------------------------------------------------------------------

    def on_silence(self, heard: WriterSilence) -> None:
        """A node tells whom it does not hear."""
        self._silent[heard.node] = heard.writers
        for writer in heard.goodbyes:
            known = self.ended.get(writer)
            if known is None or known.stage < CutStage.CLEARED:
                term = self._terms.new() if known is None else known.term
                # Of a served topic the publisher may return, and ask where it was.
                cut = known.cut if known is not None and self._registrations is not None else None
                self._end(Ended(writer, term, CutStage.CLEARED, cut))

    def on_answer(self, answer: CutAnswer) -> None:
        """A node or a consumer says what it has of a writer."""
        found = self.preparing.get(answer.writer)
        if found is not None and found.term == answer.term:
            found.on_answer(answer)

    def on_copy(self, cut: WriterCut) -> None:
        """A node tells the numbers of a cut; it counts when a report names it."""
        self._inherited.hear(cut)

    def on_request(self, request: WriterRequest) -> None:
        """An operator gives up what is missing of a writer."""
        known = self.ended.get(request.writer)
        if known is None:
            self._lose.add(request.writer)
            self.delays.end_pause(request.writer)
            self._changed = self.preparing.pop(request.writer, None) is not None or self._changed
        elif known.stage < CutStage.CLEARED:
            self._end(Ended(known.writer, known.term, CutStage.CLEARED, known.cut))

    def on_node_gone(self, node: str, now: float) -> None:
        """A node is no member any more."""
        self._silent.pop(node, None)
        self.abandon("a node is gone", now=now)
        for writer in self._own:
            # Not all that were asked will hear the decision: this one may live, led by another.
            self.delays.disturbed(writer, "a node is gone", now)
            del self.ended[writer], self._shown[writer]
        self._changed = self._changed or bool(self._own)
        self._own.clear()

    # -- who may own slices -----------------------------------------------------------------------

    def admit(self, taker: NodeReport) -> None:
        """Slices shall move to a node; `MoveRefused` when it does not know which writers ended."""
        if taker.ledger < self.needed_version:
            raise MoveRefused(f"{taker.node} does not know yet which writers have ended")

    def ready(self, nodes: Mapping[str, NodeReport]) -> dict[str, NodeReport]:
        """The nodes, those that do not know which writers have ended as if they were leaving."""
        needed = self.needed_version
        return {
            node: report if report.ledger >= needed else replace(report, leaving=True)
            for node, report in nodes.items()
        }

    @property
    def needed_version(self) -> int:
        """The ledger that a node must know before it may own anything; 0 when it need know none."""
        returning = any(
            one.cut is not None or one.stage is CutStage.FORGOTTEN for one in self._shown.values()
        )
        return self.decided_version or self._version + 1 if returning else 0

    def lacking(self, nodes: Iterable[NodeReport]) -> set[int]:
        """The terms of cuts that nodes know, and whose numbers have not come here yet."""
        return self._inherited.lacking(nodes) - {one.term for one in self.ended.values()}

    def settle(self, nodes: Iterable[NodeReport]) -> None:
        """Everybody who is heard has told what it knows: what counts of it is decided here."""
        for cut in self._inherited.settled(nodes, self.ended):
            self._adopt(cut)

    def _adopt(self, cut: WriterCut) -> None:
        self._own.discard(cut.writer)
        self._terms.learn(cut.term)
        self._end(Ended(cut.writer, cut.term, CutStage.DECIDED, cut))

    # -- deciding ---------------------------------------------------------------------------------

    def abandon(self, why: str, *, now: float) -> None:
        """Free the writers whose cut is being prepared."""
        for writer in self.preparing:
            _LOG.info("the cut of writer %s is put off: %s", WriterId.text(writer), why)
            self.delays.disturbed(writer, why, now)
            self._changed = True
        self.preparing.clear()

    def poll(
        self,
        now: float,
        nodes: Mapping[str, NodeReport],
        owners: Callable[[], Mapping[int, Owned] | None],
    ) -> list[Send]:
        """Do what is due.

        Args:
            now: The time.
            nodes: The members, by their newest reports.
            owners: Tells who owns each slice; None while slices change hands.
        """
        for report in nodes.values():
            for cut in self._inherited.completed(report, self.ended):
                self._adopt(cut)
        candidates = self._candidates(nodes)
        self.delays.keep((candidates | self.preparing.keys()) - self.ended.keys(), now)
        if candidates or self.preparing:
            found = owners()
            if found is None:
                self.delays.held_up("slices change hands", now)
                self.abandon("slices change hands", now=now)
            else:
                self._begin(now, candidates, nodes)
                for one in list(self.preparing.values()):
                    self._decide(one, now, nodes, found)
        self._advance(nodes, now)
        return self._tell(now)

    def _candidates(self, nodes: Mapping[str, NodeReport]) -> set[int]:
        named = (named for node, named in self._silent.items() if node in nodes)
        return {writer for some in named for writer in some} | self._lose

    def _begin(
        self, now: float, candidates: Iterable[int], nodes: Mapping[str, NodeReport]
    ) -> None:
        for writer in candidates:
            if writer in self.ended or writer in self.preparing:
                continue
            if self.delays.is_due(writer, now) and nodes:
                term = self._terms.new()
                self.preparing[writer] = Preparation(
                    writer, term, now + DEADLINE, writer in self._lose
                )
                self._changed = True

    def _decide(
        self,
        one: Preparation,
        now: float,
        nodes: Mapping[str, NodeReport],
        owners: Mapping[int, Owned],
    ) -> None:
        refusal = one.refusal()
        if refusal:
            self._give_way(one, refusal, now)
            return
        lacking = "not every node has answered" if one.lacks(nodes, owners) else ""
        away = "" if self._registrations is None else self._registrations.away(one.consumers)
        if lacking or away:
            if now < one.until:
                return
            if lacking or not one.lose:
                self._give_way(one, lacking or away, now)
                return
        registrations = self._registrations
        if registrations is None:
            found = one.application_cut(self._topic)
        else:
            planned = {n: registrations.reached(n)[one.writer] for n in registrations.registered()}
            for name, answer in one.consumers.items():
                planned[name] = max(planned.get(name, 0), answer.epoch)
            found = one.served_cut(self._topic, planned)
        if isinstance(found, Blocked):
            self._give_way(one, found.reason, now)
            return
        self._own.add(one.writer)
        self._end(Ended(one.writer, one.term, CutStage.DECIDED, found))

    def _give_way(self, one: Preparation, why: str, now: float) -> None:
        if self.delays.refused(one.writer, why, now):
            _LOG.warning("writer %s is silent and waited for: %s", WriterId.text(one.writer), why)
        del self.preparing[one.writer]
        self._changed = True

    def _end(self, one: Ended) -> None:
        self.ended[one.writer] = one
        self.delays.forget(one.writer)
        self.preparing.pop(one.writer, None)
        if one.cut is None or one.stage is not CutStage.DECIDED:
            self._lose.discard(one.writer)
            self._own.discard(one.writer)
            self._inherited.forget(one.term)
            self.unsaved = True
            return
        self._shown[one.writer] = one
        self._news.append(one.cut)
        self._changed = True
        self.decided_version = 0  # the next ledger is the first that names it
        self.kept.log_cut(one.cut)

    def _advance(self, nodes: Mapping[str, NodeReport], now: float) -> None:
        """Take decided writers further: known to every node, committed by every consumer."""
        everywhere = min((report.ledger for report in nodes.values()), default=0)
        if self.lacking(nodes.values()):
            everywhere = 0  # one of them may be of a writer whose other cut is decided here
        for one in list(self.ended.values()):
            shown = self._shown.get(one.writer)
            if shown is None or shown.stage is not one.stage or one.stage >= CutStage.CLEARED:
                continue
            if one.stage is CutStage.DECIDED:
                if nodes and self.decided_version and everywhere >= self.decided_version:
                    self._end(Ended(one.writer, one.term, CutStage.COMPLETE, one.cut))
            elif (
                self._registrations is not None
                and one.cut is not None
                and self._registrations.have_all(one.writer, one.cut.epoch)
                and not self.kept.holds(one, now)
            ):
                self._end(Ended(one.writer, one.term, CutStage.CLEARED, one.cut))
        self.kept.bound(self.ended)
        for one in too_old(self.ended, served=self._registrations is not None):
            self._end(one)

    # -- telling ----------------------------------------------------------------------------------

    def to_save(self) -> list[Ended]:
        """What to write; :meth:`on_saved` says when it is on disk."""
        return [one for one in self.ended.values() if one.stage > CutStage.DECIDED]

    def on_saved(self) -> None:
        """What :meth:`to_save` gave is on disk: it may be told."""
        self.unsaved = False
        self._changed = self._changed or self._shown != self.ended
        self._shown = dict(self.ended)

    def _tell(self, now: float) -> list[Send]:
        if self._registrations is not None and self._registrations.changed:
            self._registrations.changed, self._changed = False, True
        if not self._changed and now < self._next_repeat:
            return []
        self._next_repeat = now + REPEAT
        if self._changed:
            self._changed = False
            self._version = self._terms.new()
            if not self.decided_version:
                self.decided_version = self._version
        cuts = [one.cut for one in self._shown.values() if one.cut]
        told, self._news = self._news, []
        for _ in range(min(REPEATED_CUTS, len(cuts))):
            self._turn = (self._turn + 1) % len(cuts)
            told.append(cuts[self._turn])
        pending = self.delays.told(self._version, now)
        ledger = ledger_of(
            self._topic, self._version, self._shown, self.preparing, self._registrations
        )
        return [*map(Send, told), Send(ledger), *([Send(pending)] if pending else [])]
