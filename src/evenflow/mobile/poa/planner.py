"""The PoA-Manager's planner: handovers that make gateways even, and current alternatives.

Its actions are the two commands of the papers (SDDL, section III.A), carried out by the gateways:

=======================  =========================================================================
``mobile.handover``      these nodes go to that gateway, at once or at a pace
``mobile.alternatives``  this is what your nodes shall know of other gateways
=======================  =========================================================================

All actions of a plan run side by side: none needs another. A gateway that takes nodes from several
others shares the pace among them, so that it is never asked for more handshakes a second than that.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

import msgspec

from evenflow.autonomic.execute.actions import Action, ActionPlan
from evenflow.errors import ConfigError
from evenflow.errors.words import counted
from evenflow.mobile.poa.evening import LOADS, Evening, Move, Post, moves

if TYPE_CHECKING:
    from collections.abc import Mapping

    from evenflow.autonomic.knowledge.knowledge import Knowledge
    from evenflow.mobile.poa.view import GatewayView

HANDOVER: Final = "mobile.handover"
ALTERNATIVES: Final = "mobile.alternatives"
MOST_NAMES: Final = 1_000
"""Nodes in one action."""
GRACE_S: Final = 5.0
"""What an action may take beyond what it needs."""


@dataclass(frozen=True, slots=True)
class Settings:
    """What the operator can choose: ``[planners.gateways]``."""

    by: str = "nodes"
    """Even by ``nodes``, ``items`` (a second) or ``cpu``."""
    pace_per_s: float = 200.0
    """Nodes a second that one gateway takes by handover; 0: all at once."""
    within_s: float = 10.0
    """How long a handover of one node may take."""
    make_before_break: bool = True
    evening: Evening = field(default_factory=Evening)

    def __post_init__(self) -> None:
        if self.by not in LOADS:
            raise ConfigError("planners.gateways.by", self.by, f"must be one of {', '.join(LOADS)}")
        for name, value, least, most in (
            ("pace_per_s", self.pace_per_s, 0.0, 1e6),
            ("within_s", self.within_s, 0.1, 3_600.0),
            ("least_gain", self.evening.least_gain, 0.0, 1.0),
            ("rest_s", self.evening.rest_s, 0.0, 86_400.0),
            ("most_moves", self.evening.most_moves, 1, 1_000_000),
        ):
            if not least <= value <= most:
                allowed = f"must be a number from {least:g} to {most:g}"
                raise ConfigError(f"planners.gateways.{name}", value, allowed)


class GatewayPlanner:
    """Plans for gateways, as a planner of the loop.

    Args:
        view: What is known of gateways.
        told: For each gateway the alternatives that it was told; kept by whoever makes planners.
        settings: What the operator chose.
    """

    def __init__(
        self, view: GatewayView, told: dict[str, tuple[str, ...]], settings: Settings
    ) -> None:
        self.settings = settings
        self._view = view
        self._told = told

    def on_new_processing_node(self, knowledge: Knowledge) -> ActionPlan | None:
        """Processing nodes are not its business, but the operator's rules are."""
        return self.analyze_load(knowledge)

    def analyze_load(self, knowledge: Knowledge) -> ActionPlan | None:
        """Alternatives that are not current, and handovers that make gateways even."""
        properties = knowledge.properties
        planned = moves(self.posts(properties), self.settings.evening, knowledge.time)
        actions = [*self._alternatives(properties), *self._handovers(planned)]
        if not actions:
            return None
        return ActionPlan(tuple(actions), _reason(planned))

    def posts(self, properties: Mapping[str, Mapping[str, float]]) -> list[Post]:
        """The gateways, with what they carry."""
        if self.settings.by == "nodes":
            return self._view.posts()
        name = LOADS[self.settings.by]
        known = self._view.gateways
        return self._view.posts({one: properties.get(one, {}).get(name, 0.0) for one in known})

    def outdated(self, properties: Mapping[str, Mapping[str, float]]) -> list[str]:
        """Gateways that can be told, and whose alternatives are not what they were told."""
        return [
            gateway
            for gateway in sorted(self._view.gateways)
            if gateway in properties
            and self._told.get(gateway, ()) != self._view.alternatives(gateway)
        ]

    def _alternatives(self, properties: Mapping[str, Mapping[str, float]]) -> list[Action]:
        found = []
        for number, gateway in enumerate(self.outdated(properties)):
            addresses = self._told[gateway] = self._view.alternatives(gateway)
            args = msgspec.json.encode({"addresses": addresses})
            found.append(Action(f"alternatives-{number}", gateway, ALTERNATIVES, args))
        return found

    def _handovers(self, planned: list[Move]) -> list[Action]:
        givers: dict[str, int] = {}
        for move in planned:
            givers[move.taker] = givers.get(move.taker, 0) + 1
        found: list[Action] = []
        for move in planned:
            pace = self.settings.pace_per_s / givers[move.taker]
            addresses = self._view.gateways[move.taker].addresses
            for at in range(0, len(move.nodes), MOST_NAMES):
                nodes = move.nodes[at : at + MOST_NAMES]
                found.append(self._handover(len(found), move.giver, nodes, addresses, pace))
        return found

    def _handover(
        self,
        number: int,
        giver: str,
        nodes: tuple[str, ...],
        addresses: tuple[str, ...],
        pace: float,
    ) -> Action:
        settings = self.settings
        args = {
            "nodes": nodes,
            "addresses": addresses,
            "within_s": settings.within_s,
            "make_before_break": settings.make_before_break,
            "pace_per_s": pace,
        }
        needed = settings.within_s + (len(nodes) / pace if pace else 0.0)
        return Action(
            f"handover-{number}",
            giver,
            HANDOVER,
            msgspec.json.encode(args),
            deadline_s=needed + GRACE_S,
        )


def _reason(planned: list[Move]) -> str:
    told = [
        f"{counted(len(move.nodes), 'node')} from {move.giver} to {move.taker}"
        for move in planned[:10]
    ]
    more = f" and {len(planned) - 10} more" if len(planned) > 10 else ""
    return ", ".join(told) + more if told else "gateways have come or gone: their alternatives"
