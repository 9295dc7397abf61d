"""What a mailbox is told: bounds, windows, pauses."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from evenflow.config import MailboxConfig

MOST_NODES: Final = 1 << 20
"""Mobile nodes that a mailbox knows of."""
MOST_SOURCES: Final = 50_000
"""Messengers whose requests it remembers, the newest ones."""
REMEMBERED: Final = 64
"""Requests of each that it can answer again: more than a messenger has unanswered."""


@dataclass(frozen=True, slots=True)
class MailboxSettings:
    """Bounds, windows and pauses of a mailbox."""

    octets: int = 256 << 20
    """What all messages may take together."""
    payload_octets: int = 256 << 10
    """What the payload of one may take."""
    node_messages: int = 1_000
    """Messages that may wait for one node."""
    longest_s: float = 30 * 86_400.0
    """Longest lifetime of a message."""
    remember_s: float = 7 * 86_400.0
    """A node that was not attached for longer belongs to no group any more."""
    node_window: int = 32
    """Messages to one node that may be under way."""
    gateway_window: int = 20_000
    """Messages that may be under way to all nodes of one gateway."""
    gateway_octets: int = 64 << 20
    """Payload that may be under way to them."""
    repeat_s: float = 2.0
    """After this silence messages are sent again; the next times after twice as long."""
    retry_s: float = 0.1
    """So soon a message that was returned is sent again; the next times after twice as long."""
    longest_pause_s: float = 30.0
    """No pause is longer."""

    @classmethod
    def from_config(cls, config: MailboxConfig) -> MailboxSettings:
        """What the configuration says."""
        return cls(
            octets=config.bytes,
            payload_octets=config.payload_bytes,
            node_messages=config.node_messages,
            longest_s=config.longest_s,
            remember_s=config.remember_s,
            node_window=config.node_window,
            gateway_window=config.gateway_window,
            gateway_octets=config.gateway_bytes,
            repeat_s=config.repeat_s,
        )
