"""Frames that wait for a client: each once, however often it is sent again.

A mailbox repeats a message until the node has it, and plans and draining gateways say again what
they want. To a client that takes nothing all of it would wait for ever. So what comes again takes
the place of the former: a message that of the same message, alternatives and handover orders that
of the former ones. What waits is then bounded by what the core holds for the node.
"""

from __future__ import annotations

from itertools import count
from typing import TYPE_CHECKING

from evenflow.mobile.link.frames import Alternatives, Handover, Message

if TYPE_CHECKING:
    from collections.abc import Hashable

    from evenflow.mobile.link.frames import FromGateway


class Outgoing:
    """What waits for one client, in order."""

    __slots__ = ("_frames", "_numbers")

    def __init__(self) -> None:
        self._frames: dict[Hashable, FromGateway] = {}
        self._numbers = count()

    def __len__(self) -> int:
        return len(self._frames)

    def add(self, frame: FromGateway) -> None:
        """Let a frame wait."""
        match frame:
            case Message(mailbox, number):
                key: Hashable = (mailbox, number)
            case Alternatives() | Handover():
                key = type(frame)
            case _:
                key = next(self._numbers)
        self._frames[key] = frame

    def take(self) -> list[FromGateway]:
        """Return all that waits, to be sent; nothing waits then."""
        frames = list(self._frames.values())
        self._frames.clear()
        return frames
