"""Two doors of one name: one of them must not go on.

Clients and doors settle by name, so two processes that accept items under one name, each with marks
of its own, lose items or let them come twice. One that finds another when it starts does not open
(:mod:`evenflow.edge.shell.twin_check`). Where two have not heard each other then, the one that was
started later ends as soon as it hears the other; until it is silent the earlier one lets nobody in
and answers no questions, for it might answer for the other's disk.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from evenflow.edge.actions import Complain, GiveUp

if TYPE_CHECKING:
    from evenflow.edge.actions import Out

NEAR_S: Final = 10.0
"""How long after its last word another door of this name may still be there."""


@dataclass(frozen=True, slots=True, order=True)
class Life:
    """One run of a door's process."""

    since: float = 0.0
    """When it was started: seconds since 1970, by the clock of its machine."""
    host: str = ""
    pid: int = 0


@dataclass(frozen=True, slots=True)
class Presence:
    """What the report of a door says about its process."""

    kind: str
    """What it is: ``gateway`` or ``bridge``."""
    name: str
    life: Life
    addresses: tuple[str, ...]

    def refusal(self) -> str:
        """What is wrong with a second one of this name, and what to do."""
        return (
            f"a {self.kind} called {self.name} is running already, as process {self.life.pid} of"
            f" {self.life.host or 'an unknown machine'}, at {', '.join(self.addresses)}: items are"
            " settled by its name, so stop that one first, or start this one under another name"
        )


class Twins:
    """Looks at the reports under a door's own name.

    Args:
        life: This process.
        out: Where actions go.
    """

    def __init__(self, life: Life, out: Out) -> None:
        self.life = life
        self._out = out
        self._told: Life | None = None
        self._near_until = 0.0

    def are_near(self, now: float) -> bool:
        """Whether another door goes by the name of this one."""
        return now < self._near_until

    def hear(self, other: Presence, now: float) -> None:
        """Take in a report of this door, or of another that is called like it."""
        if other.life != self.life:
            self._near_until = now + NEAR_S
        if other.life < self.life:
            self._out.append(GiveUp(other.refusal()))
        elif other.life not in (self.life, self._told):
            self._told = other.life
            self._out.append(Complain(f"{other.refusal()}; that one ends by itself"))
