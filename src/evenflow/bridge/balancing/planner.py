"""The planner of bounded loads: a new table of arcs, when a bridge is too far above the mean.

One action (:mod:`~evenflow.bridge.balancing.arcs_action`) of one bridge. Which one it is asked of
makes no difference; after a plan that failed it is another one.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from evenflow.autonomic.execute.actions import Action, ActionPlan
from evenflow.bridge.balancing.arcs_action import ARCS, arguments_of, process_of
from evenflow.bridge.balancing.bounded import Gift, gifts
from evenflow.bridge.ring.arc_table import arc_table, given_by, of_use
from evenflow.errors import ConfigError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from evenflow.autonomic.knowledge.knowledge import Knowledge
    from evenflow.bridge.balancing.view import BridgeView
    from evenflow.model.messages import ArcTable

    Properties = Mapping[str, Mapping[str, float]]

KEY: Final = "planners.bridges"
LOADS: Final = {
    "devices": "bridge_devices",
    "messages": "bridge_messages_s",
    "cpu": "process_cpu",
}
"""What bridges can carry, and the property that says it."""
DEADLINE_S: Final = 5.0
MOST_TOLD: Final = 10
"""Pairs of bridges that the reason of a plan names."""


@dataclass(frozen=True, slots=True)
class BoundedSettings:
    """What the operator can choose: ``[planners.bridges]``."""

    factor: float = 1.1
    """No bridge shall carry more than so many times the mean."""
    by: str = "devices"
    """What they carry: ``devices``, ``messages`` (a second) or ``cpu``."""
    pause_s: float = 10.0
    """The time between two plans."""

    def __post_init__(self) -> None:
        if self.by not in LOADS:
            raise ConfigError(f"{KEY}.by", self.by, f"must be one of {', '.join(LOADS)}")
        for name, value, least, most in (
            ("factor", self.factor, 1.0, 100.0),
            ("pause_s", self.pause_s, 0.0, 86_400.0),
        ):
            if not least <= value <= most:
                allowed = f"must be a number from {least:g} to {most:g}"
                raise ConfigError(f"{KEY}.{name}", value, allowed)


@dataclass(slots=True)
class Planned:
    """What was planned, kept by whoever makes planners."""

    at: float = float("-inf")
    """When the last plan was made."""
    failures: int = 0
    """Plans that have failed."""


class BoundedPlanner:
    """Plans for bridges, as a planner of the loop.

    Args:
        view: What is known of bridges.
        planned: What was planned.
        settings: What the operator chose.
    """

    def __init__(self, view: BridgeView, planned: Planned, settings: BoundedSettings) -> None:
        self.settings = settings
        self._view = view
        self._planned = planned

    def on_new_processing_node(self, knowledge: Knowledge) -> ActionPlan | None:
        """Processing nodes are not its business, but the operator's rules are."""
        return self.analyze_load(knowledge)

    def analyze_load(self, knowledge: Knowledge) -> ActionPlan | None:
        """A table by which no bridge is above the bound, if one is and that can be helped."""
        asked = self._asked(knowledge.properties)
        given = self.gifts(knowledge.properties)
        if not asked or not given:
            return None
        self._planned.at = knowledge.time
        args = arguments_of(self._table(given, knowledge.term))
        action = Action("arcs", process_of(asked), ARCS, args, deadline_s=DEADLINE_S)
        return ActionPlan((action,), reason_of(given))

    def gifts(self, properties: Properties) -> list[Gift]:
        """The arcs that have to change hands; none when nobody is above the bound, or who knows."""
        if not self._view.is_settled:
            return []
        by = self.settings.by
        if by == "devices":
            return gifts(self._view.arcs(), self.settings.factor, unit=1.0)
        loads = {
            name: properties.get(process_of(name), {}).get(LOADS[by], 0.0)
            for name in self._view.bridges
        }
        return gifts(self._view.arcs(loads), self.settings.factor)

    def _asked(self, properties: Properties) -> str:
        """The bridge that the action is ordered of: one that takes orders."""
        able = [name for name in sorted(self._view.bridges) if process_of(name) in properties]
        return able[self._planned.failures % len(able)] if able else ""

    def _table(self, given: Sequence[Gift], term: int) -> ArcTable:
        """The table that is newer than the one in use, and has these gifts besides."""
        known = self._view.table
        wanted = given_by(known) | {gift.arc: gift.taker for gift in given}
        number = known.number + 1 if known.term >= term else 1
        useful = of_use(self._view.places, wanted, self._view.circle.bits)
        return arc_table(useful, max(term, known.term), number)


def reason_of(given: Sequence[Gift]) -> str:
    """What is given by whom to whom, in words."""
    pairs: dict[tuple[str, str], tuple[int, float]] = {}
    for gift in given:
        arcs, load = pairs.get((gift.giver, gift.taker), (0, 0.0))
        pairs[gift.giver, gift.taker] = (arcs + 1, load + gift.load)
    told = [
        f"{arcs} arcs ({load:g}) from {giver} to {taker}"
        for (giver, taker), (arcs, load) in sorted(pairs.items())
    ]
    more = f" and {len(told) - MOST_TOLD} more" if len(told) > MOST_TOLD else ""
    return ", ".join(told[:MOST_TOLD]) + more
