"""State of an application, one for each slice: where it is, and when it agrees with the items.

What always holds: *the state of a slice is what the application made of consecutive items of each
writer, up to the positions of its node*. The application's methods are called in the thread that
gives it items, one after the other, as tasks:

``take(slice, state)``
    Before the first item of a slice: the state that the giver gave, or None when nobody has it.
``give(slice)``
    The state as bytes: in a handover, when nothing of the slice is in hand or comes any more.
``forget(slice)``
    The slice is somebody else's.

State and positions travel together in the giver's cache. A node that gets a slice by ``TAKE`` (it
is the first owner, or the last one died) begins with None. A giver that gets its own slice back
keeps what it has, as long as publishers confirm its positions: a floor beyond them means that
somebody else has processed items that are not in this state. Then it begins with None, too, and
that is counted.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterable

MOVED: Final = 0
"""A state that began under an older term, at whatever node."""


@dataclass(frozen=True, slots=True)
class GiveState:
    """Ask the application for the states of the slices of a session."""

    term: int
    slices: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class TakeState:
    """Tell the application where a slice begins."""

    slice: int
    state: bytes | None


@dataclass(frozen=True, slots=True)
class ForgetState:
    """Tell the application that a slice has gone."""

    slice: int


Task = GiveState | TakeState | ForgetState


class States:
    """The states of one node's slices, as far as terms and positions are concerned.

    Args:
        limit: Bytes that the state of a slice may have when it is given.
    """

    def __init__(self, limit: int) -> None:
        self.limit = limit
        self.lost = 0
        """Times that a state was given up because others had gone further."""
        self._began: dict[int, int] = {}
        """Under which term each state here began."""
        self._tasks: deque[Task] = deque()
        self._in_hand: Task | None = None

    # -- what happens to slices -------------------------------------------------------------------

    def own(self, slice_id: int, term: int) -> None:
        """A slice is this node's by ``TAKE``; what the application has of it stays."""
        if slice_id not in self._began:
            self._begin(slice_id, term)

    def adopt(self, slice_id: int, term: int, state: bytes | None) -> None:
        """A slice came in a handover."""
        if state is None:  # of a giver whose application has none
            self._begin(slice_id, term)
            return
        self._began[slice_id] = MOVED
        self._tasks.append(TakeState(slice_id, state))

    def drop(self, slices: Iterable[int]) -> None:
        """Slices are somebody else's."""
        for slice_id in slices:
            if self._began.pop(slice_id, None) is not None:
                self._tasks.append(ForgetState(slice_id))

    def on_floor(self, slice_id: int, term: int, *, known: bool) -> None:
        """A publisher's floor is beyond what was processed here.

        Args:
            slice_id: The slice.
            term: The term under which it is held.
            known: Whether a position was certain before.
        """
        began = self._began.get(slice_id)
        if began is None or (began == term and not known):
            return  # it began without what lies before the floors
        self.lost += 1
        self._begin(slice_id, term)

    def _begin(self, slice_id: int, term: int) -> None:
        self._began[slice_id] = term
        self._tasks.append(TakeState(slice_id, None))

    # -- what the application does ----------------------------------------------------------------

    def ask(self, term: int, slices: frozenset[int]) -> None:
        """Have the application give the states of a session's slices."""
        self._tasks.append(GiveState(term, tuple(sorted(slices & self._began.keys()))))

    @property
    def pending(self) -> bool:
        """Whether something is to be done before the application gets items."""
        return bool(self._tasks) or self._in_hand is not None

    def next(self) -> Task | None:
        """What the application shall do now; :meth:`finish` says when it has."""
        if self._in_hand is None and self._tasks:
            self._in_hand = self._tasks.popleft()
            return self._in_hand
        return None

    def finish(self) -> None:
        """The application is through with its task."""
        self._in_hand = None

    def fault_of(self, states: dict[int, bytes]) -> str:
        """Why states cannot be given; empty when they can."""
        for slice_id, state in states.items():
            if len(state) > self.limit:
                return (
                    f"the state of slice {slice_id} has {len(state):,} bytes, more than "
                    f"node.state_bytes = {self.limit:,}"
                )
        return ""
