"""Catch-up: a copy gets the messages of earlier terms that it lacks, from another copy.

``Record.since`` is the time from which on a copy has everything. A secondary that is to have all
pulls what it lacks from its primary until both have the same. A primary that took over before it
had everything pulls the rest from its secondary, from the other broker of the term before
(``former``), or from a holder that turns up; until then it answers no reader about those times.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from evenflow.overlay.protocol.messages import Inquire, Known, Pull, Pulled, Synced
from evenflow.overlay.replica.copy import BATCH, RETRY_S
from evenflow.overlay.replica.record import divergence
from evenflow.overlay.replica.states import State

if TYPE_CHECKING:
    from evenflow.overlay.replica.copy import Copy

UNKNOWN = 1 << 62


@dataclass(slots=True)
class Fetching:
    """A range of times whose messages are being pulled."""

    source: str
    next: int
    end: int
    since: int
    """What we shall hold everything from, when it is done."""
    asked: float = -1.0


class CatchUp:
    """How a copy gets what it lacks from before its term."""

    def __init__(self, copy: Copy) -> None:
        self._copy = copy
        self.fetching: Fetching | None = None
        """What is being pulled; None: nothing."""
        self._goal = 0
        """As secondary: the time from which on the primary wants us to hold everything."""
        self._partner_since = UNKNOWN
        """As primary: the time from which on the secondary has everything."""
        self.partner_whole = False
        """As primary: whether the secondary has caught up."""

    @property
    def complete(self) -> bool:
        """As primary: whether neither copy has anything to pull."""
        return self.fetching is None and self.partner_whole

    @property
    def lacking(self) -> bool:
        """Whether somebody alive has messages from before `Record.since` that we are to get."""
        copy = self._copy
        return self.fetching is not None or (
            copy.record.since > copy.label.floor and copy.host.members.alive(copy.record.former)
        )

    def stop(self) -> None:
        """Pull no more."""
        self.fetching = None

    def lead(self) -> None:
        """As primary: a term begins."""
        self.fetching, self.partner_whole, self._partner_since = None, False, UNKNOWN

    def follow(self, goal: int) -> None:
        """As secondary: a term begins; hold everything from a time on, and say how far we are."""
        self._goal = goal
        self._fetch_goal()
        self.report()
        self.pull()

    def rejoin(self, source: str, wrong: int, start: int) -> int:
        """Return from when on we hold everything, after missing terms that begin at ``wrong``.

        The times up to the new term's start are pulled from its primary, if that closes the gap to
        what we hold.
        """
        since = self._copy.record.since
        if since >= wrong:
            return start
        if wrong < start:
            self.fetching = Fetching(source, wrong, start, since)
            return start
        return since

    def _fetch_goal(self) -> None:
        """As secondary: pull what the primary has and we lack."""
        record = self._copy.record
        if self.fetching is None and self._goal < record.since:
            self.fetching = Fetching(record.primary, self._goal, record.since, self._goal)

    def report(self) -> None:
        """As secondary: tell the primary how far we are."""
        record = self._copy.record
        whole = self.fetching is None
        self._copy.host.mail.send(
            record.primary, Synced(record.shelf, record.term, record.since, whole)
        )

    def on_partner_since(self, since: int) -> None:
        """As primary: the secondary says from when on it holds everything."""
        self._partner_since = since
        self._compare()

    def _compare(self) -> None:
        """As primary: pull what the secondary has from before our time, if anything."""
        copy, record = self._copy, self._copy.record
        if not copy.leading or self.fetching is not None or not record.secondary:
            return
        if self._partner_since < record.since:
            self.fetch_from(record.secondary, self._partner_since, record.since)
        elif self.partner_whole and record.former == record.secondary:
            self._forget_former()

    def _forget_former(self) -> None:
        """It has nothing that we lack."""
        self._copy.update(former="")
        self._copy.on_progress()

    def fetch_from(self, source: str, since: int, end: int) -> None:
        """Pull the messages of a range of times from another copy."""
        self.fetching = Fetching(source, since, end, since)
        self.pull()

    def pull(self) -> None:
        """Ask for the next messages, or for the former broker's copy, when it is due."""
        copy, host, fetching = self._copy, self._copy.host, self.fetching
        if fetching is None:
            former = copy.record.former
            if not (copy.leading and self.lacking) or former == copy.record.secondary:
                return
            if host.now >= copy.next_check:  # does it have what we lack? It will say.
                copy.next_check = host.now + RETRY_S
                host.mail.send(former, Inquire(copy.shelf))
            return
        if not host.members.alive(fetching.source):
            self.fetching = None
        elif host.now >= fetching.asked + RETRY_S:
            fetching.asked = host.now
            host.mail.send(fetching.source, Pull(copy.shelf, fetching.next, fetching.end))

    def on_pull(self, sender: str, pull: Pull) -> None:
        """Another copy asks for messages."""
        copy, store = self._copy, self._copy.host.store
        found = store.read(copy.shelf, pull.start, pull.end, BATCH)
        after = found[-1].time + 1 if found else pull.end
        more = store.read(copy.shelf, after, pull.end, 1)
        upto = more[0].time if more else pull.end
        copy.host.mail.send(sender, Pulled(copy.shelf, pull.start, upto, tuple(found)))

    def on_pulled(self, sender: str, pulled: Pulled) -> None:
        """Write the messages that we asked for."""
        copy, fetching = self._copy, self.fetching
        if fetching is None or sender != fetching.source or pulled.start != fetching.next:
            return
        kept = [message for message in pulled.messages if message.time >= copy.label.floor]
        copy.host.store.append(copy.shelf, kept, copy.committed)
        fetching.next, fetching.asked = pulled.end, -1.0
        if pulled.end >= fetching.end:
            self.fetching = None
            copy.update(since=fetching.since)
            if copy.state is State.FOLLOWING:
                self._fetch_goal()
                self.report()
            self._compare()
            copy.on_progress()
        self.pull()

    def on_former_known(self, former: str, known: Known) -> None:
        """The other broker of an earlier term answers whether it still has its copy."""
        if not known.confirmed:
            self._forget_former()
        elif self.fetching is None:
            record = self._copy.record
            end = min(record.since, divergence(record.terms, known.confirmed))
            self.fetch_from(former, record.label.floor, end)
