"""The writers of a topic as an operator sees them: who is there, who is silent, and why one waits.

Put together from what anybody may hear: the writers' own closes, the nodes' silences, the
balancer's ledger with its cuts and its word on those that wait, and the positions of consumers. A
position may name a writer that nobody else knows any more (all nodes were restarted while its
consumer was away): it is *absent*, and the consumer waits for its end.

It lives as long as one look of a command, and forgets nothing meanwhile.
"""

from __future__ import annotations

from typing import Any, Final

from evenflow.domain.channels import Gone
from evenflow.model.ids import NodeId, WriterId
from evenflow.model.messages import (
    CommitCopy,
    ConsumerCommit,
    CutStage,
    EpochClose,
    Ledger,
    PendingCuts,
    WriterCut,
    WriterSilence,
)
from evenflow.slices.consumer.registry.consumers import Consumers
from evenflow.slices.ledger_view import LedgerView

ABSENT: Final = "absent"
HEARD: Final = "heard"


class WritersView:
    """What is said in the domain about the writers of a topic."""

    def __init__(self, topic: str) -> None:
        self.topic = topic
        self.ledger = LedgerView()
        self.live: set[int] = set()
        self._silent: dict[str, tuple[int, ...]] = {}
        self._pending: PendingCuts | None = None
        self._consumers = Consumers()

    def see(self, message: Any) -> None:
        """Take in what the domain shows."""
        match message:
            case Gone():
                if message.message_type is EpochClose:
                    self.live.discard(message.key[0])
            case _ if message.topic != self.topic:
                pass
            case EpochClose():
                self.live.add(message.writer)
            case WriterSilence():
                self._silent[message.node] = message.writers
            case ConsumerCommit():
                self._consumers.commit(message)
            case CommitCopy():
                self._consumers.recall(message)
            case _:
                self._see_balancer(message)

    def _see_balancer(self, message: Ledger | WriterCut | PendingCuts) -> None:
        match message:
            case Ledger():
                self.ledger.on_ledger(message)
            case WriterCut():
                self.ledger.on_cut(message)
            case PendingCuts() if self._pending is None or message.version >= self._pending.version:
                self._pending = message

    def known(self) -> list[int]:
        """All writers that somebody names."""
        silent = {writer for some in self._silent.values() for writer in some}
        return sorted(self.live | silent | self.ledger.entries.keys() | self._positions().keys())

    def rows(self) -> list[dict[str, Any]]:
        """The writers that an operator should see, as the listing shows them."""
        waiting, positions = self._waiting(), self._positions()
        found = []
        for writer in self.known():
            stage, cut = self.ledger.stage(writer), self.ledger.cuts.get(writer)
            if stage is CutStage.CLEARED and writer not in self.live:
                continue  # it said goodbye, or everybody has all of it
            nodes = sorted(
                NodeId(node).name for node, some in self._silent.items() if writer in some
            )
            state = self._state(writer, silent=bool(nodes))
            silent_s, why = waiting.get(writer, (None, "")) if state != HEARD else (None, "")
            found.append(
                {
                    "writer": WriterId.text(writer),
                    "state": state,
                    "silent_at": ", ".join(nodes),
                    "silent_s": silent_s,
                    "waits": why,
                    "consumers": positions.get(writer, []),
                    "beyond": cut.beyond if cut else 0,
                }
            )
        return found

    def _state(self, writer: int, *, silent: bool) -> str:
        stage = self.ledger.stage(writer)
        if stage is not None:
            return stage.name.lower()
        if silent:
            return "silent"
        return HEARD if writer in self.live else ABSENT

    def _waiting(self) -> dict[int, tuple[float, str]]:
        """Of writers that have not ended yet: how long they are silent, and why they wait.

        What goes with an older ledger is the word of a balancer that leads no more.
        """
        told = self._pending
        if told is None or told.version < self.ledger.version:
            return {}
        rows = zip(told.writers, told.waited_s, told.reasons, strict=False)
        return {writer: (round(waited, 1), why) for writer, waited, why in rows}

    def _positions(self) -> dict[int, list[str]]:
        """Which consumers have a writer in their positions."""
        found: dict[int, list[str]] = {}
        for name in self._consumers.names():
            newest = self._consumers.newest(name)
            for writer in {*newest.writers, *newest.planned_writers} if newest else ():
                found.setdefault(writer, []).append(name)
        return found
