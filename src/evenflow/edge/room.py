"""Memory for items that are not safe yet: so much for each client, so much for all.

A client that has used its share, or that sends while the whole is used up, is not read from
(:class:`~evenflow.edge.actions.Pause`); its link then tells it to wait. It is read again when half
of its share is free, and an eighth of the whole. What was read is never dropped, so the memory in
use is at most the bound and one frame of each client.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from evenflow.edge.actions import Pause, Resume

if TYPE_CHECKING:
    from collections.abc import Mapping

    from evenflow.edge.actions import Out
    from evenflow.edge.sessions import Session

RESUME_SHARE: Final = 8
"""All are read again when one part in so many is free."""


class Room:
    """What is held, and who waits for room.

    Args:
        by_link: The sessions.
        each: Bytes for one client.
        total: Bytes for all.
        out: Where actions go.
    """

    def __init__(self, by_link: Mapping[int, Session], each: int, total: int, out: Out) -> None:
        self._by_link = by_link
        self._each = each
        self._total = total
        self._out = out
        self.held = 0
        self._waiting: dict[int, Session] = {}

    def take(self, session: Session, size: int) -> None:
        """Something of a client is held."""
        session.held += size
        self.held += size
        full = session.held >= self._each or self.held >= self._total
        if full and not session.paused:
            session.paused = True
            self._waiting[session.link] = session
            self._out.append(Pause(session.link))

    def give_back(self, link: int, size: int) -> None:
        """It is safe."""
        self.held -= size
        session = self._by_link.get(link)
        if session is not None:
            session.held -= size

    def resume(self) -> None:
        """Read again from whom there is room for."""
        if not self._waiting or self.held > self._total - self._total // RESUME_SHARE:
            return
        for session in list(self._waiting.values()):
            if session.held * 2 <= self._each:
                self.forget(session)
                session.paused = False
                self._out.append(Resume(session.link))

    def forget(self, session: Session) -> None:
        """A session is over, or waits no more."""
        self._waiting.pop(session.link, None)
