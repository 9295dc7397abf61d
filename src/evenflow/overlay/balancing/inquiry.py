"""An inquiry: queries that belong together, and the best place that was named so far.

Each query has a number that is never given again, not even by the same broker in another life. An
answer counts once, and only while its query is open: one that comes twice, after the deadline, or
to a question of earlier is no answer to this one. What is not answered by the deadline is done
without, so an inquiry always ends.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from evenflow.overlay.balancing.places import from_bytes

if TYPE_CHECKING:
    from evenflow.overlay.protocol.messages import Place


class Inquiry:
    """One inquiry.

    Args:
        deadline: When it ends, whatever is missing.
        best: The best place that is known without asking.
    """

    def __init__(self, deadline: float, best: Place | None) -> None:
        self._deadline = deadline
        self._open: set[int] = set()
        self.best = best

    @property
    def complete(self) -> bool:
        """Whether every query is answered."""
        return not self._open

    def ask(self, number: int) -> None:
        """A query is sent."""
        self._open.add(number)

    def answer(self, number: int, place: Place | None) -> bool:
        """Take an answer; return whether it is one to an open query of ours."""
        if number not in self._open:
            return False
        self._open.discard(number)
        self.consider(place)
        return True

    def consider(self, place: Place | None) -> None:
        """Keep a place if it is better than the best so far; of equals the first stays."""
        if place is not None and (
            self.best is None or from_bytes(place.loads).better_than(from_bytes(self.best.loads))
        ):
            self.best = place

    def is_over(self, now: float) -> bool:
        """Say whether there is nothing to wait for any more."""
        return self.complete or now >= self._deadline
