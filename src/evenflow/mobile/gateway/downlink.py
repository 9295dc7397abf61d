"""Messages to nodes: passed on, within a bound; acknowledged, or given back.

The mailbox holds a message until its node has it; a gateway only passes it on. It counts what a
node has not acknowledged, and gives back what goes beyond the bound, what is for a node that is not
attached here, and what follows on a message that the node neither has nor was passed on (the node
would not take it, and it would fill the room of the one that is lacking). The mailbox sends it
again, to where the node is then. Nothing rests on a message that a gateway loses.

Acknowledgements of all nodes gather for a moment and go to each mailbox together.
"""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING, Final

from evenflow.edge.actions import Write
from evenflow.mobile.gateway.events import Send
from evenflow.mobile.link.frames import Message
from evenflow.model.messages import MailReceipt

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from evenflow.mobile.gateway.events import Action
    from evenflow.mobile.gateway.sessions import NodeSession, NodeSessions
    from evenflow.mobile.gateway.settings import GatewaySettings
    from evenflow.model.messages import Mail

RECEIPT_S: Final = 0.01
"""How long acknowledgements gather."""
MOST_NODES: Final = 1_000
"""Nodes in one receipt."""
MOST_MAILBOXES: Final = 1_000
"""Mailboxes of a node that are kept in mind; as many as its greeting can name."""
MESSAGE_BYTES: Final = 256
"""What a message costs besides its payload."""


class Downlink:
    """What is on its way to the nodes.

    Args:
        name: This gateway.
        sessions: The clients.
        settings: Bounds.
        is_mailbox: Whether there is such a mailbox: clients may name any.
        out: Where actions go.
    """

    def __init__(
        self,
        name: str,
        sessions: NodeSessions,
        settings: GatewaySettings,
        is_mailbox: Callable[[str], bool],
        out: list[Action],
    ) -> None:
        self._name = name
        self._sessions = sessions
        self._settings = settings
        self._is_mailbox = is_mailbox
        self._out = out
        self.held = 0
        """Bytes that nodes have not acknowledged."""
        self._received: dict[str, dict[str, int]] = {}
        self._returned: dict[str, set[str]] = {}
        self._due: float | None = None
        self.passed_on = 0
        self.given_back = 0

    def pass_on(self, mail: Mail, now: float, wall: float) -> None:
        """A message came from a mailbox, for one node or many."""
        if mail.expires < wall * 1e6:
            return
        for node, number, previous in zip(mail.nodes, mail.numbers, mail.previous, strict=False):
            session = self._sessions.attached(node)
            if session is None or not self._takes(session, mail, number, previous):
                self._give_back(mail.mailbox, node, now)
                continue
            self._hold(session, mail.mailbox, number, len(mail.payload) + MESSAGE_BYTES)
            message = Message(
                mail.mailbox, number, previous, mail.sender, mail.time, mail.group, mail.payload
            )
            self.passed_on += 1
            self._out.append(Send(session.link, message))

    def _takes(self, session: NodeSession, mail: Mail, number: int, previous: int) -> bool:
        waiting = session.mail.get(mail.mailbox, {})
        if not session.receives:
            return False
        if previous > session.received.get(mail.mailbox, 0) and previous not in waiting:
            return False
        size = len(mail.payload) + MESSAGE_BYTES - waiting.get(number, 0)
        # One message alone always fits: it would be given back for ever.
        fits = session.mail_bytes == 0 or session.mail_bytes + size <= self._settings.mail_bytes
        return fits and self.held + size <= self._settings.mail_buffer_bytes

    def _hold(self, session: NodeSession, mailbox: str, number: int, size: int) -> None:
        waiting = session.mail.setdefault(mailbox, {})
        added = size - waiting.get(number, 0)
        waiting[number] = size
        session.mail_bytes += added
        self.held += added

    def _give_back(self, mailbox: str, node: str, now: float) -> None:
        self.given_back += 1
        self._returned.setdefault(mailbox, set()).add(node)
        self._gather(now)

    def acknowledge(self, session: NodeSession, received: Mapping[str, int], now: float) -> None:
        """A node has everything of some mailboxes up to some numbers."""
        for mailbox, number in received.items():
            self._note(session, mailbox, number)
            waiting = session.mail.get(mailbox, {})
            for one in [one for one in waiting if one <= number]:
                size = waiting.pop(one)
                session.mail_bytes -= size
                self.held -= size
            if self._is_mailbox(mailbox):
                known = self._received.setdefault(mailbox, {})
                known[session.client] = max(number, known.get(session.client, 0))
                self._gather(now)

    @staticmethod
    def _note(session: NodeSession, mailbox: str, number: int) -> None:
        known = session.received
        if mailbox in known or len(known) < MOST_MAILBOXES:
            known[mailbox] = max(number, known.get(mailbox, 0))

    def drop(self, session: NodeSession, now: float) -> None:
        """A node is here no more: what it has not acknowledged goes back."""
        for mailbox, waiting in session.mail.items():
            if waiting:
                self._give_back(mailbox, session.client, now)
        session.mail.clear()
        self.held -= session.mail_bytes
        session.mail_bytes = 0

    # -- receipts ----------------------------------------------------------------------------------

    def _gather(self, now: float) -> None:
        if self._due is None:
            self._due = now + RECEIPT_S

    def deadline(self) -> float | None:
        """When the mailboxes are to be told."""
        return self._due

    def tell(self, now: float) -> None:
        """Tell the mailboxes, if it is time."""
        if self._due is None or now < self._due:
            return
        self._due = None
        for mailbox in {*self._received, *self._returned}:
            received = self._received.pop(mailbox, {})
            returned = sorted(self._returned.pop(mailbox, ()))
            while received or returned:
                some = dict(islice(received.items(), MOST_NODES))
                for node in some:
                    del received[node]
                back, returned = returned[:MOST_NODES], returned[MOST_NODES:]
                receipt = MailReceipt(
                    mailbox, self._name, tuple(some), tuple(some.values()), tuple(back)
                )
                self._out.append(Write(receipt, mailbox))
