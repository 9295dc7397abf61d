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

Of a durable topic a slice that is taken is *loading* until the log at the store has said where it
goes on from (:mod:`~evenflow.slices.node.application.keeping`).
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping

    from evenflow.slices.node.application.snapshots import Snapshots

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


@dataclass(frozen=True, slots=True)
class SnapshotState:
    """Ask the application for the states of slices, to store them."""

    slices: tuple[int, ...]


Task = GiveState | TakeState | ForgetState | SnapshotState


class States:
    """The states of one node's slices, as far as terms and positions are concerned.

    Args:
        limit: Bytes that the state of a slice may have when it is given.
        snapshots: What is kept of them at the store; None: nothing.
    """

    def __init__(self, limit: int, snapshots: Snapshots | None = None) -> None:
        self.limit = limit
        self._snapshots = snapshots
        self.lost = 0
        """Times that a state was given up because others had gone further."""
        self._began: dict[int, int] = {}
        """Under which term each state here began."""
        self._loading: dict[int, int] = {}
        """Slices that wait for the log, with the term of the state that is here; 0: none is."""
        self._behind: set[int] = set()
        """Those of them that a publisher's floor is beyond."""
        self._tasks: deque[Task] = deque()
        self._in_hand: Task | None = None

    # -- what happens to slices -------------------------------------------------------------------

    def own(self, slice_id: int, term: int, before: int = 0) -> bool:
        """A slice is this node's by ``TAKE``; what the application has of it stays.

        Args:
            slice_id: The slice.
            term: The term under which it was taken.
            before: The term under which it was held until now.

        Returns:
            Whether the log at the store has to be read first.
        """
        if self._snapshots is None:
            if slice_id not in self._began:
                self.begin(slice_id, term)
            return False
        own = self._loading.setdefault(slice_id, before if slice_id in self._began else 0)
        self._snapshots.claim(slice_id, term, own)
        return True

    def has(self, slice_id: int) -> bool:
        """Whether the application has a state of a slice."""
        return slice_id in self._began

    def keep(self, slice_id: int, term: int) -> None:
        """The state of a slice that was taken is the one that is here."""
        if slice_id in self._behind:
            self.begin(slice_id, term, lost=True)
        self._loaded(slice_id)

    def _loaded(self, slice_id: int) -> bool:
        """The log was read, or need not be; whether it had to be."""
        self._behind.discard(slice_id)
        return self._loading.pop(slice_id, None) is not None

    def adopt(self, slice_id: int, term: int, state: bytes | None) -> None:
        """A slice came in a handover, or is begun from a snapshot."""
        if not self._loaded(slice_id) and self._snapshots is not None:
            self._snapshots.change(slice_id)
        if state is None:  # of a giver whose application has none
            self.begin(slice_id, term)
            return
        self._began[slice_id] = MOVED
        self._tasks.append(TakeState(slice_id, state))

    def drop(self, slices: Collection[int]) -> None:
        """Slices are somebody else's."""
        if self._snapshots is not None:
            self._snapshots.drop(slices)
        for slice_id in slices:
            self._loaded(slice_id)
            if self._began.pop(slice_id, None) is not None:
                self._tasks.append(ForgetState(slice_id))

    def on_floor(self, slice_id: int, term: int, *, known: bool) -> None:
        """A publisher's floor is beyond what was processed here.

        Args:
            slice_id: The slice.
            term: The term under which it is held.
            known: Whether a position was certain before.
        """
        if slice_id in self._loading:
            self._behind.add(slice_id)
            return
        began = self._began.get(slice_id)
        if began is None or (began == term and not known):
            return  # it began without what lies before the floors
        self.begin(slice_id, term, lost=True)

    def begin(self, slice_id: int, term: int, *, lost: bool = False) -> None:
        """Nobody has the state of a slice, or what there was of it is lost."""
        self.lost += lost
        self._loaded(slice_id)
        self._began[slice_id] = term
        self._tasks.append(TakeState(slice_id, None))

    # -- what the application does ----------------------------------------------------------------

    def ask(self, term: int, slices: frozenset[int]) -> None:
        """Have the application give the states of a session's slices."""
        self._tasks.append(GiveState(term, tuple(sorted(slices & self._began.keys()))))

    def save(self, slices: tuple[int, ...]) -> None:
        """Have the application give the states of slices, to store them."""
        self._tasks.append(SnapshotState(slices))

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

    def agreeing(self, slices: Iterable[int]) -> tuple[int, ...]:
        """Those slices whose state at the application is that of what is held here now.

        A slice may have gone, and have come again, since the application was told last.
        """
        changing = {one.slice for one in self._tasks if isinstance(one, TakeState | ForgetState)}
        return tuple(one for one in slices if one in self._began and one not in changing)

    def finish(self) -> None:
        """The application is through with its task."""
        self._in_hand = None

    def fault_of(self, states: Mapping[int, bytes]) -> str:
        """Why states cannot be given; empty when they can."""
        for slice_id, state in states.items():
            if len(state) > self.limit:
                return (
                    f"the state of slice {slice_id} has {len(state):,} bytes, more than "
                    f"node.state_bytes = {self.limit:,}"
                )
        return ""
