"""Messages to the node: each once, in the order of their mailbox.

A mailbox numbers its messages to a node and says with each which one comes before it. A message is
taken if the one before is had and it is not had itself (rule 6). It is *had* when the application
has handled it: then the number is noted, and then acknowledged. What a process had in hand when it
was killed comes again.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Mapping

    from evenflow.mobile.link.frames import Message

MOST_WAITING: Final = 256
"""Messages that wait for the application. More are not taken: their mailbox sends them again."""
MOST_MAILBOXES: Final = 1_000
"""As many marks as a greeting can carry; messages of further mailboxes are not taken."""


class Inbox:
    """What of each mailbox is had, and what is in the application's hands."""

    def __init__(self, had: Mapping[str, int] | None = None) -> None:
        self.had = dict(had or {})
        """For each mailbox: everything up to this number was handled."""
        self._taken = dict(self.had)
        self.waiting = 0
        self.taken = self.repeated = self.early = self.full = 0

    def take(self, message: Message) -> bool:
        """Whether the application shall have this message."""
        mark = self._taken.get(message.mailbox, 0)
        if message.number <= mark:
            self.repeated += 1
            return False
        if message.previous > mark:
            self.early += 1
            return False
        if self.waiting >= MOST_WAITING or (not mark and len(self._taken) >= MOST_MAILBOXES):
            self.full += 1
            return False
        self._taken[message.mailbox] = message.number
        self.waiting += 1
        self.taken += 1
        return True

    def on_handled(self, mailbox: str, number: int) -> None:
        """The application is through with a message; it handles them in order."""
        self.waiting -= 1
        self.had[mailbox] = max(number, self.had.get(mailbox, 0))
