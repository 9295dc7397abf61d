"""A mobile node's link: what a gateway knows of who is behind it, besides its items."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from evenflow.edge.sessions import Session, Sessions

if TYPE_CHECKING:
    from evenflow.mobile.link.frames import Hello


@dataclass(slots=True, eq=False)
class NodeSession(Session):
    """One link and the mobile node behind it."""

    transport: str
    peer: str
    opened: float
    heard: float
    hello: Hello | None = None
    token_id: str = ""
    expires: float = 0.0
    receives: bool = True
    """Whether messages to it are passed on."""
    attributes: str = "{}"
    place: tuple[float, float] | None = None
    mail: dict[str, dict[int, int]] = field(default_factory=dict)
    """Bytes of the messages it has not acknowledged, by mailbox and number."""
    mail_bytes: int = 0
    received: dict[str, int] = field(default_factory=dict)
    """For each mailbox: everything up to this number is had."""
    announced: bool = False
    """Whether everybody was told that the node is attached here."""
    leaves_at: float = 0.0
    """When an ``ELSEWHERE`` session is ended."""


NodeSessions = Sessions[NodeSession]
