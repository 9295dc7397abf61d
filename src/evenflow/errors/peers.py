"""What another process sent or refused."""

from __future__ import annotations

from typing import TYPE_CHECKING

from evenflow.errors.root import PeerError
from evenflow.errors.words import counted

if TYPE_CHECKING:
    from collections.abc import Iterable


class DecodeError(PeerError):
    """A sample that is damaged or is not ours; it is counted and skipped.

    Attributes:
        reason: What does not fit.
        topic: DDS topic it came from, "" when not known.
        size: Bytes of the sample.
    """

    def __init__(self, reason: str, *, topic: str = "", size: int = 0) -> None:
        self.reason = reason
        self.topic = topic
        self.size = size
        where = f" of topic {topic!r}" if topic else ""
        super().__init__(f"sample{where} ({size} bytes) cannot be read: {reason}")


class MoveRefused(PeerError):
    """A move of slices that the coordinator will not start.

    Attributes:
        reason: Why, and what would be accepted.
        giver: Node that should have given.
        taker: Node that should have taken.
        topic: Topic of the slices.
    """

    def __init__(self, reason: str, *, giver: str = "", taker: str = "", topic: str = "") -> None:
        self.reason = reason
        self.giver = giver
        self.taker = taker
        self.topic = topic
        what = f"move from {giver!r} to {taker!r}" if giver or taker else "move"
        where = f" on topic {topic!r}" if topic else ""
        super().__init__(f"{what}{where} refused: {reason}")


class NodeRefused(PeerError):
    """Every gateway refuses a mobile node: its token is wrong, expired or revoked.

    Attributes:
        node: The mobile node.
        reason: What the gateway said.
    """

    def __init__(self, node: str, reason: str) -> None:
        self.node = node
        self.reason = reason
        super().__init__(
            f"node {node!r} is refused: {reason}. Ask the operator for a token"
            f" ('evenflow token issue {node} --publish TOPIC') and connect with it; a client that"
            " is open goes on after set_token()"
        )


class ReadFailed(PeerError):
    """Items of a served topic that could not be read.

    Attributes:
        topic: The topic.
        slices: The slices that nobody gave.
        reason: What the nodes said, and what to do.
        forgotten: Whether the nodes were told to forget them: no other try can succeed.
    """

    def __init__(
        self, topic: str, slices: Iterable[int], reason: str, *, forgotten: bool = False
    ) -> None:
        self.topic = topic
        self.forgotten = forgotten
        self.slices = tuple(slices)
        self.reason = reason
        which = ""
        if self.slices:
            which = f" {counted(len(self.slices), 'slice')} (first {min(self.slices)})"
        super().__init__(f"topic {topic!r}:{which} cannot be read: {reason}")


class LinkLost(PeerError):
    """A connection of a mobile node and a gateway is over, or could not be made.

    Attributes:
        reason: Why; what the other side said in its `Bye`, if it said one.
        retry: Whether another try can succeed: not with a refused token.
        said: Whether the other side said so; otherwise the link was lost.
    """

    def __init__(self, reason: str, *, retry: bool = True, said: bool = False) -> None:
        self.reason = reason
        self.retry = retry
        self.said = said
        super().__init__(f"connection lost: {reason}")


class AccessDenied(PeerError):
    """Somebody at a door shows no token, or one that does not open it.

    Attributes:
        reason: What is wrong with the token, and what would mend it.
    """

    def __init__(self, reason: str) -> None:
        self.reason = reason
        super().__init__(f"access denied: {reason}")


class SendRefused(PeerError):
    """A message to mobile nodes that a mailbox does not take; it is not sent.

    Attributes:
        mailbox: The mailbox.
        reason: Why, and what would be accepted.
    """

    def __init__(self, mailbox: str, reason: str) -> None:
        self.mailbox = mailbox
        self.reason = reason
        super().__init__(f"mailbox {mailbox} refuses it: {reason}")


class StoreRefused(PeerError):
    """The store's brokers do not do what was asked: not now, or not at all.

    Attributes:
        operation: What was tried ("move 'meters'").
        reason: Why not, in the broker's words.
    """

    def __init__(self, operation: str, reason: str) -> None:
        self.operation = operation
        self.reason = reason
        super().__init__(f"{operation}: the store refuses: {reason}")


class TypeRefused(PeerError):
    """A type or topic, asked for at run time, that this process cannot have.

    Attributes:
        name: The type or topic.
        reason: Why not.
    """

    def __init__(self, name: str, reason: str) -> None:
        self.name = name
        self.reason = reason
        super().__init__(f"{name!r}: {reason}")
