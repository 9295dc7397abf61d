"""An application with state for each slice, which knows exactly which items are in it.

The state of a slice is, for each writer, the first and the last number that were folded into it,
and the term under which it began with nothing. Numbers must follow one another, and what lies
before the first must not have been committed since the state began: one that comes twice, or is
missing, is a :class:`~evenflow.testing.invariants.Violation`.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from evenflow.slices.node.application.states import (
    ForgetState,
    GiveState,
    SnapshotState,
    TakeState,
)
from evenflow.testing.invariants import Violation

if TYPE_CHECKING:
    from collections.abc import Mapping

    from evenflow.model.batch import Batch
    from evenflow.slices.node.application.states import Task
    from evenflow.testing.invariants import Number


@dataclass(slots=True)
class Folded:
    """The state of a slice."""

    term: int
    """Under which it began with nothing."""
    spans: dict[int, tuple[int, int]] = field(default_factory=dict)
    """For each writer the first and the last number."""


class Folding:
    """The application of one node.

    Args:
        commit_terms: Under which term each place was committed, by whomever.
    """

    def __init__(self, commit_terms: Mapping[Number, int]) -> None:
        self.states: dict[int, Folded] = {}
        self.emptied = 0
        """Times that it was told that nobody has a state."""
        self._commit_terms = commit_terms

    def do(self, task: Task, terms: Mapping[int, int]) -> dict[int, bytes]:
        """Give, take or forget; the node holds its slices under these terms."""
        match task:
            case GiveState(slices=slices) | SnapshotState(slices):
                return {one: self._give(self.states[one]) for one in slices}
            case TakeState(slice_id, None):
                self.emptied += 1
                self.states[slice_id] = Folded(terms.get(slice_id, 0))
            case TakeState(slice_id, bytes(state)):
                term, spans = json.loads(state)
                self.states[slice_id] = Folded(
                    term, {int(w): (a, b) for w, (a, b) in spans.items()}
                )
            case ForgetState(slice_id):
                if self.states.pop(slice_id, None) is None:
                    raise Violation(f"slice {slice_id} is forgotten and was not here")
        return {}

    @staticmethod
    def _give(state: Folded) -> bytes:
        return json.dumps([state.term, state.spans]).encode()

    def fold(self, batch: Batch) -> None:
        """Items are processed."""
        state = self.states.get(batch.slice)
        if state is None:
            raise Violation(f"{batch!r} is processed before the state of its slice is taken")
        if batch.writer not in state.spans:
            self._check_missing(state, batch)
        first, last = state.spans.get(batch.writer, (batch.first, batch.first - 1))
        if batch.first != last + 1:
            raise Violation(f"{batch!r} is folded into a state that has {first} to {last} of it")
        state.spans[batch.writer] = (first, batch.last)

    def _check_missing(self, state: Folded, batch: Batch) -> None:
        for number in range(1, batch.first):
            term = self._commit_terms.get((batch.writer, batch.slice, number), 0)
            if term > state.term:
                raise Violation(f"{batch!r}: {number} was committed since the state began")
