"""The preparation of a cut: who has answered what, and where the stream can end.

Pure arithmetic over the answers. Everybody who answered has promised to take in, or to plan,
nothing more of the writer until the ledger says otherwise: so what they said stays true.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

from evenflow.errors.words import counted
from evenflow.model.messages import WriterCut

if TYPE_CHECKING:
    from evenflow.model.messages import CutAnswer


class Blocked(NamedTuple):
    """Why there can be no cut, or not yet."""

    reason: str


class Owned(NamedTuple):
    """The owner of a slice and its term."""

    node: str
    term: int


@dataclass(slots=True)
class Preparation:
    """A cut that is being prepared."""

    writer: int
    term: int
    until: float
    """When it is abandoned."""
    lose: bool
    """Whether an operator has given up what is missing."""
    nodes: dict[str, CutAnswer] = field(default_factory=dict)
    consumers: dict[str, CutAnswer] = field(default_factory=dict)

    def on_answer(self, answer: CutAnswer) -> None:
        """Take an answer in, if it makes sense; a later one counts."""
        rows = {len(answer.slices), len(answer.owner_terms), len(answer.have), len(answer.last)}
        if len(rows) > 1 or len(answer.close_slices) != len(answer.close_last):
            return
        (self.consumers if answer.consumer else self.nodes)[answer.who] = answer

    def refusal(self) -> str:
        """Why somebody does not agree; empty when nobody objects."""
        for answer in (*self.nodes.values(), *self.consumers.values()):
            if answer.reason:
                return f"{answer.who}: {answer.reason}"
        return ""

    def lacks(self, nodes: Iterable[str], owners: Mapping[int, Owned]) -> bool:
        """Whether the answer of a node is still lacking, or not of its present slices."""
        if any(node not in self.nodes for node in nodes):
            return True
        said = {
            (slice_id, node, term)
            for node, answer in self.nodes.items()
            for slice_id, term in zip(answer.slices, answer.owner_terms, strict=True)
        }
        return any((slice_id, *owned) not in said for slice_id, owned in owners.items())

    # -- where it ends ----------------------------------------------------------------------------

    def application_cut(self, topic: str) -> WriterCut | Blocked:
        """The cut of a topic that nodes process: what the owner of each slice has."""
        uncertain = sum(answer.uncertain for answer in self.nodes.values())
        if uncertain and not self.lose:
            they_were = "it was" if uncertain == 1 else "they were"
            return Blocked(
                f"nodes hold {counted(uncertain, 'item')} of it and do not know whether {they_were}"
                " processed"
            )
        rows = sorted(self._rows())
        kept = [(s, have, term) for s, term, have, _ in rows if have]
        slices, upto, terms = zip(*kept, strict=True) if kept else ((), (), ())
        beyond = sum(max(0, last - have) for _, _, have, last in rows)
        return WriterCut(topic, self.writer, self.term, 0, slices, upto, terms, beyond)

    def served_cut(self, topic: str, planned: Mapping[str, int]) -> WriterCut | Blocked:
        """The cut of a served topic: the newest close that all owners have whole.

        Args:
            topic: The topic.
            planned: How far each registered consumer has read, or may have planned.
        """
        have = {slice_id: upto for slice_id, _, upto, _ in self._rows()}
        beyond = sum(max(0, last - upto) for _, _, upto, last in self._rows())
        furthest = max(planned.values(), default=0)
        best: CutAnswer | None = None
        for answer in self.nodes.values():
            if best is not None and answer.epoch <= best.epoch:
                continue
            named = zip(answer.close_slices, answer.close_last, strict=True)
            if all(have.get(slice_id, 0) >= last for slice_id, last in named):
                best = answer
        slices, last = (best.close_slices, best.close_last) if best is not None else ((), ())
        epoch = best.epoch if best is not None else 0
        if self.lose:
            # What was planned or closed beyond it counts as far as it is here: nobody knows the
            # numbers at which those epochs end, so none are waited for.
            epoch = max([furthest, *(answer.epoch for answer in self.nodes.values())])
        if epoch < furthest:
            ahead = sorted(name for name, at in planned.items() if at > epoch)
            who = f"consumer {ahead[0]} has" if len(ahead) == 1 else f"{', '.join(ahead)} have"
            return Blocked(
                f"{who} planned up to epoch {furthest}, and the nodes have it up to {epoch}"
            )
        return WriterCut(topic, self.writer, self.term, epoch, slices, last, (), beyond)

    def _rows(self) -> Iterable[tuple[int, int, int, int]]:
        for answer in self.nodes.values():
            yield from zip(answer.slices, answer.owner_terms, answer.have, answer.last, strict=True)
