"""The messages from before a term: who lacks them pulls them from whoever has them.

``Record.since`` is the time from which on a copy has everything. A secondary that is to have the
history pulls it from its primary until both have the same. A primary that took over before it had
everything pulls the rest from its secondary, from the other broker of the term before (``former``),
or from a holder that turns up; until then it answers no question about those times.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from evenflow.overlay.protocol.messages import Inquire, Known, Pull, Pulled, Synced
from evenflow.overlay.replica.copy import BATCH, RETRY_S
from evenflow.overlay.replica.record import divergence
from evenflow.overlay.replica.replication import Stream
from evenflow.overlay.replica.states import State

if TYPE_CHECKING:
    from collections.abc import Callable

    from evenflow.overlay.replica.copy import Office
    from evenflow.overlay.replica.record import Record

UNKNOWN = 1 << 62


@dataclass(slots=True)
class Fetching:
    """History that is being pulled."""

    source: str
    next: int
    end: int
    since: int
    """What we shall hold everything from, when it is done."""
    asked: float = -1.0


class History(Stream):
    """A copy that gets what it lacks from before its term."""

    def __init__(
        self, office: Office, record: Record, committed: int, on_progress: Callable[[], None]
    ) -> None:
        super().__init__(office, record, committed, on_progress)
        self._fetching: Fetching | None = None
        self._goal = 0
        """As secondary: the time from which on the primary wants us to hold everything."""
        self._partner_whole = False
        """As primary: whether the secondary has the history that it is to have."""
        self._partner_since = UNKNOWN
        """As primary: the time from which on the secondary has everything."""
        self._next_check = 0.0

    def _restart_history(self) -> None:
        """As primary: a term begins."""
        self._fetching, self._partner_whole, self._partner_since = None, False, UNKNOWN

    @property
    def settled(self) -> bool:
        """Whether every copy that the level asks for is made."""
        return self.leading and self._fetching is None and self._partner_whole

    @property
    def lacks_history(self) -> bool:
        """Whether somebody alive has messages from before `Record.since` that we are to get."""
        return self._fetching is not None or (
            self.record.since > self.label.floor and self.office.members.alive(self.record.former)
        )

    def _want_goal(self) -> None:
        """As secondary: fetch the history that the primary has and we lack."""
        if self._fetching is None and self._goal < self.record.since:
            self._fetching = Fetching(
                self.record.primary, self._goal, self.record.since, self._goal
            )

    def _say_synced(self) -> None:
        whole = self._fetching is None
        record = self.record
        self.office.tell(record.primary, Synced(self.shelf, record.term, record.since, whole))

    def _compare_history(self) -> None:
        """As primary: get what the secondary has from before our time, if anything."""
        record = self.record
        if not self.leading or self._fetching is not None or not record.secondary:
            return
        if self._partner_since < record.since:
            self._fetch_from(record.secondary, self._partner_since, record.since)
        elif self._partner_whole and record.former == record.secondary:
            self._forget_former()

    def _forget_former(self) -> None:
        """It has nothing that we lack."""
        self.record = replace(self.record, former="")
        self.office.store.save(self.record)
        self._on_progress()

    def _fetch_from(self, source: str, since: int, end: int) -> None:
        self._fetching = Fetching(source, since, end, since)
        self._pull()

    def _pull(self) -> None:
        """Ask for the next part of the history."""
        fetching, record = self._fetching, self.record
        if fetching is None:
            former = record.former
            if not (self.leading and self.lacks_history) or former == record.secondary:
                return
            if self.office.now >= self._next_check:  # does it have what we lack? It will say.
                self._next_check = self.office.now + RETRY_S
                self.office.tell(former, Inquire(self.shelf))
            return
        if not self.office.members.alive(fetching.source):
            self._fetching = None
        elif self.office.now >= fetching.asked + RETRY_S:
            fetching.asked = self.office.now
            self.office.tell(fetching.source, Pull(self.shelf, fetching.next, fetching.end))

    def on_pull(self, sender: str, pull: Pull) -> None:
        """Give a part of the history."""
        found = self.office.store.read(self.shelf, pull.start, pull.end, BATCH)
        more = self.office.store.read(
            self.shelf, found[-1].time + 1 if found else pull.end, pull.end, 1
        )
        upto = more[0].time if more else pull.end
        self.office.tell(sender, Pulled(self.shelf, pull.start, upto, tuple(found)))

    def on_pulled(self, sender: str, pulled: Pulled) -> None:
        """Write a part of the history."""
        fetching = self._fetching
        if fetching is None or sender != fetching.source or pulled.start != fetching.next:
            return
        kept = [m for m in pulled.messages if m.time >= self.label.floor]
        self.office.store.append(self.shelf, kept, self.committed)
        fetching.next, fetching.asked = pulled.end, -1.0
        if pulled.end >= fetching.end:
            self._fetching = None
            self.record = replace(self.record, since=fetching.since)
            self.office.store.save(self.record)
            if self.state is State.FOLLOWING:
                self._want_goal()
                self._say_synced()
            self._compare_history()
            self._on_progress()
        self._pull()

    def _ask_former(self, former: str, known: Known) -> None:
        """The other broker of an earlier term answers whether it still has its copy."""
        if not known.confirmed:
            self._forget_former()
        elif self._fetching is None:
            end = min(self.record.since, divergence(self.record.epochs, known.confirmed))
            self._fetch_from(former, self.label.floor, end)
