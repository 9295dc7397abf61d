"""Two gateways of one name: one of them must not go on.

Nodes and gateways settle by name, so two processes that accept items under one name, each with
marks of its own, lose items or let them come twice. One that finds another when it starts does not
open its doors (:mod:`evenflow.mobile.gateway.shell.twin_check`). Where two have not heard each
other then, the one that was started later ends as soon as it hears the other; until it is silent
the earlier one lets nobody in and answers no questions, for it might answer for the other's disk.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from evenflow.mobile.gateway.events import Complain, GiveUp

if TYPE_CHECKING:
    from evenflow.mobile.gateway.events import Action
    from evenflow.model.messages import GatewayReport

NEAR_S: Final = 10.0
"""How long after its last word another gateway of this name may still be there."""


@dataclass(frozen=True, slots=True, order=True)
class Life:
    """One run of a gateway's process."""

    since: float = 0.0
    """When it was started: seconds since 1970, by the clock of its machine."""
    host: str = ""
    pid: int = 0


class Twins:
    """Looks at the reports under a gateway's own name.

    Args:
        life: This process.
        out: Where actions go.
    """

    def __init__(self, life: Life, out: list[Action]) -> None:
        self.life = life
        self._out = out
        self._told: Life | None = None
        self._near_until = 0.0

    def are_near(self, now: float) -> bool:
        """Whether another gateway goes by the name of this one."""
        return now < self._near_until

    def hear(self, report: GatewayReport, now: float) -> None:
        """Take in a report of this gateway, or of another that is called like it."""
        other = Life(report.since, report.host, report.pid)
        if other != self.life:
            self._near_until = now + NEAR_S
        if other < self.life:
            self._out.append(GiveUp(twin(report)))
        elif other not in (self.life, self._told):
            self._told = other
            self._out.append(Complain(f"{twin(report)}; that one ends by itself"))


def twin(report: GatewayReport) -> str:
    """What is wrong with a second gateway of one name, and what to do."""
    return (
        f"a gateway called {report.gateway} is running already, as process {report.pid} of"
        f" {report.host or 'an unknown machine'}, at {', '.join(report.addresses)}: nodes and"
        " gateways settle by name, so stop that one first, or start this one under another name"
    )
