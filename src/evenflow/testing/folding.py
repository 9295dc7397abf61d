"""An application with state for each slice, which knows exactly which items are in it.

The state of a slice is, for each writer, the first and the last number that were folded into it.
Numbers must follow one another: one that comes twice, or after a gap, is a
:class:`~evenflow.testing.invariants.Violation`.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from evenflow.slices.node.application.states import ForgetState, GiveState, TakeState
from evenflow.testing.invariants import Violation

if TYPE_CHECKING:
    from evenflow.model.batch import Batch
    from evenflow.slices.node.application.states import Task

Spans = dict[int, tuple[int, int]]


class Folding:
    """The application of one node."""

    def __init__(self) -> None:
        self.states: dict[int, Spans] = {}
        self.emptied = 0
        """Times that it was told that nobody has a state."""

    def do(self, task: Task) -> dict[int, bytes]:
        """Give, take or forget."""
        match task:
            case GiveState(_, slices):
                return {one: self._give(one) for one in slices}
            case TakeState(slice_id, None):
                self.emptied += 1
                self.states[slice_id] = {}
            case TakeState(slice_id, bytes(state)):
                spans = json.loads(state)
                self.states[slice_id] = {int(one): (a, b) for one, (a, b) in spans.items()}
            case ForgetState(slice_id):
                if self.states.pop(slice_id, None) is None:
                    raise Violation(f"slice {slice_id} is forgotten and was not here")
        return {}

    def _give(self, slice_id: int) -> bytes:
        return json.dumps(self.states[slice_id]).encode()

    def fold(self, batch: Batch) -> None:
        """Items are processed."""
        if batch.slice not in self.states:
            raise Violation(f"{batch!r} is processed before the state of its slice is taken")
        spans = self.states[batch.slice]
        first, last = spans.get(batch.writer, (batch.first, batch.first - 1))
        if batch.first != last + 1:
            raise Violation(f"{batch!r} is folded into a state that has {first} to {last} of it")
        spans[batch.writer] = (first, batch.last)
