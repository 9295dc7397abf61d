"""Models of what surrounds a mailbox: its disk, gateways, nodes, as ``docs/mobile.md`` has them."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

from evenflow.mobile.mailbox import actions as mailbox_actions
from evenflow.mobile.mailbox.records import KeptLetter, KnownNode, Memory

if TYPE_CHECKING:
    from evenflow.mobile.mailbox.actions import Keep

WALL: Final = 1_800_000_000.0
"""Seconds since 1970 when a simulation begins."""


class SimDisk:
    """What outlives a mailbox; notes only if they were flushed."""

    def __init__(self) -> None:
        self.letters: dict[int, Keep] = {}
        self.kept: list[Keep] = []
        """All that was ever kept, for the books."""
        self.had: dict[str, int] = {}
        self.nodes: set[str] = set()
        self.notes: list[Any] = []

    def flush(self) -> None:
        """Write the notes down."""
        for note in self.notes:
            match note:
                case mailbox_actions.Forget(numbers):
                    for number in numbers:
                        self.letters.pop(number, None)
                case mailbox_actions.NoteHad(node, number):
                    self.had[node] = number
                case mailbox_actions.NoteNodes(nodes):
                    self.nodes.update(nodes)
        self.notes.clear()

    def memory(self) -> Memory:
        """What a mailbox finds when it starts."""
        newest = max((one.number for one in self.kept), default=0)
        names = sorted({*self.nodes, *self.had})
        return Memory(
            newest,
            [
                KeptLetter(one.number, one.time, one.expires, len(one.payload), one.nodes)
                for one in self.letters.values()
            ],
            [KnownNode(name, self.had.get(name, 0), WALL) for name in names],
            [(one.source, one.request, len(one.nodes)) for one in self.kept],
        )


@dataclass(slots=True)
class SimNode:
    """A mobile node: takes a message only if it has the one before."""

    name: str
    connection: int = 0
    gateway: str = ""
    received: int = 0
    got: list[tuple[int, bytes]] = field(default_factory=list)

    def take(self, number: int, previous: int, payload: bytes) -> None:
        """Take a message, if it is the next one."""
        if previous <= self.received < number:
            self.received = number
            self.got.append((number, payload))


@dataclass(slots=True)
class SimGateway:
    """A gateway: holds messages for the nodes that are attached, within a bound.

    It takes only what follows on something that the node has or that it holds: others would fill it
    and could never be given away.
    """

    name: str
    alive: bool = True
    attached: dict[str, int] = field(default_factory=dict)
    held: dict[str, dict[int, tuple[int, int, bytes]]] = field(default_factory=dict)
    most: int = 4
