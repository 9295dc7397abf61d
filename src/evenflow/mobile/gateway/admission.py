"""Who may attach, and what it may publish to: tokens, names and topics.

A token is good for the node that its subject names, exactly or by a pattern (``car-*``). Which
topics a node may publish to is what its token allows, of those that the gateway serves.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Iterable

    from evenflow.mobile.link.frames import Hello


@dataclass(frozen=True, slots=True)
class Verdict:
    """What a token is good for."""

    denied: str = ""
    """Why it is refused; empty when it is not."""
    topics: tuple[str, ...] = ()
    receives: bool = True
    """Whether it may receive messages."""
    token_id: str = ""
    expires: float = float("inf")
    """Seconds since 1970."""


class Admission(Protocol):
    """Decides about clients."""

    def check(self, hello: Hello, topics: Iterable[str]) -> Verdict:
        """Who says so may attach, and may publish to those of these topics."""
        ...
