"""What a balancer keeps books of, for one topic: ended writers, and registered consumers.

Both are on disk. The shell asks :meth:`Bookkeeping.due` after every turn, writes what
:meth:`Bookkeeping.files` gives, synced, and says :meth:`Bookkeeping.on_saved`; nothing is told to
anybody before that.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from evenflow.model.messages import (
    CommitCopy,
    ConsumerCommit,
    CutAnswer,
    WriterCut,
    WriterRequest,
    WriterSilence,
)
from evenflow.slices.actions import ConsumerGone, Send
from evenflow.slices.ending.cutting import Cutting
from evenflow.slices.ending.records import State, encode_consumers, encode_ended
from evenflow.slices.ending.registrations import Registrations

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from evenflow.model.messages import NodeReport
    from evenflow.slices.ending.preparation import Owned
    from evenflow.slices.terms import Terms

WRITERS: Final = "writers"
CONSUMERS: Final = "consumers"


class Bookkeeping:
    """The books of one topic."""

    def __init__(
        self,
        topic: str,
        terms: Terms,
        state: State | None,
        *,
        served: bool,
        expected: Iterable[str],
    ) -> None:
        state = state or State()
        self.registrations = Registrations(state.consumers, expected) if served else None
        self.cutting = Cutting(topic, terms, self.registrations, state.ended)
        self._topic = topic
        self._copies = self.registrations.copies() if self.registrations is not None else []
        """What consumers that are away have committed, to be told when somebody listens."""

    def handle(self, event: WriterSilence | CutAnswer | WriterCut | WriterRequest) -> None:
        """Hear of a writer."""
        match event:
            case WriterSilence():
                self.cutting.on_silence(event)
            case CutAnswer():
                self.cutting.on_answer(event)
            case WriterCut():
                self.cutting.on_copy(event)
            case WriterRequest():
                self.cutting.on_request(event)

    def on_consumer(self, event: ConsumerCommit | CommitCopy | ConsumerGone) -> list[Send]:
        """Hear of a consumer; return what to keep for it while it is away."""
        if self.registrations is None:
            return []
        match event:
            case ConsumerCommit():
                copy = self.registrations.on_commit(event)
            case CommitCopy():
                self.registrations.on_copy(event)
                return []
            case ConsumerGone():
                copy = self.registrations.on_gone(event.consumer)
        return [] if copy is None else [Send(copy)]

    def poll(
        self,
        now: float,
        nodes: Mapping[str, NodeReport],
        owners: Callable[[], Mapping[int, Owned] | None],
    ) -> list[Send]:
        """What to tell now."""
        copies, self._copies = self._copies, []
        return [*map(Send, copies), *self.cutting.poll(now, nodes, owners)]

    # -- the disk ---------------------------------------------------------------------------------

    def due(self, now: float) -> bool:
        """Whether something should be saved now."""
        waiting = self.registrations is not None and self.registrations.due(now)
        return waiting or self.cutting.unsaved

    def files(self, now: float) -> dict[str, bytes]:
        """The files that have changed, by their names."""
        found = {}
        if self.cutting.unsaved:
            found[WRITERS] = encode_ended(self._topic, self.cutting.to_save())
        if self.registrations is not None and self.registrations.due(now):
            found[CONSUMERS] = encode_consumers(self._topic, self.registrations.to_save())
        return found

    def on_saved(self, names: Iterable[str], now: float) -> None:
        """Files that :meth:`files` gave are on disk."""
        for name in names:
            if name == WRITERS:
                self.cutting.on_saved()
            elif self.registrations is not None:
                self.registrations.on_saved(now)
