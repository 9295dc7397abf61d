"""The end of writers, at a node: who is silent, what is here of them, and what counts no more.

Silence makes a node do nothing but tell it. When the ledger says that a cut is being prepared, a
node that hears the writer objects; any other takes in nothing more of it and says what it has. When
the cut is decided, what lies beyond it is dropped, and comes in no more, from whomever. The rules
for everybody are in ``docs/protocol.md``, "How a writer ends".
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from evenflow.model.messages import CutAnswer, CutStage, WriterSilence
from evenflow.slices.actions import Send

if TYPE_CHECKING:
    from evenflow.model.messages import Ledger, WriterCut
    from evenflow.slices.ledger_view import LedgerView
    from evenflow.slices.node.writers import Writers

TELL_EVERY: Final = 1.0
ANSWER_EVERY: Final = 0.5


class Endings:
    """What one node does about writers that end.

    Args:
        topic: The topic.
        node: The node.
        writers: The writers it knows.
        silence: Seconds after which a writer that is not heard is silent.
    """

    def __init__(self, topic: str, node: str, writers: Writers, silence: float) -> None:
        self._topic, self._node = topic, node
        self._writers = writers
        self._silence = silence
        self._applied: dict[int, CutStage] = {}
        self._next_tell = self._next_answer = 0.0
        self._told: WriterSilence | None = None

    @property
    def view(self) -> LedgerView:
        """The ledger as this node knows it."""
        return self._writers.ledger

    def on_ledger(self, ledger: Ledger) -> None:
        """The balancer tells who is being ended."""
        news, serving = self.view.on_ledger(ledger), self._writers.serving
        if serving is not None and ledger.version == self.view.version:
            serving.on_listed(ledger.consumers)
        if news:
            self._next_answer = 0.0
            self._apply()

    def on_cut(self, cut: WriterCut) -> None:
        """The numbers of a cut."""
        if self.view.on_cut(cut):
            self._apply()

    def on_stall(self, now: float) -> None:
        """This node stood still: it could not have heard anybody."""
        self._writers.heard = dict.fromkeys(self._writers.heard, now)

    def poll(self, now: float) -> list[Send]:
        """What to tell the balancer now."""
        actions: list[Send] = []
        if now >= self._next_answer and self.view.preparing():
            self._next_answer = now + ANSWER_EVERY
            for writer, term in self.view.preparing().items():
                actions.append(Send(self._answer(writer, term, now)))
        if now >= self._next_tell:
            self._next_tell = now + TELL_EVERY
            silence = self._silences(now)
            empty = not (silence.writers or silence.goodbyes)
            if not empty or (self._told is not None and silence != self._told):
                actions.append(Send(silence))
            self._told = None if empty else silence
        return actions

    # -- inside -----------------------------------------------------------------------------------

    def _silences(self, now: float) -> WriterSilence:
        known, view = self._writers.gone_since, self.view
        silent = (w for w in known if not self._hears(w, now) and view.stage(w) is None)
        # A balancer before this one has cleared a writer, and this one has not heard of it.
        goodbyes = view.ahead.union(w for w in self._writers.goodbyes if not view.is_over(w))
        return WriterSilence(
            self._topic, self._node, tuple(sorted(silent)), tuple(sorted(goodbyes))
        )

    def _hears(self, writer: int, now: float) -> bool:
        heard = self._writers.heard.get(writer)
        return heard is not None and now - heard < self._silence

    def _answer(self, writer: int, term: int, now: float) -> CutAnswer:
        serving = self._writers.serving
        held = sorted(self._writers.cache.available(), key=lambda one: one.slice)
        reason = ""
        if self._hears(writer, now):
            reason = "hears it"
        elif any(one.loading for one in held):  # positions are at the store, with the states
            reason = "waits for states of the store"
        have, last, uncertain = [], [], 0
        for one in held:
            track = one.tracks.get(writer)
            if track is None:
                have.append(0)
                last.append(0)
                continue
            certain = serving is not None or track.known or track.fresh
            have.append(track.next - 1 if certain else track.done)
            last.append(max(track.last, track.next - 1))
            uncertain += 0 if certain else max(0, track.next - 1 - track.done)
        epoch, slices, lasts = serving.closed(writer) if serving is not None else (0, (), ())
        return CutAnswer(
            self._topic, writer, term, self._node, consumer=False, reason=reason,
            slices=tuple(one.slice for one in held),
            owner_terms=tuple(one.term for one in held),
            have=tuple(have), last=tuple(last), uncertain=uncertain,
            epoch=epoch, close_slices=slices, close_last=lasts,
        )  # fmt: skip

    def _apply(self) -> None:
        """Do what the ledger says of writers that have ended, each stage once."""
        view = self.view
        for writer, entry in view.entries.items():
            before, cut = self._applied.get(writer), view.cut(writer)
            if entry.stage is CutStage.PREPARING or entry.stage is before:
                continue
            if entry.stage is CutStage.CLEARED:
                self._writers.forget(writer)
            elif entry.stage is CutStage.FORGOTTEN:
                self._writers.close(writer)
            elif cut is None:
                continue
            elif before is None:
                self._writers.end(cut)
            self._applied[writer] = entry.stage
        for writer in self._applied.keys() - view.entries.keys():
            del self._applied[writer]
