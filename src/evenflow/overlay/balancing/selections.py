"""Selections: of which coordinates a broker hears that looks for a place (V); the paper's four.

============  =================================================================================
individual    random coordinates are asked for their own loads
local         the brokers at random coordinates are asked for the best place of their cells
regional      these ask their neighbours, too, and name the best place of all these cells
global        every broker is asked for the best place of its cell
============  =================================================================================

The cell, or region, of the broker that looks is one of them and needs no query, but for individual.
Every broker knows every other, so `global` needs no flood: it writes to each of them.
"""

from __future__ import annotations

from dataclasses import dataclass

from evenflow.overlay.protocol.messages import Scope
from evenflow.registry import Registry

GOSSIP = "gossip"
"""No selection of the paper's: all are told all loads, and nobody asks."""
PLANNED = "planned"
"""The same, and new topics go by a plan of all brokers' loads."""


@dataclass(frozen=True, slots=True)
class Selection:
    """What is asked for, and where."""

    scope: Scope
    everybody: bool = False
    """Whether all brokers are asked, in the place of random coordinates."""

    @property
    def own_counts(self) -> bool:
        """Whether the own cell or region is looked at, in the place of one query."""
        return self.scope is not Scope.COORDINATE


SELECTIONS: Registry[Selection] = Registry(
    "coordinate selection",
    {
        "individual": Selection(Scope.COORDINATE),
        "local": Selection(Scope.CELL),
        "regional": Selection(Scope.REGION),
        "global": Selection(Scope.CELL, everybody=True),
    },
)

CHOICES = (GOSSIP, PLANNED, *SELECTIONS.names())
"""All that a broker can be told."""
