"""Catch-up: a member gets the messages of earlier terms that it lacks, from the primary.

``Record.since`` is the time from which on a copy has everything; a primary has all. A member that
is to have the past pulls what it lacks, and tells the primary how far it is.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from evenflow.overlay.protocol.messages import Pull, Pulled, Synced
from evenflow.overlay.replica.copy import BATCH, RETRY_S
from evenflow.overlay.replica.states import State

if TYPE_CHECKING:
    from evenflow.overlay.replica.copy import Copy


@dataclass(slots=True)
class Fetching:
    """A range of times whose messages are being pulled."""

    next: int
    end: int
    since: int
    """What we shall hold everything from, when it is done."""
    asked: float = -1.0


class CatchUp:
    """How a member gets what it lacks from before its term."""

    def __init__(self, copy: Copy) -> None:
        self._copy = copy
        self.fetching: Fetching | None = None
        """What is being pulled; None: nothing."""
        self._goal = 0
        """The time from which on the primary wants us to hold everything."""

    def stop(self) -> None:
        """Pull no more."""
        self.fetching = None

    def rejoin(self, wrong: int, start: int) -> int:
        """Return from when on we hold everything, when we may lack all from ``wrong`` on.

        The times up to the start of what the primary sends are pulled, if that closes the gap to
        what we hold.
        """
        since = self._copy.record.since
        if since >= wrong:
            return start
        if wrong < start:
            self.fetching = Fetching(wrong, start, since)
            return start
        return since

    def follow(self, goal: int) -> None:
        """A term begins: hold everything from a time on, and say how far we are."""
        self._goal = goal
        self._fetch_goal()
        self.report()
        self.pull()

    def _fetch_goal(self) -> None:
        record = self._copy.record
        if self.fetching is None and self._goal < record.since:
            self.fetching = Fetching(self._goal, record.since, self._goal)

    def report(self) -> None:
        """Tell the primary how far we are."""
        copy, record = self._copy, self._copy.record
        synced = Synced(
            record.shelf, record.term, record.since, self.fetching is None, copy.written
        )
        copy.host.mail.send(copy.config.primary, synced)

    def pull(self) -> None:
        """Ask for the next messages when it is due."""
        copy, host, fetching = self._copy, self._copy.host, self.fetching
        if fetching is not None and host.now >= fetching.asked + RETRY_S:
            fetching.asked = host.now
            pull = Pull(copy.shelf, copy.record.term, fetching.next, fetching.end)
            host.mail.send(copy.config.primary, pull)

    def on_pull(self, sender: str, pull: Pull) -> None:
        """A member asks for messages."""
        copy, store = self._copy, self._copy.host.store
        if not copy.leading or pull.term != copy.record.term:
            return
        found = store.read(copy.shelf, pull.start, pull.end, BATCH)
        after = found[-1].time + 1 if found else pull.end
        more = store.read(copy.shelf, after, pull.end, 1)
        upto = more[0].time if more else pull.end
        pulled = Pulled(copy.shelf, copy.record.term, pull.start, upto, tuple(found))
        copy.host.mail.send(sender, pulled)

    def on_pulled(self, sender: str, pulled: Pulled) -> None:
        """Write the messages that we asked for."""
        copy, fetching = self._copy, self.fetching
        if fetching is None or copy.state is not State.FOLLOWING or sender != copy.config.primary:
            return
        if pulled.term != copy.record.term or pulled.start != fetching.next:
            return
        end = min(pulled.end, fetching.end)
        kept = [m for m in pulled.messages if copy.label.floor <= m.time < end]
        if end <= fetching.next:
            return
        copy.host.store.append(copy.shelf, kept, copy.committed)
        fetching.next, fetching.asked = end, -1.0
        if end >= fetching.end:
            self.fetching = None
            copy.update(since=fetching.since)
            self._fetch_goal()
            self.report()
        self.pull()
