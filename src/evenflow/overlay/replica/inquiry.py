"""Inquiry: an unsure copy asks the brokers around who else has the shelf, and how new.

A copy that is older than another's waits for that one's primary. One that is as new as any waits
for the primary of its newest term, if that lives; else it may lead.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from evenflow.overlay.protocol.messages import Inquire, Known
from evenflow.overlay.replica.copy import RETRY_S

if TYPE_CHECKING:
    from evenflow.overlay.replica.copy import Copy

STRANGER_S = 10.0
"""How long a returning broker waits to hear of those it shared a shelf with."""
AROUND = 6
"""Brokers closest to a shelf that are asked about it."""


@dataclass(slots=True)
class Round:
    """A round of asking who has a shelf."""

    waiting: set[str]
    """Brokers that have not answered."""
    asked: float
    newest: int = 0
    """Newest confirmed term that was named."""
    primary: str = ""
    """Who leads in it."""
    same: str = ""
    """Who leads in our own newest term, as another says."""


class Inquiry:
    """The asking of one copy."""

    def __init__(self, copy: Copy) -> None:
        self._copy = copy
        self._round: Round | None = None
        self._unsure_since = copy.host.now

    def restart(self) -> None:
        """The copy has become unsure."""
        self._unsure_since = self._copy.host.now

    def cancel(self) -> None:
        """What was asked does not matter any more."""
        self._round = None

    def ask(self) -> bool:
        """Ask around when it is due; return whether it was due and there is nobody to ask."""
        copy, host, record = self._copy, self._copy.host, self._copy.record
        others = {record.primary, record.secondary, record.former} - {"", copy.me}
        stranger = any(host.members.get(name) is None for name in others)
        if not host.steady or (stranger and host.now < self._unsure_since + STRANGER_S):
            return False  # we have just started, and do not know yet who else is there
        if self._round is not None and host.now < self._round.asked + RETRY_S:
            return False
        around = others | set(host.members.closest(copy.shelf.coordinate, AROUND))
        around = {name for name in around if name != copy.me and host.members.alive(name)}
        self._round = Round(around, host.now)
        for name in sorted(around):
            host.mail.send(name, Inquire(copy.shelf))
        return not around

    def on_known(self, sender: str, known: Known) -> bool:
        """Another says how new its copy is; return whether all have answered."""
        copy, asked = self._copy, self._round
        if asked is None or sender not in asked.waiting:
            return False
        asked.waiting.discard(sender)
        own = known.primary == copy.me and copy.note_agreed(known.confirmed)
        if not own and known.confirmed > max(asked.newest, copy.record.confirmed):
            asked.newest, asked.primary = known.confirmed, known.primary
        elif known.confirmed == copy.record.confirmed and known.primary:
            asked.same = known.primary
        return not asked.waiting

    def leader(self, answering: str) -> str:
        """Return the broker to wait for, when all have answered; empty: we may lead.

        Args:
            answering: A broker that answered, to be asked when the newest primary is dead.
        """
        copy, asked, alive = self._copy, self._round, self._copy.host.members.alive
        assert asked is not None
        if asked.newest > copy.record.confirmed:
            return asked.primary if alive(asked.primary) else answering
        return asked.same if asked.same not in ("", copy.me) and alive(asked.same) else ""
